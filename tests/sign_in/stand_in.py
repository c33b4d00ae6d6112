"""A provider that lies: a stand-in for OpenID providers whose documents and tokens tests tamper with."""

import base64
import hashlib
import hmac
import json
import threading
from collections.abc import Callable
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

from joserfc import jwt
from joserfc.jwk import ECKey, OKPKey, RSAKey

from tests.records.desk import NOW

CLIENT_ID, SECRET = "desk", "the secret"
Key = RSAKey | ECKey | OKPKey


def base64url(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


@cache
def first_key() -> RSAKey:
    """The key that every stand-in begins with: creating one takes a second."""
    return RSAKey.generate_key(2048, {"kid": "one"})


@cache
def second_key() -> RSAKey:
    """Another key."""
    return RSAKey.generate_key(2048, {"kid": "two"})


class StandIn:
    """A provider. issuer: its address. reply, userinfo: status and body of these endpoints. requests: path, form and
    headers of received requests."""

    def __init__(self) -> None:
        self.key: Key = first_key()
        self.requests: list[tuple[str, dict[str, str], dict[str, str]]] = []
        self.reply: tuple[int, Any] = (400, {"error": "invalid_grant"})
        self.userinfo: tuple[int, Any] = (404, {})
        self.is_down = False
        stand_in = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                stand_in._respond(self, {})

            def do_POST(self) -> None:
                raw = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
                stand_in._respond(self, {name: values[0] for name, values in parse_qs(raw).items()})

            def log_message(self, *arguments: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.issuer = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.metadata: dict[str, Any] = {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "jwks_uri": f"{self.issuer}/keys",
            "userinfo_endpoint": f"{self.issuer}/userinfo",
        }
        self.documents: dict[str, Callable[[], tuple[int, Any]]] = {
            "/.well-known/openid-configuration": lambda: (200, self.metadata),
            "/keys": lambda: (200, {"keys": self.keys}),
            "/token": lambda: self.reply,
            "/userinfo": lambda: self.userinfo,
        }
        self.keys: list[Any] = [self.public()]
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()

    def public(self, **changes: Any) -> dict[str, Any]:
        """Returns the public key as published."""
        return {**self.key.as_dict(private=False), "use": "sig", **changes}

    def claims(self, fresh: str, **changes: Any) -> dict[str, Any]:
        """Returns the claims of a right ID token, with changes; None leaves one out."""
        claims = {
            "iss": self.issuer, "aud": CLIENT_ID, "sub": "1", "iat": NOW, "exp": NOW + 300, "nonce": fresh,
            "email": "milo@desk.example", "email_verified": True, **changes,
        }  # fmt: skip
        return {name: value for name, value in claims.items() if value is not None}

    def token(self, claims: dict[str, Any], header: dict[str, Any] | None = None, key: Any = None) -> str:
        """Returns a signed token."""
        head = {"alg": "RS256", "kid": "one", **(header or {})}
        head = {name: value for name, value in head.items() if value is not None}
        return jwt.encode(head, claims, key or self.key, algorithms=[head["alg"]])

    def grant(self, token: str, **more: Any) -> None:
        """Makes the token endpoint return an ID token."""
        self.reply = 200, {"id_token": token, "access_token": "access", "token_type": "Bearer", **more}

    def _respond(self, handler: BaseHTTPRequestHandler, form: dict[str, str]) -> None:
        self.requests.append((handler.path, form, {name.lower(): value for name, value in handler.headers.items()}))
        if self.is_down:
            handler.connection.close()
            return
        status, body = self.documents.get(handler.path, lambda: (404, {}))()
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        handler.send_response(status)
        if status in (301, 302, 307):
            handler.send_header("Location", raw.decode())
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(raw)))
        handler.end_headers()
        handler.wfile.write(raw)


def unsigned(claims: dict[str, Any], algorithm: str = "none") -> str:
    """Returns a token without a signature."""
    parts = [{"alg": algorithm, "kid": "one"}, claims]
    return ".".join([*(base64url(json.dumps(each).encode()) for each in parts), ""])


def critical(stand_in: StandIn, claims: dict[str, Any]) -> str:
    """Returns a well signed token whose header demands an extension (RFC 7515, 4.1.11)."""
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import padding

    parts = [{"alg": "RS256", "kid": "one", "crit": ["x"], "x": 1}, claims]
    signed = ".".join(base64url(json.dumps(each).encode()) for each in parts)
    key: Any = stand_in.key.private_key
    return f"{signed}.{base64url(key.sign(signed.encode(), padding.PKCS1v15(), hashes.SHA256()))}"


def signed_with_the_public_key(stand_in: StandIn, claims: dict[str, Any], form: str) -> str:
    """Returns a token whose HMAC is keyed by the published key: the confusion of algorithms. form: of the key."""
    public = stand_in.key.as_pem(private=False) if form == "pem" else json.dumps(stand_in.public()).encode()
    parts = [{"alg": "HS256", "kid": "one", "typ": "JWT"}, claims]
    signed = ".".join(base64url(json.dumps(each).encode()) for each in parts)
    return f"{signed}.{base64url(hmac.digest(public, signed.encode(), 'sha256'))}"


def at_hash(access_token: str) -> str:
    return base64url(hashlib.sha256(access_token.encode()).digest()[:16])
