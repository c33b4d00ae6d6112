"""Registered apps and logins through them, in this process: the work of the console's consent page and of a client."""

import base64
import hashlib
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from server.access import provider, tokens
from server.access.provider import AuthorizationRefusal, AuthorizationRequest, OAuthRequest, OAuthResponse
from server.errors import NotAuthenticated
from tests.records.desk import NOW, Desk
from tests.service import Api

VERIFIER = "the-verifier-of-the-tests.0123456789_abcdefghij~"
CALLBACK = "https://stock.example/back"
SCOPES = """
"read": {label: Look at orders, endpoints: ["*": GET]}
"write": {label: Change orders, endpoints: ["records/org/*"]}
"api": {label: Everything, endpoints: ["*"]}
"""
# Two scopes, each of which allows reading one thing.
READING = """"me":
  label: Know who you are
  endpoints:
    - workers/me: GET
"orgs":
  label: Look at organizations
  endpoints:
    - records/org/*: GET
"""


def challenge(verifier: str = VERIFIER) -> str:
    """Returns the S256 challenge of a verifier."""
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()


def answer_of(url: str) -> dict[str, str]:
    """Returns the parameters of the callback URL."""
    return dict(parse_qsl(urlsplit(url).query))


@dataclass(frozen=True)
class App:
    """A registered app. secret: "" if the app is public."""

    id: int
    client_id: str
    secret: str

    @property
    def login(self) -> dict[str, str]:
        """The fields that authenticate the app."""
        return {"client_id": self.client_id, **({"client_secret": self.secret} if self.secret else {})}

    @property
    def basic(self) -> str:
        return "Basic " + base64.b64encode(f"{self.client_id}:{self.secret}".encode()).decode()


def register(api: Api, **fields: Any) -> App:
    """Registers an app with a running service; by default confidential, with one callback and three scopes."""
    made = api.create("oauth_app", **{"name": "Stock", "callback_url": CALLBACK, "scopes": SCOPES} | fields).ok()
    return App(made["id"], made["client_id"], made.json.get("client_secret", ""))


class Apps:
    """Registered apps: stock is confidential, phone is public, strict is confidential and must use PKCE, several has
    many callbacks."""

    def __init__(self, desk: Desk, worker_id: int) -> None:
        self.desk = desk
        self.worker_id = worker_id
        self.stock = self.new()
        self.other = self.new(name="Other")
        self.phone = self.new(name="Phone", is_public=1, callback_url="http://127.0.0.1/back\ncom.example.phone:/back")
        self.strict = self.new(name="Strict", is_pkce_required=1)
        self.several = self.new(name="Several", callback_url=f"{CALLBACK}\nhttps://other.example/back?x=1")

    def new(self, **fields: Any) -> App:
        """Registers an app; by default confidential, with one callback and three scopes."""
        values = {"name": "Stock", "callback_url": CALLBACK, "scopes": SCOPES} | fields
        made = self.desk.create("oauth_app", **values)
        return App(made["id"], made["client_id"], made.get("client_secret", ""))

    def ask(self, app: App, now: int = NOW, **changes: str | None) -> AuthorizationRequest | AuthorizationRefusal:
        """Sends an authorization request and returns the result; None leaves a parameter out."""
        sent = {
            "response_type": "code", "client_id": app.client_id, "scope": "read", "state": "s1",
            "code_challenge": challenge(), "code_challenge_method": "S256", "redirect_uri": None,
        } | changes  # fmt: skip
        pairs = [(name, value) for name, value in sent.items() if value is not None]
        return provider.begin(self.desk.service, pairs, now)

    def asked(self, app: App, **changes: str | None) -> AuthorizationRequest:
        """Sends an authorization request that must be accepted."""
        if app == self.phone and "redirect_uri" not in changes:
            changes["redirect_uri"] = "com.example.phone:/back"
        found = self.ask(app, **changes)
        assert isinstance(found, AuthorizationRequest), found
        return found

    def code(self, app: App, now: int = NOW, worker_id: int = 0, **changes: str | None) -> str:
        """Returns the code that an app gets when milo, or another worker, allows it."""
        asked = self.asked(app, **changes)
        url = provider.allow(self.desk.service, asked, worker_id or self.worker_id, now)
        return answer_of(url)["code"]

    def send(
        self, now: int = NOW, authorization: str | None = None, client: str = "192.0.2.1", **form: str | None
    ) -> OAuthResponse:
        """Sends a request to the token endpoint; None leaves a parameter out."""
        pairs = tuple((name, value) for name, value in form.items() if value is not None)
        return provider.exchange(self.desk.service, OAuthRequest(pairs, authorization, client), now)

    def exchange(self, app: App, code: str, now: int = NOW, /, **changes: str | None) -> OAuthResponse:
        """Exchanges a code for tokens."""
        form: dict[str, str | None] = {
            "grant_type": "authorization_code", "code": code, "code_verifier": VERIFIER, **app.login
        }  # fmt: skip
        if app == self.phone:
            form["redirect_uri"] = "com.example.phone:/back"
        return self.send(now, **form | changes)

    def refresh(self, app: App, token: str, now: int = NOW, /, **changes: str | None) -> OAuthResponse:
        """Exchanges a refresh token for new tokens."""
        form = {"grant_type": "refresh_token", "refresh_token": token, **app.login}
        return self.send(now, **form | changes)

    def pair(self, app: App, now: int = NOW, **changes: str | None) -> dict[str, Any]:
        """Returns the tokens of a new login."""
        reply = self.exchange(app, self.code(app, now, **changes), now)
        assert reply.status == 200 and reply.payload, reply
        return reply.payload

    def is_good(self, access_token: str, now: int = NOW) -> bool:
        """Returns whether the API accepts an access token."""
        try:
            self.desk.read(lambda tx: tokens.check(tx, access_token, now))
        except NotAuthenticated:
            return False
        return True

    def form(self, call: Any, app: App, now: int = NOW, **form: str) -> OAuthResponse:
        """Sends a request to another endpoint: provider.revoke or provider.introspect."""
        sent = OAuthRequest(tuple({**app.login, **form}.items()), None, "192.0.2.1")
        return call(self.desk.service, sent, now)


def changed(asked: AuthorizationRequest, **changes: Any) -> AuthorizationRequest:
    """Returns a request whose contents differ from the request that the worker saw."""
    return replace(asked, **changes)


def error_of(reply: OAuthResponse) -> tuple[int, str]:
    """Returns status and error of a refusal, which must have a description and no token."""
    assert reply.payload is not None and reply.payload["error_description"], reply
    assert "access_token" not in reply.payload
    return reply.status, reply.payload["error"]
