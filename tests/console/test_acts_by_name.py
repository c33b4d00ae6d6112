"""Acts in the jump dialog: on the ticket that is open, and on the rows of a list."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.console.test_list_place import five
from tests.service import Api

__all__ = ["five"]

pytestmark = pytest.mark.exhaustive("an act by its words is tested in test_tags.py")


def act(page: Page, words: str, name: str) -> None:
    """Types into the jump dialog and takes the first option, which has this name."""
    page.keyboard.press("Control+k")
    expect(page.locator("#jump-to")).to_be_focused()
    page.keyboard.type(words)
    option = page.locator("#jump [role=option]").first
    expect(option).to_contain_text(name)
    expect(option).to_contain_text("Action")
    page.keyboard.press("Enter")


def test_the_open_ticket_is_changed_by_words(page: Page, nora: Api, five: list[dict[str, Any]]) -> None:
    page.goto(five[0]["page"])
    act(page, "assign mil", "Assign: Milo")
    expect(page.locator("#toasts")).to_contain_text("Assigned to Milo")
    act(page, "snooze mon 9", "Snooze: mon 9")
    expect(page.locator("#ticket-head .badge")).to_contain_text("waiting")
    act(page, "clos", "Close")
    expect(page.locator("#ticket-head .badge")).to_contain_text("closed")
    assert nora.found("ticket", f"id:{five[0]['id']} status:closed owner.id:{nora.ids['milo']}") == [five[0]["id"]]


def test_selected_rows_are_changed_by_words(page: Page, nora: Api, five: list[dict[str, Any]]) -> None:
    word = five[0]["word"]
    page.goto(f"/inbox?v=open&sort=created&q=subject:{word}*")
    for number in (0, 1):
        page.get_by_role("row").filter(has_text=f"{word} {number}").get_by_role("checkbox").check()
    act(page, "assign milo", "Assign: Milo")
    expect(page.locator("#toasts")).to_contain_text("2 tickets assigned to Milo")
    assert nora.found("ticket", f"subject:{word}* owner.id:{nora.ids['milo']}") == [each["id"] for each in five[:2]]
    for number in (0, 1):
        page.get_by_role("row").filter(has_text=f"{word} {number}").get_by_role("checkbox").check()
    act(page, f"tag {word}", f"Tag: {word}")
    expect(page.locator("#toasts")).to_contain_text("Tags of 2 tickets changed")
    assert nora.found("ticket", f"tag:{word}") == [each["id"] for each in five[:2]]
