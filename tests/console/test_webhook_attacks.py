"""Webhooks that attack the console, with which they share an origin, in the browser of an administrator who opens
them."""

import itertools
import json
import re

import pytest
from playwright.sync_api import Page, expect

from tests.console.browser import Browser
from tests.console.visitor import Visitor
from tests.service import Api, Server

REFUSED = "Access to fetch|Failed to load|violates the following|blocked|Refused to execute"
# Creates an administrator if it runs as a part of the console, and shows how far it got.
TAKE_OVER = """<!doctype html><title>At work</title><p id=came></p><script>
(async () => {
  const came = document.getElementById('came')
  try {
    const page = await (await fetch('/admin/people/new', {credentials: 'include'})).text()
    const form = new URLSearchParams({
      _xsrf: /name="_xsrf" value="([0-9a-f]+)"/.exec(page)[1], first_name: 'Mallory', email: 'mallory@evil.example',
      timezone: 'UTC', language: 'en', is_superuser: '1', invite: ''})
    await fetch('/admin/people/new', {method: 'POST', body: form, credentials: 'include'})
    came.textContent = 'made'
  } catch (error) { came.textContent = 'refused: ' + error.name }
})()
</script>"""
STORAGE = """<p id=came></p><script>
const came = document.getElementById('came')
try { document.cookie = 'sid=stolen; path=/'; came.textContent = 'cookie ' + document.cookie
} catch (error) { came.textContent = 'refused: ' + error.name }
</script>"""
WORKER = """<p id=came></p><script>
(async () => {
  const came = document.getElementById('came')
  try {
    await navigator.serviceWorker.register('worker.js', {scope: '/'})
    came.textContent = 'registered'
  } catch (error) { came.textContent = 'refused: ' + error.name }
})()
</script>"""
HEADERS: list[dict[str, object]] = [
    {"Content-Type": "text/html", "Content-Security-Policy": "script-src 'unsafe-inline' *"},
    {"Content-Type": "text/html", "Content-Security-Policy": "sandbox allow-same-origin allow-scripts"},
    {"Content-Type": "text/html", "Content-Security-Policy": "",
     "content-security-policy": "default-src * 'unsafe-inline'"},
    {"Content-Type": "TEXT/HTML;charset=utf-7", "Service-Worker-Allowed": "/"},
]  # fmt: skip


_made = itertools.count()


def address(nora: Api, headers: dict[str, object], body: str) -> str:
    """Creates a webhook that responds with this; returns its address."""
    name = f"attack.n{next(_made)}"
    lines = f"start:\n  return:\n    headers@json: {json.dumps(headers)}\n    body@json: {json.dumps(body)}\n"
    nora.create("automation", name=name, extension_id="svc.trigger.webhook.respond", script=lines).ok()
    binding = f"automation/it:\n  uri: svc:automation:{name}\n"
    made = nora.create("webhook_listener", name=name, automations_kata=binding).ok()
    return f"{nora.url}/webhooks/{made['guid']}"


def came_of(nora: Api, page: Page, headers: dict[str, object], body: str) -> str:
    """Returns the result that a page of a webhook displays when it is done."""
    page.goto(address(nora, headers, body))
    expect(page.locator("#came")).not_to_be_empty()
    return page.inner_text("#came")


@pytest.mark.parametrize("headers", HEADERS, ids=json.dumps)
def test_its_scripts_create_no_administrator(
    chromium: Browser, server: Server, signed_in: Visitor, nora: Api, headers: dict[str, object]
) -> None:
    with chromium.page(server.url, cookies=signed_in.cookies, refused=REFUSED) as page:
        assert came_of(nora, page, headers, TAKE_OVER) == "refused: TypeError"
    assert nora.search("worker", "firstName:Mallory")["total"] == 0


def test_an_untyped_response_is_shown_as_text(chromium: Browser, server: Server, signed_in: Visitor, nora: Api) -> None:
    with chromium.page(server.url, cookies=signed_in.cookies, refused=REFUSED) as page:
        page.goto(address(nora, {"Content-Type": "", "X-Content-Type-Options": "none"}, TAKE_OVER))
        expect(page.locator("body")).to_contain_text("<script>")
    assert nora.search("worker", "firstName:Mallory")["total"] == 0


def test_its_scripts_and_headers_do_not_affect_the_session(
    chromium: Browser, server: Server, signed_in: Visitor, nora: Api
) -> None:
    headers = {"Content-Type": "text/html", "Set-Cookie": ["sid=stolen; Path=/", "sid=; Max-Age=0; Path=/"],
               "Clear-Site-Data": '"*"', "Strict-Transport-Security": "max-age=99999"}  # fmt: skip
    with chromium.page(server.url, cookies=signed_in.cookies, refused=REFUSED) as page:
        assert came_of(nora, page, headers, STORAGE) == "refused: SecurityError"
        sid = [each["value"] for each in page.context.cookies() if each["name"] == "sid"]
        assert sid == [signed_in.cookies["sid"]]
        assert page.goto("/account").status == 200  # type: ignore[union-attr]


def test_it_cannot_register_a_service_worker_of_the_console(
    chromium: Browser, server: Server, signed_in: Visitor, nora: Api
) -> None:
    with chromium.page(server.url, cookies=signed_in.cookies, refused=REFUSED) as page:
        headers = {"Content-Type": "text/html", "Service-Worker-Allowed": "/"}
        assert came_of(nora, page, headers, WORKER).startswith("refused")


def test_its_response_is_not_a_script_of_a_console_page(
    chromium: Browser, server: Server, signed_in: Visitor, nora: Api
) -> None:
    url = address(nora, {"Content-Type": "text/javascript"}, "document.title = 'Taken'")
    with chromium.page(server.url, cookies=signed_in.cookies, refused=REFUSED) as page:
        page.goto("/account")
        ended = page.evaluate("""url => new Promise(done => {
            const script = document.createElement('script')
            script.onload = () => done('ran'); script.onerror = () => done('refused'); script.src = url
            document.head.append(script) })""", url)  # fmt: skip
        assert ended == "refused" and page.title() != "Taken"


def test_pages_on_a_separate_host_run_freely_and_never_reach_the_console(
    chromium: Browser, tmp_path_factory: pytest.TempPathFactory
) -> None:
    env = {"HELPDESK_WEBHOOK_BASE_URL": "http://localhost"}
    server = Server(tmp_path_factory.mktemp("apart") / "data", env=env)
    nora, visitor = server.set_up(), Visitor(server.url)
    assert visitor.sign_in().status_code == 303
    url = address(nora, {"Content-Type": "text/html"}, STORAGE + TAKE_OVER.replace("came", "second"))
    apart = url.replace("127.0.0.1", "localhost")
    with chromium.page(server.url, cookies=visitor.cookies, elsewhere=apart.rsplit("/", 2)[0], refused=REFUSED) as page:
        page.goto(apart)
        expect(page.locator("#came")).to_have_text(re.compile("^(cookie|refused)"))
        expect(page.locator("#second")).to_have_text("refused: TypeError")
        assert page.evaluate("document.cookie") == "sid=stolen"  # its own cookie: the other host has never seen it
        there = page.evaluate("async () => (await fetch('/login')).status")
        assert there == 404
        sid = [each["value"] for each in page.context.cookies(server.url) if each["name"] == "sid"]
        assert sid == [visitor.cookies["sid"]]
    assert nora.search("worker", "firstName:Mallory")["total"] == 0
    assert server.stop() == 0
