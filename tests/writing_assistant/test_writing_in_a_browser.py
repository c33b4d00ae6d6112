"""The writing assistant in a browser: each act in its place, with undo, cancel and errors."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.console.browser import PHONE, Browser, violations
from tests.writing_assistant.conftest import Office


@pytest.fixture
def ticket(office: Office) -> dict[str, Any]:
    return office.ticket()


@pytest.fixture
def page(chromium: Browser, office: Office, ticket: dict[str, Any]) -> Iterator[Page]:
    refused = r"Failed to load resource.*status of (4\d\d|503)"
    with chromium.page(office.server.url, cookies=office.visitor.cookies, refused=refused) as page:
        page.goto(ticket["page"])
        yield page


def of_ticket(page: Page, act: str) -> None:
    """Presses an act of the menu of the ticket."""
    page.locator("#ticket-head .assist summary").click()
    page.locator("#ticket-head .assist").get_by_role("button", name=act).click()


def of_reply(page: Page, act: str) -> None:
    """Presses an act of the menu of the reply."""
    page.locator("#answer .assist summary").click()
    page.locator("#answer .assist").get_by_role("button", name=act).click()


def reply(page: Page) -> Any:
    """The message of the reply, whose form is opened."""
    page.keyboard.press("r")
    return page.locator("#answer textarea[name=content]")


@pytest.mark.exhaustive("every result of the assistant")
def test_a_summary_stands_above_the_conversation_until_it_is_dismissed(office: Office, page: Page) -> None:
    office.model.reply = "She wants <b>a hose</b>."
    of_ticket(page, "Summarize")
    box = page.locator("#assisted")
    expect(box).to_contain_text("She wants <b>a hose</b>.")
    expect(box).to_contain_text("It can be wrong.")
    assert violations(page) == []
    box.get_by_role("button", name="Dismiss").click()
    expect(box).to_be_empty()


def test_a_draft_is_put_into_the_form_with_its_sources_and_undone(office: Office, page: Page) -> None:
    article = office.nora.create(
        "kb_article",
        title="Hose of a pump",
        content="The hose of the pump is 40 mm.",
        format="text",
        status="published",
    ).ok()["id"]
    office.model.reply = "Take one of 40 mm.\n\nSources: 1"
    of_ticket(page, "Draft a reply")
    place = page.locator("#assisted-reply")
    expect(place.get_by_role("link", name="Hose of a pump")).to_have_attribute("href", f"/articles/{article}")
    text = page.locator("#answer textarea[name=content]")
    expect(text).to_have_value("Take one of 40 mm.")
    expect(page.locator("[data-kept]")).to_have_text("Draft stored.")
    place.get_by_role("button", name="Undo").click()
    expect(text).to_have_value("")
    office.nora.remove("kb_article", article).ok()
    assert office.nora.search("message", 'isOutgoing:yes content:"Take one of"').ok()["total"] == 0


@pytest.mark.exhaustive("every result of the assistant")
def test_a_selection_alone_is_rewritten(office: Office, page: Page) -> None:
    text = reply(page)
    text.fill("We sent you an hose. Bye")
    text.evaluate("each => each.setSelectionRange(0, 20)")
    office.model.reply = "We sent you a hose."
    of_reply(page, "Fix spelling and grammar")
    expect(text).to_have_value("We sent you a hose. Bye")
    assert "Bye" not in office.model.sent
    page.locator("#assisted-reply").get_by_role("button", name="Undo").click()
    expect(text).to_have_value("We sent you an hose. Bye")


def test_words_that_are_typed_meanwhile_are_not_replaced(office: Office, page: Page) -> None:
    text = reply(page)
    text.fill("Short")
    office.model.reply = "Friendly"
    with office.model.held():
        of_reply(page, "Make it friendlier")
        assert office.model.arrived.wait(30)
        text.fill("Short, and more")
    place = page.locator("#assisted-reply")
    expect(place.get_by_role("button", name="Put into the reply")).to_be_visible()
    expect(text).to_have_value("Short, and more")
    place.get_by_role("button", name="Put into the reply").click()
    expect(text).to_have_value("Friendly")


@pytest.mark.exhaustive("every result of the assistant")
def test_a_message_is_translated_where_it_stands(office: Office, page: Page, ticket: dict[str, Any]) -> None:
    office.model.reply = "Der Schlauch leckt."
    message = page.locator(f"#message{ticket['message']}")
    message.locator(".acts summary").click()
    message.get_by_role("button", name="Translate").click()
    expect(message).to_contain_text("Der Schlauch leckt.")


@pytest.mark.exhaustive("every result of the assistant")
def test_a_click_adds_a_suggested_tag(office: Office, page: Page) -> None:
    office.nora.create("tag", name="gasket").ok()
    office.model.reply = "gasket"
    of_ticket(page, "Suggest tags")
    page.locator("#assisted").get_by_role("button", name="gasket").click()
    expect(page.locator("#assisted").get_by_role("button")).to_contain_text(["✓ gasket", "Dismiss"])
    expect(page.locator("#panel .tags")).to_contain_text("gasket")


@pytest.mark.exhaustive("every end of a call")
def test_a_running_call_is_cancelled(office: Office, page: Page) -> None:
    with office.model.held():
        of_ticket(page, "Summarize")
        assert office.model.arrived.wait(30)
        page.locator("#assisted").get_by_role("button", name="Cancel").click()
        expect(page.locator("#assisted")).to_be_empty()
        assert office.model.left.wait(30)


def test_an_error_is_a_sentence_with_another_try(office: Office, page: Page) -> None:
    office.model.answer = 429, {"error": "quota"}, {"Retry-After": "9"}
    of_ticket(page, "Summarize")
    box = page.locator("#assisted")
    expect(box.get_by_role("alert")).to_contain_text("(429). Try again in 9 s. quota")
    office.model.answer = None
    office.model.reply = "Now it works."
    box.get_by_role("button", name="Try again").click()
    expect(box).to_contain_text("Now it works.")
    of_reply_error(page)


def of_reply_error(page: Page) -> None:
    """A rewrite of nothing is refused in place."""
    reply(page)
    of_reply(page, "Make it shorter")
    expect(page.locator("#assisted-reply").get_by_role("alert")).to_contain_text("Write a text in the reply first")


@pytest.mark.exhaustive("every way to the assistant")
def test_ctrl_k_finds_the_acts_by_their_words(office: Office, page: Page) -> None:
    office.model.reply = "Short."
    page.keyboard.press("Control+k")
    page.keyboard.type("summarise")
    option = page.get_by_role("option", name="Summarize Action")
    expect(option).to_be_visible()
    option.click()
    expect(page.locator("#assisted")).to_contain_text("Short.")


@pytest.mark.exhaustive("in rich text as well")
def test_rich_text_gets_the_draft_too(office: Office, chromium: Browser, ticket: dict[str, Any]) -> None:
    assert (
        office.visitor.send("/account/tickets", {"destination": "next", "writing": "rich"}, page="/account").status_code
        == 303
    )
    office.model.reply = "Take **this**. ![x](https://evil.example/p.gif)"
    with chromium.page(office.server.url, cookies=office.visitor.cookies) as page:
        page.goto(ticket["page"])
        of_ticket(page, "Draft a reply")
        expect(page.locator("#content-rich strong")).to_have_text("this")
        assert page.locator("#content-rich img").count() == 0
        page.locator("#assisted-reply").get_by_role("button", name="Undo").click()
        expect(page.locator("#content-rich")).not_to_contain_text("this")
    office.visitor.send("/account/tickets", {"destination": "next", "writing": "markdown"}, page="/account")


@pytest.mark.exhaustive("on a phone")
def test_on_a_phone_nothing_is_wider_than_the_screen(office: Office, chromium: Browser, ticket: dict[str, Any]) -> None:
    office.model.reply = "x" * 300
    with chromium.page(office.server.url, size=PHONE, cookies=office.visitor.cookies) as page:
        page.goto(ticket["page"])
        of_ticket(page, "Summarize")
        expect(page.locator("#assisted")).to_contain_text("xxx")
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE[0]


def test_the_script_is_loaded_only_where_it_is_on(office: Office, chromium: Browser) -> None:
    off = office.ticket("Elsewhere", group_id=office.off)
    with chromium.page(office.server.url, cookies=office.visitor.cookies) as page:
        page.goto(off["page"])
        names = "performance.getEntriesByType('resource').map((each) => each.name)"
        page.wait_for_function(f"{names}.some((each) => each.includes('masks'))")
        assert not any("assist" in each for each in page.evaluate(names))
