"""Tags in the console: on a ticket, on selected tickets, in the rows of the inbox, and their page."""

from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from server.record_types.shared import paths
from tests.console.test_tickets import undo
from tests.console.visitor import Visitor, text_of
from tests.service import Api


@pytest.fixture
def word(request: pytest.FixtureRequest) -> str:
    """A name that no other test has."""
    return f"t{abs(hash(request.node.name)) % 10**9}"


@pytest.fixture
def ticket(nora: Api, word: str) -> dict[str, Any]:
    """An open ticket; `page` is its path."""
    made = nora.create("ticket", subject=f"Pump {word}", group_id=nora.ids["support"]).ok().json
    return {**made, "page": paths.ticket(made["mask"])}


def tags_of(nora: Api, ticket: dict[str, Any]) -> list[str]:
    return list(nora.record("ticket", ticket["id"], "tags").ok()["tags"])


def tag_id(nora: Api, name: str) -> int:
    return int(nora.found("tag", f'name:(exact:"{name}")')[0])


def test_tags_are_added_and_removed_on_a_ticket_and_undone(
    signed_in: Visitor, nora: Api, ticket: dict[str, Any], word: str
) -> None:
    page = ticket["page"]
    signed_in.send(f"{page}/tags", {"tags": f"{word} a, {word} b, "}, page=page)
    assert tags_of(nora, ticket) == [f"{word} a", f"{word} b"]
    assert f"q=tag%3A%22{word}+a%22" in signed_in.get(page).text
    signed_in.send(f"{page}/tags", {"tags": f"-{word} a"}, page=page)
    assert tags_of(nora, ticket) == [f"{word} b"]
    undo(signed_in, page)
    assert tags_of(nora, ticket) == [f"{word} a", f"{word} b"]


@pytest.mark.exhaustive("late completions, as in test_late_answers.py")
def test_tags_that_are_entered_before_the_completions_arrive_are_added(
    page: Page, nora: Api, ticket: dict[str, Any], word: str
) -> None:
    held: list[Route] = []
    page.route("**/-/choose/tag?*", lambda route: held.append(route))
    page.goto(ticket["page"])
    page.keyboard.press("t")
    expect(page.locator("#ticket-tags")).to_be_focused()
    page.keyboard.type(f"{word}, {word} x")
    page.keyboard.press("Enter")
    page.unroute("**/-/choose/tag?*")
    for each in held:
        each.continue_()
    expect(page.locator("#toasts")).to_contain_text("Tags changed.")
    assert tags_of(nora, ticket) == [word, f"{word} x"]


def test_selected_tickets_are_tagged_and_untagged_and_each_gets_its_own_tags_back(
    signed_in: Visitor, nora: Api, ticket: dict[str, Any], word: str
) -> None:
    other = nora.create("ticket", subject="Hose", group_id=nora.ids["support"], tags=word).ok().json
    form = {"list": "/inbox", "do": "tag", "ids[]": [ticket["id"], other["id"]], "value_tag": f"{word}, {word} x"}
    response = signed_in.send("/-/bulk", form, page="/inbox")
    assert response.status_code == 303, text_of(response.text)
    assert tags_of(nora, ticket) == tags_of(nora, other) == [word, f"{word} x"]
    undo(signed_in, "/inbox")
    assert (tags_of(nora, ticket), tags_of(nora, other)) == ([], [word])


def test_a_row_shows_three_tags_and_the_number_of_the_others(
    signed_in: Visitor, nora: Api, ticket: dict[str, Any], word: str
) -> None:
    nora.update("ticket", ticket["id"], tags=", ".join(f"{word}{each}" for each in "abcde")).ok()
    found = signed_in.get(f"/inbox?v=open&q=mask:{ticket['mask']}").text
    row = found.partition('class="first')[2].partition("</tr>")[0]
    assert [f"{word}{each}<" in row for each in "abcd"] == [True, True, True, False] and " +2" in row


def test_tags_are_renamed_merged_and_deleted_on_their_page(
    signed_in: Visitor, nora: Api, ticket: dict[str, Any], word: str
) -> None:
    nora.update("ticket", ticket["id"], tags=f"{word}, {word} old").ok()
    page, old = f"/admin/tags/{tag_id(nora, word)}", tag_id(nora, f"{word} old")
    assert "1 ticket" in signed_in.get(page).text
    signed_in.send(page, {"name": f"{word} new", "color": "red"}, page=page)
    assert tags_of(nora, ticket) == [f"{word} new", f"{word} old"]
    response = signed_in.send(f"/admin/tags/{old}/merge", {"into": f"{word} new"}, page=page)
    assert response.status_code == 303, text_of(response.text)
    assert tags_of(nora, ticket) == [f"{word} new"]
    assert nora.found("ticket", f'tag:"{word} old"') == nora.found("ticket", f"tag:{word}") == [ticket["id"]]
    [tag] = nora.found("tag", f"name:{word}*")
    assert nora.record("tag", tag, "num_tickets").ok()["num_tickets"] == 1
    signed_in.send(f"{page}/unmerge", page=page)
    assert tags_of(nora, ticket) == [f"{word} new", f"{word} old"]
    again = nora.post("/rest/tags/merge.json", target_id=tag, source_id=tag_id(nora, f"{word} old")).ok()
    assert again["id"] == tag and tags_of(nora, ticket) == [f"{word} new"]
    assert nora.post(f"/rest/tags/{tag}/unmerge.json").ok()["name"] == f"{word} old"
    signed_in.send(f"/admin/tags/{tag_id(nora, f'{word} old')}/delete", page=page)
    signed_in.send(f"{page}/delete", page=page)
    assert tags_of(nora, ticket) == []


def test_a_tag_is_chosen_by_keyboard_and_by_name(page: Page, nora: Api, ticket: dict[str, Any], word: str) -> None:
    nora.create("tag", name=f"{word} billing", color="green").ok()
    page.goto(ticket["page"])
    page.keyboard.press("t")
    page.keyboard.type(word)
    expect(page.get_by_role("option", name=f"{word} billing")).to_be_visible()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    expect(page.locator("#panel .tag")).to_have_text(f"{word} billing")
    page.keyboard.press("Escape")
    page.keyboard.press("Control+k")
    page.keyboard.type(f"tag {word} vip")
    page.get_by_role("option", name=f"Tag: {word} vip").click()
    expect(page.locator("#panel .tag")).to_have_text([f"{word} billing", f"{word} vip"])


@pytest.mark.exhaustive("tags of selected rows as well")
def test_selected_rows_are_tagged_by_key(page: Page, nora: Api, ticket: dict[str, Any], word: str) -> None:
    nora.create("tag", name=f"{word} billing").ok()
    page.goto(f"/inbox?v=open&q=mask:{ticket['mask']}")
    page.get_by_role("checkbox").nth(1).check()
    page.keyboard.press("t")
    page.keyboard.type(word)
    page.get_by_role("option", name=f"{word} billing").click()
    page.keyboard.press("Enter")
    expect(page.locator("#toasts")).to_contain_text("Tags changed.")
    expect(page.locator("tbody .tag")).to_have_text(f"{word} billing")
