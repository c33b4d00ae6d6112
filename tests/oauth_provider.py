"""A stand-in of an OAuth provider such as Google or Microsoft, built after their documents: a consent page, tokens with
PKCE, refresh tokens that may rotate or be revoked, an ID token, the endpoint about the user, discovery.

    with OAuthProvider() as provider:
        url = provider.consent(authorization_url, "support@desk.example")   # what a browser would do
        provider.revoke()

Every token that it issues is in `tokens`; `on_token` is called with each new one, so that mail servers accept it."""

import base64
import hashlib
import json
import secrets
from collections.abc import Callable
from html import escape
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

from tests.outbound.peer import Asked, Peer, answer, redirect

CLIENT, SECRET = "desk-client", "desk-s3cret"
PAGE = """<!doctype html><html lang="en"><title>Sign in</title><h1>Example accounts</h1>
<p>Helpdesk wants to access: {scope}</p>
<form action="/decide"><input type="hidden" name="request" value="{request}">
<label>Address <input name="user" value="{login}"></label>
<button name="allow" value="1">Allow</button> <button name="allow" value="0">Refuse</button></form>"""


class OAuthProvider(Peer):
    """redirect_uris: those that are registered; any if empty. moods: how responses go wrong, by path.

    grants: {refresh token: (user, scope)}. granted: the scopes to grant in place of the requested ones. rotates:
    whether a renewal replaces the refresh token. sends_iss: whether responses name the issuer (RFC 9207). expires_in:
    lifetime of access tokens. claims: changes to the ID token. is_offline: whether refresh tokens are sent."""

    def __init__(self) -> None:
        super().__init__()
        self.redirect_uris: set[str] = set()
        self.codes: dict[str, dict[str, str]] = {}
        self.grants: dict[str, tuple[str, str]] = {}
        self.tokens: dict[str, str] = {}
        self.granted: str | None = None
        self.rotates = False
        self.sends_iss = False
        self.is_offline = True
        self.expires_in = 3600
        self.claims: dict[str, Any] = {}
        self.iss: str | None = None
        self.consent_request: dict[str, str] = {}
        self.on_token: Callable[[str], None] = lambda token: None
        self.answers |= {
            "/authorize": self._authorize,
            "/decide": self._decide,
            "/token": self._token,
            "/userinfo": self._userinfo,
            "/.well-known/openid-configuration": self._discovery,
        }

    @property
    def issuer(self) -> str:
        return self.url("")

    def params(self, **more: str) -> dict[str, str]:
        """The params of a connected service for this provider."""
        paths = {"authorization_url": "/authorize", "token_url": "/token", "userinfo_url": "/userinfo"}
        endpoints = {name: self.url(path) for name, path in paths.items()}
        return {
            "client_id": CLIENT, "client_secret": SECRET, "issuer": self.issuer, "scope": "openid email mail",
            **endpoints, **more,
        }  # fmt: skip

    def consent(self, url: str, user: str = "support@desk.example", allow: bool = True) -> str:
        """Returns the address that a browser is sent to after the decision on the consent page."""
        assert urlsplit(url).netloc == urlsplit(self.url()).netloc
        self.consent_request = dict(parse_qsl(urlsplit(url).query))
        return self._redirect(self.consent_request, user, allow)

    def revoke(self) -> None:
        """Ends every grant, as a person does in the settings of their account."""
        self.grants.clear()
        self.tokens.clear()

    def _authorize(self, asked: Asked) -> bytes:
        request = dict(parse_qsl(urlsplit(asked.target).query))
        problem = self._problem(request)
        if problem:
            return answer(problem, 400)
        page = PAGE.format(
            scope=escape(request.get("scope", "")),
            request=escape(urlencode(request)),
            login=escape(request.get("login_hint", "support@desk.example")),
        )
        return answer(page, content_type="text/html; charset=utf-8")

    def _decide(self, asked: Asked) -> bytes:
        form = dict(parse_qsl(urlsplit(asked.target).query))
        return redirect(self._redirect(dict(parse_qsl(form["request"])), form["user"], form["allow"] == "1"))

    def _problem(self, request: dict[str, str]) -> str:
        if request.get("client_id") != CLIENT or request.get("response_type") != "code":
            return "invalid_client"
        if self.redirect_uris and request.get("redirect_uri") not in self.redirect_uris:
            return "redirect_uri_mismatch"
        if request.get("code_challenge_method") != "S256" or not request.get("state"):
            return "invalid_request"
        return ""

    def _redirect(self, request: dict[str, str], user: str, allow: bool) -> str:
        assert not self._problem(request), self._problem(request)
        response = {"state": request["state"]}
        if self.sends_iss:
            response["iss"] = self.iss or self.issuer
        if allow:
            response["code"] = secrets.token_urlsafe(16)
            self.codes[response["code"]] = request | {"user": user}
        else:
            response |= {"error": "access_denied", "error_description": "The person said no."}
        return f"{request['redirect_uri']}?{urlencode(response)}"

    def _token(self, asked: Asked) -> bytes:
        form = {name: values[0] for name, values in parse_qs(asked.body.decode()).items()}
        given = (form.get("client_id"), form.get("client_secret"))
        header = asked.header("authorization") or ""
        if header.startswith("Basic "):
            given = tuple(base64.b64decode(header[6:]).decode().split(":"))  # type: ignore[assignment]
        if given != (CLIENT, SECRET):
            return self._error("invalid_client", 401)
        if form.get("grant_type") == "authorization_code":
            request = self.codes.pop(form.get("code", ""), None)
            if request is None or request["redirect_uri"] != form.get("redirect_uri"):
                return self._error("invalid_grant")
            digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
            if base64.urlsafe_b64encode(digest).decode().rstrip("=") != request["code_challenge"]:
                return self._error("invalid_grant")
            scope = self.granted if self.granted is not None else request.get("scope", "")
            return self._issue(request["user"], scope, request.get("nonce", ""))
        if form.get("grant_type") == "refresh_token":
            old = form.get("refresh_token", "")
            if old not in self.grants:
                return self._error("invalid_grant")
            user, scope = self.grants[old]
            if self.rotates:
                del self.grants[old]
            return self._issue(user, scope, "", "" if self.rotates else old)
        return self._error("unsupported_grant_type")

    def _error(self, code: str, status: int = 400) -> bytes:
        words = {"error": code, "error_description": "Token has been expired or revoked."}
        return answer(json.dumps(words), status, content_type="application/json")

    def _issue(self, user: str, scope: str, nonce: str, refresh: str = "") -> bytes:
        token = f"at-{secrets.token_urlsafe(12)}"
        self.tokens[token] = user
        self.on_token(token)
        body: dict[str, Any] = {"access_token": token, "token_type": "Bearer", "expires_in": self.expires_in}
        if self.is_offline and not refresh:
            body["refresh_token"] = f"rt-{secrets.token_urlsafe(12)}"
            self.grants[body["refresh_token"]] = (user, scope)
        if scope:
            body["scope"] = scope
        if nonce:
            claims = {"iss": self.issuer, "aud": CLIENT, "nonce": nonce, "email": user, "sub": "1"} | self.claims
            body["id_token"] = f"e30.{base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip('=')}.x"
        return answer(json.dumps(body), content_type="application/json")

    def _userinfo(self, asked: Asked) -> bytes:
        user = self.tokens.get((asked.header("authorization") or "").removeprefix("Bearer "))
        return answer(json.dumps({"sub": "1", "email": user})) if user else answer("{}", 401)

    def _discovery(self, asked: Asked) -> bytes:
        return answer(json.dumps({
            "issuer": self.issuer, "authorization_endpoint": self.url("/authorize"),
            "token_endpoint": self.url("/token"), "userinfo_endpoint": self.url("/userinfo"),
            "scopes_supported": ["openid", "email", "mail"],
            "authorization_response_iss_parameter_supported": self.sends_iss,
        }))  # fmt: skip


if __name__ == "__main__":
    with OAuthProvider() as running:
        print(json.dumps(running.params(), indent=1), flush=True)
        input("Enter ends it.\n")
