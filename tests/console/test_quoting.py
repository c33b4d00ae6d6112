"""The quotation in the form of a reply: folded, edited as text or removed, and folded in the sent message."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.console.browser import violations
from tests.console.visitor import Visitor
from tests.service import Api

LINE = "#original_message"


@pytest.fixture
def ticket(nora: Api, request: pytest.FixtureRequest) -> Iterator[str]:
    """A ticket of a group whose replies quote the last message."""
    nora.update("group", nora.ids["support"], quoted_history="last").ok()
    head = "From: Quentin <quentin@kite.example>\nTo: support@desk.example\nSubject: Quote"
    raw = f"{head}\n\nIt leaks. {request.node.name}\n"
    yield f"/tickets/{nora.parse(raw).ok()['mask']}"
    nora.update("group", nora.ids["support"], quoted_history="none").ok()


def test_a_quotation_is_edited_or_removed_without_scripts(signed_in: Visitor, ticket: str) -> None:
    page = signed_in.get(f"{ticket}?answer=reply").text
    assert LINE in page and "Quoted messages" in page
    fields = {"message": re.findall(r'name="message"\s+value="(\d+)"', page)[0], "content": f"Hi\n\n{LINE}"}
    signed_in.send(f"{ticket}/answer", fields | {"do": "quote"}, page=f"{ticket}?answer=reply")
    shown = signed_in.get(f"{ticket}?answer=reply").text
    assert re.search(r"Hi\s+On .* Quentin wrote:\s+&gt; It leaks\.", shown)
    signed_in.send(f"{ticket}/answer", fields | {"do": "unquote"}, page=f"{ticket}?answer=reply")
    assert re.search(r">\s*Hi\s*</textarea>", signed_in.get(f"{ticket}?answer=reply").text)
    assert (
        "Write a message first."
        in signed_in.send(
            f"{ticket}/answer", fields | {"content": LINE, "do": "send"}, page=f"{ticket}?answer=reply"
        ).text
    )


@pytest.mark.exhaustive("the same without scripts above")
def test_a_quotation_is_shown_edited_and_folded_again(same_page: Page, ticket: str, nora: Api) -> None:
    same_page.goto(f"{ticket}?answer=reply")
    text, more = same_page.locator("#content"), same_page.locator("[data-quoted]")
    expect(same_page.locator("[data-tools]")).not_to_have_attribute("inert", "")
    more.locator("summary").click()
    expect(more.frame_locator("iframe").locator("blockquote, details")).to_contain_text("It leaks.")
    assert violations(same_page) == []
    more.get_by_role("button", name="Edit as text").click()
    expect(text).to_have_value(re.compile(r"^\s*On .* Quentin wrote:\n> It leaks\."))
    expect(more).to_be_hidden()
    text.focus()
    same_page.keyboard.press("Control+Z")
    expect(text).to_have_value(re.compile(f"{LINE}$"))
    expect(more).to_be_visible()
    text.fill(f"On its way.\n\n{LINE}")
    same_page.locator(".sends summary").click()
    same_page.get_by_role("button", name="Save without sending").click()
    same_page.wait_for_url(re.compile(r"#thread$"))
    same_page.goto(ticket)
    folded = same_page.locator(".said-html details.folded")
    expect(folded).to_have_count(1)
    expect(folded.locator("summary")).to_have_text("Quoted text")
