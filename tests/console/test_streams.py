"""One stream for all windows of a browser: every window gets its own events, whichever window holds the stream."""

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, Request, expect

from tests.console.browser import Browser
from tests.console.test_tickets import ticket
from tests.console.visitor import Visitor
from tests.service import Api

__all__ = ["ticket"]
WINDOWS = 8  # more than the connections of a browser to a site
EVENTS = {"Accept": "text/event-stream"}


def stream_events(visitor: Visitor, *addresses: str) -> Iterator[dict[str, Any]]:
    """The events of one stream of these feeds."""
    query = urlencode([("feed[]", each) for each in addresses])
    response = visitor.session.get(f"{visitor.url}/-/stream?{query}", headers=EVENTS, stream=True, timeout=60)
    assert response.status_code == 200 and response.headers["Content-Type"] == "text/event-stream"
    try:
        for line in response.iter_lines(chunk_size=1):
            if line.startswith(b"data: "):
                yield json.loads(line.removeprefix(b"data: "))
    finally:
        response.close()


def test_feeds_of_several_pages_share_a_stream(signed_in: Visitor, nora: Api, ticket: dict[str, Any]) -> None:
    cursor = signed_in.get("/-/follow/ticket").json()["cursor"]
    addresses = (f" {ticket['page']}/live?since={cursor}", f" /-/follow/ticket?since={cursor}", " /nothing/here")
    events = stream_events(signed_in, *addresses)
    ended = next(each for each in events if each["feed"] == "2")
    assert ended["end"]["__error"] == "ERROR_NOT_FOUND", "one that cannot be ends alone"
    nora.update("ticket", ticket["id"], subject="Pump, leaking").ok()
    news: dict[str, Any] = {}
    while len(news) < 2:  # other changes may cause events too, and either feed may be first
        each = next(events)
        if each["data"].get("count") or "ticket updated" in each["data"].get("changes", ()):
            news[each["feed"]] = each
    events.close()
    nora.update("ticket", ticket["id"], subject="Pump, fixed").ok()
    last = f"{news['0']['id']} {ticket['page']}/live?since={cursor}"
    [again] = [next(stream_events(signed_in, last))]
    assert again["id"] > news["0"]["id"], "it resumes after the last event"


@pytest.mark.parametrize("path", ["/tickets/{mask}/live", "/automations/log/live?since=0", "/-/stream", "/inbox"])
def test_a_shared_stream_has_only_the_events_of_the_pages(visitor: Visitor, nora: Api, path: str) -> None:
    hidden = nora.create("ticket", subject="Salaries", group_id=nora.ids["private"]).ok().json
    visitor.sign_in("milo@desk.example")
    events = stream_events(visitor, f" {path.format(**hidden)}", " /-/follow/ticket")
    first = next(each for each in events if each["feed"] == "0")
    assert "end" in first and "Salaries" not in json.dumps(first)
    events.close()


def test_a_stream_requires_signing_in(visitor: Visitor, signed_in: Visitor) -> None:
    assert visitor.get("/-/stream?feed[]=+/inbox", headers=EVENTS).status_code == 204
    assert signed_in.get("/-/stream?feed[]=+/inbox").status_code == 404


def windows(page: Page, path: str, number: int) -> list[Page]:
    """Returns windows of the same browser, all of them visible."""
    found = [page, *(page.context.new_page() for _ in range(number - 1))]
    for each in found:
        each.goto(path)
    return found


@pytest.mark.exhaustive("eight windows")
def test_many_windows_get_events_whichever_leads(page: Page, nora: Api, ticket: dict[str, Any]) -> None:
    opened = windows(page, ticket["page"], WINDOWS)
    nora.update("ticket", ticket["id"], subject="Pump, leaking").ok()
    for each in opened:
        expect(each.locator("h1")).to_have_text("Pump, leaking")
    for number in range(2):  # the leading window closes, and another one takes over
        opened.pop(0).close()
        nora.update("ticket", ticket["id"], subject=f"Pump {number}").ok()
        for each in opened:
            expect(each.locator("h1")).to_have_text(f"Pump {number}")


@pytest.mark.exhaustive("a shared stream is tested in test_bell.py")
def test_windows_share_one_stream(page: Page, nora: Api, ticket: dict[str, Any]) -> None:
    asked: list[str] = []

    def note(request: Request) -> None:
        if request.resource_type == "eventsource":
            asked.append(request.url)

    page.context.on("request", note)
    one, other = windows(page, ticket["page"], 2)
    other.goto("/inbox?v=open")
    count = other.locator("[data-view=open]")
    before = int(count.inner_text())
    nora.update("ticket", ticket["id"], subject="Pump, fixed", status="closed").ok()
    expect(one.locator("h1")).to_have_text("Pump, fixed")
    expect(count).to_have_text(str(before - 1))
    assert asked and all("/-/stream?" in each for each in asked)
    assert "live" in asked[-1] and "follow" in asked[-1] and "unread" in asked[-1]
    page.context.remove_listener("request", note)


@pytest.mark.exhaustive("browsers without locks")
def test_without_locks_each_window_has_its_own_streams(
    chromium: Browser, nora_in_a_browser: Visitor, nora: Api, ticket: dict[str, Any]
) -> None:
    with chromium.page(nora_in_a_browser.url, cookies=nora_in_a_browser.cookies) as page:
        page.add_init_script("Object.defineProperty(navigator, 'locks', { value: undefined })")
        page.goto(ticket["page"])
        nora.update("ticket", ticket["id"], subject="Pump, leaking").ok()
        expect(page.locator("h1")).to_have_text("Pump, leaking")
