"""A web app at another origin calls the API by fetch, in a real browser."""

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from tests.console.browser import Browser
from tests.service import Api, Server


@pytest.fixture
def elsewhere() -> Iterator[str]:
    """An empty page at another origin."""

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Page)
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield f"http://localhost:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


FETCH = """async ([url, token]) => {
    const headers = {Authorization: `Bearer ${token}`}
    try {
        const me = await (await fetch(`${url}/rest/workers/me.json`, {headers})).json()
        const body = new URLSearchParams({"fields[name]": "By fetch"})
        const org = await (await fetch(`${url}/rest/records/org/create.json`, {method: "POST", headers, body})).json()
        const metadata = await (await fetch(`${url}/.well-known/oauth-authorization-server`)).json()
        return [me.first_name, org.name, metadata.issuer]
    } catch (error) { return String(error) }
}"""


def test_fetch_needs_a_public_app_with_the_origin_of_the_page(
    chromium: Browser, server: Server, nora: Api, elsewhere: str
) -> None:
    with chromium.page(elsewhere, elsewhere=server.url, refused="CORS policy|Failed to load resource") as page:
        page.goto("/")
        app = (
            nora.create("oauth_app", name="Dashboard", is_public=1, callback_url="https://dash.example/back").ok().json
        )
        assert "TypeError" in page.evaluate(FETCH, [server.url, nora.token])
        nora.update("oauth_app", app["id"], callback_url="http://localhost/back").ok()
        assert page.evaluate(FETCH, [server.url, nora.token]) == ["Nora", "By fetch", server.url]
        nora.delete(f"/rest/records/oauth_app/{app['id']}.json").ok()
        assert "TypeError" in page.evaluate(FETCH, [server.url, nora.token])
