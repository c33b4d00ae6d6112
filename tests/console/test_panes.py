"""The list beside a ticket on a wide screen, and tickets that open in place of one another."""

from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from tests.console.browser import Browser, intercept
from tests.console.test_list_place import five, opened
from tests.console.visitor import Visitor
from tests.service import Api
from tests.telling import telling

__all__ = ["five"]

STAYS = "window.stays = true"
WATCH = """() => new MutationObserver(() => {
  window.mixed ||= document.getElementById('thread').textContent.includes('About another.');
}).observe(document.body, { childList: true, subtree: true })"""


@pytest.fixture
def first(page: Page, signed_in: Visitor, five: list[dict[str, Any]]) -> Page:
    """The first of the five tickets, opened from a list of them, with a mark that does not outlive a page load."""
    page.goto(opened(signed_in, f"subject:{five[0]['word']}* status:open", 0))
    expect(current(page)).to_contain_text(f"{five[0]['word']} 0")
    page.evaluate(STAYS)
    return page


def current(page: Page) -> Any:
    return page.locator(".list-beside [aria-current]")


def subject(page: Page) -> Any:
    return page.locator("#ticket-head h1")


def test_the_next_ticket_opens_in_place(first: Page, five: list[dict[str, Any]]) -> None:
    word = five[0]["word"]
    first.keyboard.press("]")
    expect(subject(first)).to_have_text(f"{word} 1")
    expect(current(first)).to_contain_text(f"{word} 1")
    first.locator(".list-beside").get_by_role("link", name=f"{word} 3").click()
    expect(subject(first)).to_have_text(f"{word} 3")
    assert f"{five[3]['page']}?" in first.url and five[3]["mask"] in first.title()
    first.go_back()
    expect(subject(first)).to_have_text(f"{word} 1")
    expect(current(first)).to_contain_text(f"{word} 1")
    assert first.evaluate("window.stays") and five[1]["page"] in first.url
    first.keyboard.press("u")
    first.wait_for_url("**/search/ticket**")


@pytest.mark.exhaustive("every way to the next ticket")
def test_keys_in_the_list_open_what_they_move_to(first: Page, five: list[dict[str, Any]]) -> None:
    current(first).focus()
    for key, number in (("j", 1), ("ArrowDown", 2), ("k", 1)):
        first.keyboard.press(key)
        expect(subject(first)).to_have_text(f"{five[0]['word']} {number}")
        expect(current(first)).to_be_focused()
    assert first.evaluate("window.stays")


def test_a_reply_is_stored_before_another_ticket_opens(first: Page, nora: Api, five: list[dict[str, Any]]) -> None:
    first.keyboard.press("r")
    first.locator("#content").fill("Half a sentence")
    first.locator("#ticket-head [rel=next]").click()
    expect(subject(first)).to_have_text(f"{five[0]['word']} 1")
    expect(first.locator("#content")).not_to_have_value("Half a sentence")
    first.locator("#ticket-head [rel=prev]").click()
    expect(first.locator("#content")).to_have_value("Half a sentence")
    assert first.evaluate("window.stays")


LATE = ["its page after a change", "the page after a form"]


@pytest.mark.parametrize("late", telling(LATE, LATE[:1], "every way to be late"))
def test_what_arrives_late_about_a_ticket_is_not_put_into_the_next(
    page: Page, signed_in: Visitor, nora: Api, five: list[dict[str, Any]], late: str
) -> None:
    word, held = five[0]["word"], list[Route]()

    def hold(route: Route) -> None:
        if held:
            route.continue_()
        else:
            held.append(route)

    intercept(page)
    page.goto(opened(signed_in, f"subject:{word}* status:open", 0))
    expect(current(page)).to_contain_text(f"{word} 0")
    page.evaluate(STAYS)
    if late == "the page after a form":
        page.route("**/set**", hold)
        page.locator("#importance").fill("77")
        with page.expect_request("**/set**"):
            page.keyboard.press("Enter")
    else:
        page.route(f"**{five[0]['page']}?**", hold)
        with page.expect_request(f"**{five[0]['page']}?**"):
            nora.create("comment", target__context="ticket", target_id=five[0]["id"], comment="About another.").ok()
    page.locator(".list-beside").get_by_role("link", name=f"{word} 3").click()
    expect(subject(page)).to_have_text(f"{word} 3")
    page.evaluate(WATCH)
    [route] = held
    with page.expect_response(route.request.url):
        route.continue_()
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url))
    page.locator("#importance").fill("12")
    with page.expect_response(lambda response: response.request.method == "GET" and five[3]["page"] in response.url):
        page.keyboard.press("Enter")
    expect(subject(page)).to_have_text(f"{word} 3")
    assert not page.evaluate("window.mixed") and not any(f"{five[0]['page']}?" in url for url in sent)
    assert five[3]["page"] in page.url and page.evaluate("window.stays")


@pytest.mark.exhaustive("live changes and presence are tested in test_desk.py")
def test_a_ticket_opened_in_place_follows_its_changes(
    first: Page, chromium: Browser, nora_in_a_browser: Visitor, nora: Api, five: list[dict[str, Any]]
) -> None:
    first.keyboard.press("]")
    expect(subject(first)).to_have_text(f"{five[0]['word']} 1")
    nora.create("comment", target__context="ticket", target_id=five[1]["id"], comment="Ordered a gasket.").ok()
    expect(first.locator("#thread")).to_contain_text("Ordered a gasket.")
    visitor = Visitor(nora_in_a_browser.url)
    visitor.sign_in("milo@desk.example")
    with chromium.page(visitor.url, cookies=visitor.cookies) as other:
        other.goto(five[1]["page"])
        expect(first.locator("[data-present]")).to_contain_text("Milo")
        expect(other.locator("[data-present]")).to_contain_text("Nora")
        first.keyboard.press("]")
        expect(other.locator("[data-present]")).not_to_contain_text("Nora")
        expect(first.locator("[data-present]")).to_be_empty()


@pytest.mark.exhaustive("what follows is tested in test_list_place.py")
def test_a_closed_ticket_leaves_the_list_and_the_next_one_opens(first: Page, five: list[dict[str, Any]]) -> None:
    rows = first.locator(".list-beside li")
    expect(rows).to_have_count(5)
    first.keyboard.press("e")
    expect(subject(first)).to_have_text(f"{five[0]['word']} 1")
    expect(rows).to_have_count(4)
    expect(first.locator("#toasts")).to_contain_text("Ticket closed.")
    assert first.evaluate("window.stays"), "in its place"


@pytest.mark.exhaustive("every form of the two panes")
def test_the_list_is_hidden_until_it_is_wanted_again(first: Page, five: list[dict[str, Any]]) -> None:
    first.get_by_role("button", name="Hide the list").click()
    expect(first.locator(".list-beside")).to_be_hidden()
    expect(first.get_by_role("button", name="Show the list")).to_be_focused()
    first.reload()
    expect(first.locator(".beside")).to_contain_text("1 of 5")
    expect(first.locator(".list-beside")).to_be_hidden()
    first.get_by_role("button", name="Show the list").click()
    expect(current(first)).to_contain_text(f"{five[0]['word']} 0")


@pytest.mark.exhaustive("every form of the two panes")
def test_a_narrow_screen_shows_one_pane(first: Page, five: list[dict[str, Any]]) -> None:
    first.set_viewport_size({"width": 1279, "height": 800})
    expect(first.locator(".list-beside")).to_be_hidden()
    first.keyboard.press("]")
    expect(subject(first)).to_have_text(f"{five[0]['word']} 1")
    assert first.evaluate("window.stays")


def test_a_page_fetched_ahead_leaves_the_message_to_the_next_page(
    signed_in: Visitor, five: list[dict[str, Any]]
) -> None:
    page = five[0]["page"]
    signed_in.send(f"{page}/set", {"name": "owner", "value": "me", "was_owner_id": "0"}, page=page)
    assert "Assigned to you." not in signed_in.get(five[1]["page"], headers={"X-Ahead": "1"}).text
    assert "Assigned to you." in signed_in.get(page).text


@pytest.mark.exhaustive("snoozing is tested without the list")
def test_a_ticket_is_snoozed_until_an_offered_time(page: Page, nora: Api, five: list[dict[str, Any]]) -> None:
    page.goto(five[0]["page"])
    page.keyboard.press("w")
    page.get_by_role("button", name="Tomorrow").click()
    expect(page.locator("#ticket-head .badge")).to_contain_text("waiting")
    expect(page.locator("#toasts")).to_contain_text("Snoozed until")
    assert nora.found("ticket", f"id:{five[0]['id']} status:waiting reopen:>now") == [five[0]["id"]]


@pytest.mark.exhaustive("files are tested in test_thread.py")
def test_files_of_a_ticket_opened_in_place_are_viewed(
    page: Page, signed_in: Visitor, nora: Api, five: list[dict[str, Any]]
) -> None:
    text = {"name": "plan.txt", "content": "Third floor", "mime_type": "text/plain"}
    nora.create("attachment", **text, attach=[f"message:{five[1]['message']}"]).ok()
    page.goto(opened(signed_in, f"subject:{five[0]['word']}* status:open", 0))
    expect(page.locator("[data-view-files]")).to_be_hidden()
    page.keyboard.press("v")
    page.keyboard.press("]")
    expect(subject(page)).to_have_text(f"{five[0]['word']} 1")
    page.keyboard.press("v")
    expect(page.get_by_role("dialog")).to_contain_text("Third floor")
