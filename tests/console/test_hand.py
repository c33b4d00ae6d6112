"""Keyboard focus: where it is after an action, the caret in existing text, and keys without meaning."""

from typing import Any

from playwright.sync_api import Page, expect

from tests.console.browser import Browser
from tests.console.test_list_place import five
from tests.console.test_tickets import answer_to, ticket
from tests.console.visitor import Visitor
from tests.service import Api

__all__ = ["five", "ticket"]


def test_a_field_focused_by_a_key_releases_the_focus(page: Page, nora: Api, ticket: dict[str, Any]) -> None:
    page.goto(ticket["page"])
    page.locator(".said-list article").first.focus()
    page.keyboard.press("w")
    expect(page.locator("#wait-until")).to_be_focused()
    page.keyboard.type("+2 days")
    page.keyboard.press("Enter")
    expect(page.locator("#ticket-head .badge")).to_contain_text("waiting")
    expect(page.locator(".said-list article").first).to_be_focused()
    expect(page.locator("#wait-until")).to_have_value("")
    page.keyboard.press("e")
    expect(page.locator("#ticket-head .badge")).to_contain_text("closed")


def test_typing_replaces_the_existing_text(page: Page, nora: Api, ticket: dict[str, Any]) -> None:
    page.goto(ticket["page"])
    page.keyboard.press("s")
    expect(page.locator("#subject-line")).to_be_focused()
    page.keyboard.type("Valve")
    expect(page.locator("#subject-line")).to_have_value("Valve")


def test_a_reply_is_continued(page: Page, nora_in_a_browser: Visitor, nora: Api, ticket: dict[str, Any]) -> None:
    form = answer_to(ticket, content="It is on its way.\n\n#signature")
    token = {"_xsrf": nora_in_a_browser.token(ticket["page"])}
    assert nora_in_a_browser.post(f"{ticket['page']}/draft", form | token).status_code == 200
    page.goto(f"{ticket['page']}?answer=note")
    page.keyboard.press("r")
    expect(page.locator("#content")).to_be_focused()
    page.keyboard.type(" Really.")
    expect(page.locator("#content")).to_have_value("It is on its way. Really.\n\n#signature")


def test_after_an_action_keys_continue_at_the_next_row(page: Page, nora: Api, five: list[dict[str, Any]]) -> None:
    page.goto(f"/inbox?v=open&sort=created&q=subject:{five[0]['word']}*")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("e")
    expect(page.locator(".list tbody tr")).to_have_count(4)
    row = page.locator("tr.current")
    expect(row).to_contain_text(f"{five[0]['word']} 2")
    expect(row.get_by_role("link").first).to_be_focused()


def test_a_key_without_meaning_says_so(
    page: Page, chromium: Browser, visitor: Visitor, nora: Api, ticket: dict[str, Any]
) -> None:
    """The following keys were meant for a reply: they must not close the ticket or leave the page."""
    visitor.sign_in("olga@desk.example")
    with chromium.page(visitor.url, cookies=visitor.cookies) as other:
        other.goto(ticket["page"])
        other.keyboard.type("rgo")
        expect(other.locator("#toasts")).to_contain_text("You cannot answer this ticket.")
        other.keyboard.press("Escape")
        other.keyboard.press("R")
        expect(other.locator("#toasts")).to_contain_text("No macro is available for this ticket.")
        assert other.url.endswith(ticket["page"])
    page.goto("/inbox?v=open")
    page.keyboard.type("rc")
    expect(page.locator("#toasts")).to_contain_text("Select a row first")
    assert "/inbox" in page.url
