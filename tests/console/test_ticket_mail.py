"""Mail of strangers on a ticket's page, in a browser: it is shown, runs nothing, loads nothing, and does not
navigate. For the policy of the frame see test_hostile_pages.py; for the cleaning of HTML, test_markup.py."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, Request, expect

from tests.console.browser import PHONE, Browser, is_sideways, violations
from tests.console.visitor import Visitor
from tests.service import Api, Server
from tests.telling import telling

names = pytest.mark.parametrize
ELSEWHERE = "http://tracker.example"
# Each line would run a script, load something, or navigate away. The words between them are the text of the mail.
HOSTILE = f"""<html><head><base href="{ELSEWHERE}/"><meta http-equiv="refresh" content="0;url={ELSEWHERE}/refresh">
<link rel="stylesheet" href="{ELSEWHERE}/style.css"><link rel="prefetch" href="{ELSEWHERE}/prefetch">
<style>@import url({ELSEWHERE}/import.css); body {{ background: url({ELSEWHERE}/css.png) }}</style>
<script>window.top.ran = 1; fetch("{ELSEWHERE}/fetch")</script></head>
<body onload="window.top.ran = 2" background="{ELSEWHERE}/body.png"><p>The pump leaks.</p>
<img src="x" onerror="window.top.ran = 3"><svg onload="window.top.ran = 4"><script>window.top.ran = 5</script></svg>
<svg><image href="{ELSEWHERE}/svg.png"/><foreignObject><iframe src="{ELSEWHERE}/inner"></iframe></foreignObject></svg>
<math><mtext><table><mglyph><style><img src=x onerror="window.top.ran = 6"></style></mglyph></table></mtext></math>
<div style="background-image: url('{ELSEWHERE}/style.png'); position: fixed; inset: 0">A box.</div>
<table background="{ELSEWHERE}/table.png"><tr><td>A cell.</td></tr></table>
<form action="{ELSEWHERE}/form"><input name="password" autofocus onfocus="window.top.ran = 7">
<button>Log in</button></form>
<video src="{ELSEWHERE}/video" poster="{ELSEWHERE}/poster" autoplay></video><audio src="{ELSEWHERE}/audio"></audio>
<object data="{ELSEWHERE}/object"></object><embed src="{ELSEWHERE}/embed"><iframe srcdoc="<script>top.ran=8</script>">
</iframe><img srcset="{ELSEWHERE}/srcset.png 1x"><picture><source srcset="{ELSEWHERE}/source.png"></picture>
<a href="javascript:window.top.ran=9">Press here</a> <a href="data:text/html,<script>top.ran=10</script>">Or here</a>
<a href="{ELSEWHERE}/page" ping="{ELSEWHERE}/ping">A page</a> <p>Kind regards</p>
<img src="{ELSEWHERE}/pixel.gif" width="1" height="1" alt=""></body></html>"""

LET_THROUGH = """() => {
  const inside = document.querySelector("#thread iframe.mail").contentDocument;
  const more = inside.createElement("div");
  more.innerHTML = '<img src="data:," onerror="window.top.ran = 1"><a href="javascript:top.ran = 2">go</a>';
  inside.body.append(more);
  more.querySelector("a").click();
}"""


@pytest.fixture(scope="module")
def ticket(nora: Api) -> dict[str, Any]:
    """A ticket by hostile mail; its message as `message`."""
    raw = (
        "From: Ana Lund <ana@kite.example>\nTo: support@desk.example\nSubject: <script>window.ran = 11</script> Pump\n"
        f"Content-Type: text/html; charset=utf-8\nContent-Transfer-Encoding: 8bit\n\n{HOSTILE}\n"
    )
    made = nora.parse(raw).ok()
    [message] = nora.found("message", f"ticket.id:{made['id']}")
    return {**made.json, "message": message, "page": f"/tickets/{made['mask']}"}


@pytest.fixture
def asked(page: Page) -> Iterator[list[str]]:
    """Requests of the page to other hosts, all of which are aborted."""
    found: list[str] = []

    def note(request: Request) -> None:
        if request.url.startswith(ELSEWHERE):
            found.append(request.url.removeprefix(ELSEWHERE))

    page.context.on("request", note)
    page.context.route(f"{ELSEWHERE}/**", lambda route: route.fulfill(status=200, content_type="image/gif", body=b""))
    yield found
    page.context.remove_listener("request", note)
    page.context.unroute(f"{ELSEWHERE}/**")


def test_hostile_mail_is_readable_and_harmless(page: Page, ticket: dict[str, Any], asked: list[str]) -> None:
    page.goto(ticket["page"])
    mail = page.frame_locator("#thread iframe.mail")
    for words in ("The pump leaks.", "A cell.", "Kind regards", "External images are blocked"):
        expect(mail.locator("body")).to_contain_text(words)
    expect(mail.locator("script, form, input, button, iframe, object, embed, video, audio, meta[http-equiv], base, svg")
           ).to_have_count(0)  # fmt: skip
    mail.get_by_text("Press here").click(force=True)
    assert mail.locator("a[href^='javascript:'], a[href^='data:'], [ping]").count() == 0
    assert page.evaluate("window.ran") is None
    assert asked == [] and page.url.endswith(ticket["page"])
    frames = [each.url for each in page.frames[1:] if each.url != "about:blank"]
    assert frames == [f"{page.url}".replace(ticket["page"], f"/messages/{ticket['message']}/body")]


def test_a_script_missed_by_cleaning_would_not_run(
    chromium: Browser, server: Server, nora_in_a_browser: Visitor, ticket: dict[str, Any]
) -> None:
    """The second line of defence: the frame may not run scripts, whatever it contains."""
    refused = "Blocked script execution|Content Security Policy"
    with chromium.page(server.url, cookies=nora_in_a_browser.cookies, refused=refused) as page:
        page.goto(ticket["page"])
        expect(page.frame_locator("#thread iframe.mail").locator("body")).to_contain_text("Kind regards")
        with page.expect_console_message(lambda message: bool(re.search(refused, message.text))):
            page.evaluate(LET_THROUGH)
        assert page.evaluate("window.ran") is None


def test_remote_images_are_loaded_on_request(
    chromium: Browser, server: Server, nora_in_a_browser: Visitor, ticket: dict[str, Any]
) -> None:
    with chromium.page(server.url, cookies=nora_in_a_browser.cookies, elsewhere=ELSEWHERE) as page:
        page.context.route(
            f"{ELSEWHERE}/**",
            lambda route: route.fulfill(
                status=200, content_type="image/svg+xml", body="<svg xmlns='http://www.w3.org/2000/svg'/>"
            ),
        )
        page.goto(ticket["page"])
        with page.expect_request(f"{ELSEWHERE}/pixel.gif") as found:
            page.frame_locator("#thread iframe.mail").get_by_role("link", name="Show images").click()
        assert "referer" not in found.value.headers and "cookie" not in found.value.headers
        expect(page.frame_locator("#thread iframe.mail").locator("body")).to_contain_text("Kind regards")
        assert page.evaluate("window.ran") is None
        page.reload()
        expect(page.frame_locator("#thread iframe.mail").get_by_role("link", name="Show images")).to_be_visible()


def test_the_source_of_a_mail_is_a_file(signed_in: Visitor, ticket: dict[str, Any]) -> None:
    response = signed_in.get(f"/messages/{ticket['message']}/source")
    assert response.headers["Content-Type"].startswith("message/rfc822")
    assert response.headers["Content-Disposition"].startswith("attachment") and "tracker.example" in response.text


@pytest.mark.exhaustive("a ticket in each form of display")
@names(("size", "scheme"), [((1280, 800), "light"), ((1280, 800), "dark"), (PHONE, "dark")])
def test_everyone_can_use_a_ticket(
    chromium: Browser, server: Server, nora: Api, nora_in_a_browser: Visitor, ticket: dict[str, Any],
    size: tuple[int, int], scheme: str,
) -> None:  # fmt: skip
    """With mail in it, and a merge candidate whose name cannot be wrapped; no error on the way."""
    nora.parse(
        f"From: Ana Lund <ana@kite.example>\nTo: support@desk.example\nSubject: {'Pump' * 40}\n\nIt leaks.\n"
    ).ok()
    with chromium.page(server.url, size, nora_in_a_browser.cookies, color_scheme=scheme) as page:
        for path in (ticket["page"], f"{ticket['page']}?answer=note", f"{ticket['page']}/merge", "/compose"):
            page.goto(path)
            assert violations(page) == [] and not is_sideways(page), path


EACH = {
    "script": f'<script>window.top.ran = 1; fetch("{ELSEWHERE}/fetch")</script>'
    '<img src=x onerror="window.top.ran = 2">',
    "svg": f'<svg onload="window.top.ran = 1"><image href="{ELSEWHERE}/svg.png"/>'
    "<script>window.top.ran = 2</script></svg>",
    "css": f"<style>@import url({ELSEWHERE}/a.css); p {{ background: url({ELSEWHERE}/css.png) }}</style>"
    f'<p style="background-image: url({ELSEWHERE}/style.png); position: fixed; inset: 0">x</p>',
    "meta refresh": f'<meta http-equiv="refresh" content="0;url={ELSEWHERE}/refresh">',
    "form": f'<form action="{ELSEWHERE}/form"><input name="password" autofocus onfocus="window.top.ran = 1">'
    "<button>Log in</button></form>",
    "tracking pixel": f'<img src="{ELSEWHERE}/pixel.gif" width="1" height="1">',
}


@names("kind", telling(list(EACH), ("css",), "every kind of hostile mail"))
def test_each_hostile_message_runs_and_loads_nothing(page: Page, nora: Api, asked: list[str], kind: str) -> None:
    """Separately: one kind must not hide the effect of another by breaking the document."""
    made = nora.parse(
        "From: Ana Lund <ana@kite.example>\nTo: support@desk.example\nSubject: Hostile\n"
        f"Content-Type: text/html; charset=utf-8\n\n<p>Before.</p>{EACH[kind]}<p>After.</p>\n"
    ).ok()
    page.goto(f"/tickets/{made['mask']}")
    body = page.frame_locator("#thread iframe.mail").locator("body")
    expect(body).to_contain_text("Before.")
    expect(body).to_contain_text("After.")
    page.wait_for_load_state("load")
    assert asked == [] and page.evaluate("window.ran") is None and page.url.endswith(f"/tickets/{made['mask']}")
    assert body.locator("script, svg, style, meta[http-equiv], form, input, button").count() == 0


def test_a_changed_message_says_so_and_administrators_see_the_original(
    signed_in: Visitor, visitor: Visitor, nora: Api
) -> None:
    ticket = nora.parse("From: c@changed.example\r\nSubject: Refund\r\n\r\nRefund me").ok()
    message, mask = ticket["last_message_id"], ticket["mask"]
    nora.post("/rest/tickets/reply.json", message_id=message, content="We refund you").ok()
    [sent] = nora.found("message", f"ticket.id:{ticket['id']} isOutgoing:yes")
    visitor.sign_in("milo@desk.example")
    for id, first in ((message, "Refund me"), (sent, "We refund you")):
        assert first in visitor.get(f"/messages/{id}/source").text
        nora.update("message", id, content="I waive it").ok()
        source = signed_in.get(f"/messages/{id}/source").text
        assert first in source and "I waive it" not in source
        refused = visitor.get(f"/messages/{id}/source")
        assert refused.status_code == 403 and first not in refused.text
    page = visitor.get(f"/tickets/{mask}").text
    assert "Edited after it arrived" in page and "Edited after it was sent" in page
