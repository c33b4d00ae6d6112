"""Merging two tickets on the page of one: found by words, shown side by side, merged, undone."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.console.browser import until
from tests.console.test_list_place import five
from tests.console.test_ticket_trials import mailed
from tests.console.visitor import Visitor, place, text_of
from tests.service import Api

__all__ = ["five"]


def test_both_tickets_are_shown_before_they_are_merged(
    signed_in: Visitor, nora: Api, five: list[dict[str, Any]]
) -> None:
    older, newer = five[1], five[3]
    page = f"{newer['page']}/merge"
    for other in (older["mask"], str(older["id"]), f"{older['word']} 1"):
        shown = text_of(signed_in.get(page, params={"other": other}).text)
        assert shown.index("Stays") < shown.index(older["mask"]) < shown.index("Is merged into the other"), other
    assert nora.record("ticket", newer["id"])["mask"] == newer["mask"], "nothing is merged yet"
    merged = signed_in.send(page, {"other": str(older["id"])}, page=newer["page"])
    assert place(merged) == older["page"]


@pytest.mark.parametrize(
    ("other", "says"), [("{mask}", "This is the ticket itself."), ("no such words", "No ticket contains these words.")]
)
def test_a_ticket_that_cannot_be_merged_is_explained(
    signed_in: Visitor, five: list[dict[str, Any]], other: str, says: str
) -> None:
    page = signed_in.get(f"{five[0]['page']}/merge", params={"other": other.format(**five[0])})
    assert page.status_code == 422 and says in text_of(page.text)


def open_with_sheets(page: Page, path: str) -> None:
    """Opens a ticket and waits for the module without which the page of a merge opens by itself."""
    page.goto(path)
    found = "performance.getEntriesByType('resource').find(each => each.name.includes('sheets.js'))?.name"
    until(page, found)
    page.evaluate(f"() => import({found}).then(() => null)")


def test_a_ticket_is_merged_in_place_with_three_keys(page: Page, five: list[dict[str, Any]]) -> None:
    open_with_sheets(page, five[4]["page"])
    page.evaluate("window.stays = true")
    page.keyboard.press("M")
    expect(page.get_by_label("Merge with (number or words)")).to_be_focused()
    page.keyboard.type(f"{five[0]['word']} 2")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Merge", exact=True)).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#ticket-head h1")).to_have_text(f"{five[0]['word']} 2")
    expect(page.locator("#sheet")).to_be_hidden()
    page.keyboard.press("z")
    expect(page.locator("#toasts")).to_contain_text("Merge undone")


@pytest.mark.exhaustive("every end of a sheet")
def test_a_sheet_closes_and_gives_the_focus_back(page: Page, five: list[dict[str, Any]]) -> None:
    open_with_sheets(page, five[0]["page"])
    page.locator(".said-list article").first.focus()
    page.keyboard.press("M")
    expect(page.get_by_role("dialog")).to_contain_text("Tickets of the same requesters")
    page.keyboard.press("Escape")
    expect(page.locator("#sheet")).to_be_hidden()
    expect(page.locator(".said-list article").first).to_be_focused()


def test_tickets_of_the_same_requester_are_found_first(
    signed_in: Visitor, nora: Api, five: list[dict[str, Any]]
) -> None:
    word = f"{five[0]['word']} strange"
    own = mailed(nora, word)
    nora.parse(f"From: Bo <bo@elsewhere.example>\nTo: support@desk.example\nSubject: {word}\n\nHi.\n").ok()
    shown = text_of(signed_in.get(f"{five[0]['page']}/merge", params={"other": word}).text)
    assert own["mask"] in shown.partition("Other matches")[0]
