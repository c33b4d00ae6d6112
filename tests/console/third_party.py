"""A small third-party program: workers sign in to it through the helpdesk, and it calls the API on their behalf.

Written as its vendor would: with a library for the protocol, and a check of the issuer (RFC 9207)."""

import html
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from requests_oauthlib import OAuth2Session

SCOPES = ["me"]
ME = "/rest/workers/me.json"


class ThirdParty:
    """url: its address. helpdesk: the provider. client_id, secret: of its registration, set once known."""

    def __init__(self, helpdesk: str) -> None:
        self.helpdesk = helpdesk
        self.client_id = self.secret = ""
        self.logins: dict[str, OAuth2Session] = {}  # pending logins, by their state
        self.client: OAuth2Session | None = None  # the signed-in worker
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()

    def address(self, scopes: list[str], **more: str) -> str:
        """Returns the URL where a worker signs in."""
        session = OAuth2Session(self.client_id, redirect_uri=f"{self.url}/back", scope=scopes, pkce="S256")
        address, state = session.authorization_url(f"{self.helpdesk}/oauth/authorize", **more)
        self.logins[state] = session
        return str(address)

    def back(self, target: str) -> str:
        """Completes a login at the callback; returns the text that the worker sees."""
        found = {name: values[0] for name, values in parse_qs(urlsplit(target).query).items()}
        session = self.logins.get(found.get("state", ""))
        if session is None:
            return "That is no login of ours."
        if found.get("iss") != self.helpdesk:
            return "Somebody else answers."
        if "error" in found:
            return f"Not signed in: {found['error']}"
        session.fetch_token(
            f"{self.helpdesk}/oauth/access_token",
            authorization_response=f"{self.url}{target}",
            client_secret=self.secret,
        )
        self.client = session
        return self.call()

    def call(self) -> str:
        """Calls the API for the name of the signed-in worker."""
        assert self.client is not None
        response = self.client.get(self.helpdesk + ME, timeout=60)
        return (
            f"Hello {response.json()['_label']}"
            if response.status_code == 200
            else f"The API says {response.status_code}"
        )

    def refresh(self) -> str:
        """Exchanges the refresh token for new tokens."""
        assert self.client is not None
        old = self.client.token["access_token"]
        token = self.client.refresh_token(f"{self.helpdesk}/oauth/access_token", auth=(self.client_id, self.secret))
        return "Refreshed" if token["access_token"] != old else "The same token again"


def _handler(app: ThirdParty) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = urlsplit(self.path).path
            if path == "/sign-in":
                self.send_response(302)
                self.send_header("Location", app.address(SCOPES))
                self.end_headers()
                return
            pages: dict[str, Any] = {"/back": lambda: app.back(self.path), "/call": app.call, "/refresh": app.refresh}
            told = html.escape(pages[path]()) if path in pages else ""
            if path == "/framed":
                told = f'<iframe src="{html.escape(app.address(SCOPES))}"></iframe>'
            links = "".join(f'<a href="/{name}">{name}</a> ' for name in ("sign-in", "call", "refresh"))
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            page = '<!doctype html><title>Stock</title><link rel="icon" href="data:,">'
            self.wfile.write(f"{page}<p id=told>{told}</p>{links}".encode())

        def log_message(self, *values: object) -> None:
            """Logs nothing, since the tests report failures."""

    return Handler


@contextmanager
def third_party(helpdesk: str) -> Iterator[ThirdParty]:
    """Runs the program while the context is active."""
    app = ThirdParty(helpdesk)
    try:
        yield app
    finally:
        app.close()
