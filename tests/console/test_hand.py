"""Keyboard focus: where it is after an action, the caret in existing text, and keys without meaning."""

import re
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from tests.console.browser import Browser, intercept, violations
from tests.console.test_list_place import five
from tests.console.test_tickets import answer_to, ticket
from tests.console.visitor import Visitor
from tests.service import Api

__all__ = ["five", "ticket"]

OTHERS = pytest.mark.exhaustive("every key")


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


@pytest.mark.exhaustive("a further key")
def test_typing_replaces_the_existing_text(page: Page, nora: Api, ticket: dict[str, Any]) -> None:
    page.goto(ticket["page"])
    page.keyboard.press("s")
    expect(page.locator("#subject-line")).to_be_focused()
    page.keyboard.type("Valve")
    expect(page.locator("#subject-line")).to_have_value("Valve")


@pytest.mark.exhaustive("every state of the line")
def test_a_reply_is_continued(page: Page, nora_in_a_browser: Visitor, nora: Api, ticket: dict[str, Any]) -> None:
    form = answer_to(ticket, content="It is on its way.\n\n#signature")
    token = {"_xsrf": nora_in_a_browser.token(ticket["page"])}
    assert nora_in_a_browser.post(f"{ticket['page']}/draft", form | token).status_code == 200
    page.goto(f"{ticket['page']}?answer=note")
    page.keyboard.press("r")
    expect(page.locator("#content")).to_be_focused()
    page.keyboard.type(" Really.")
    expect(page.locator("#content")).to_have_value("It is on its way. Really.\n\n#signature")


def test_an_undo_brings_the_row_back_in_place(page: Page, five: list[dict[str, Any]]) -> None:
    page.goto(f"/inbox?v=open&sort=created&q=subject:{five[0]['word']}*")
    page.evaluate("window.stays = true")
    for _ in range(2):
        page.keyboard.press("j")
    page.keyboard.press("e")
    expect(page.locator("tbody tr")).to_have_count(4)
    page.keyboard.press("z")
    expect(page.locator("tbody tr")).to_have_count(5)
    expect(page.locator("#toasts .toast")).to_have_text(re.compile("Undone."))
    expect(page.locator("tbody tr").nth(1)).to_have_class(re.compile("current"))
    assert page.evaluate("window.stays")


@pytest.mark.exhaustive("every act of a row")
def test_after_an_action_keys_continue_at_the_next_row(page: Page, nora: Api, five: list[dict[str, Any]]) -> None:
    page.goto(f"/inbox?v=open&sort=created&q=subject:{five[0]['word']}*")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("e")
    expect(page.locator(".list tbody tr")).to_have_count(4)
    row = page.locator("tr.current")
    expect(row).to_contain_text(f"{five[0]['word']} 2")
    expect(row.get_by_role("link").first).to_be_focused()


@pytest.mark.exhaustive("every act of a row")
def test_after_a_time_was_typed_keys_continue_at_the_next_row(
    page: Page, nora: Api, five: list[dict[str, Any]]
) -> None:
    page.goto(f"/inbox?v=open&sort=created&q=subject:{five[0]['word']}*")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("w")
    page.keyboard.type("+2 days")
    page.keyboard.press("Enter")
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
        expect(other.locator("#toasts")).to_contain_text("You cannot reply to this ticket.")
        other.keyboard.press("Escape")
        other.keyboard.press("R")
        expect(other.locator("#toasts")).to_contain_text("No macro is available for this ticket.")
        assert other.url.endswith(ticket["page"])
    page.goto("/inbox?v=open")
    page.keyboard.type("rc")
    expect(page.locator("#toasts")).to_contain_text("Select a row first")
    assert "/inbox" in page.url


@pytest.mark.exhaustive("every state of the line")
def test_the_reply_is_one_line_until_it_is_used(page: Page, nora: Api, ticket: dict[str, Any]) -> None:
    page.goto(ticket["page"])
    line, text = page.locator("#answer .line"), page.locator("#content")
    expect(line).to_contain_text("Reply to Ana Lund")
    expect(text).to_be_hidden()
    assert line.bounding_box()["height"] <= 48
    page.get_by_role("link", name="Reply to Ana Lund").click()
    expect(text).to_be_focused()
    expect(line).to_have_count(0)
    small = text.bounding_box()["height"]
    page.keyboard.type("It is on its way.\n" * 12)
    assert text.bounding_box()["height"] > small + 100
    expect(page.locator("[data-kept]")).to_have_text("Draft stored.")
    page.goto(ticket["page"])
    expect(page.locator("#content")).to_be_visible()


@pytest.mark.parametrize(
    ("key", "field", "kind"),
    [
        ("r", "#content", "Reply"),
        pytest.param("f", "#to", "Forward", marks=OTHERS),
        pytest.param("n", "#note", "Note", marks=OTHERS),
    ],
)
def test_a_key_opens_the_reply(page: Page, nora: Api, ticket: dict[str, Any], key: str, field: str, kind: str) -> None:
    page.goto(ticket["page"])
    expect(page.locator("#answer .line")).to_be_visible()
    page.keyboard.press(key)
    expect(page.locator(field)).to_be_focused()
    expect(page.locator("#answer .tabs [aria-current]")).to_have_text(kind)


@pytest.mark.exhaustive("without scripts")
def test_without_scripts_the_reply_is_open(
    chromium: Browser, nora_in_a_browser: Visitor, ticket: dict[str, Any]
) -> None:
    cookies = nora_in_a_browser.cookies
    with chromium.page(nora_in_a_browser.url, cookies=cookies, java_script_enabled=False) as page:
        page.goto(ticket["page"])
        expect(page.locator("#content")).to_be_visible()
        expect(page.locator("#answer .line")).to_be_hidden()


@pytest.mark.exhaustive("further uses of the line of recipients")
def test_a_reply_to_several_people_may_go_only_to_the_sender(page: Page, nora: Api) -> None:
    head = "From: Mira Lund <mira@kite.example>\nTo: bo@kite.example\nCc: cy@kite.example"
    made = nora.parse(f"{head}\nSubject: Sail\n\nIt is torn.\n").ok()
    page.goto(f"/tickets/{made['mask']}?answer=reply")
    everybody, only = page.get_by_role("button", name="Reply all"), page.get_by_role("button", name="Only to Mira Lund")
    sent = "form => [...new FormData(form)].filter(([name]) => ['to', 'cc'].includes(name)).map(([, text]) => text)"
    form, before = page.locator("form[data-writing]"), ["mira@kite.example", "bo@kite.example, cy@kite.example"]
    expect(everybody).to_have_attribute("aria-pressed", "true")
    assert form.evaluate(sent) == before
    only.press("Enter")
    expect(page.locator(".chips .chosen li")).to_have_text(["mira@kite.example✕"])
    assert form.evaluate(sent) == ["mira@kite.example", ""]
    assert violations(page, part="#answer") == []
    everybody.press("Enter")
    expect(page.locator(".chips .chosen li")).to_have_count(3)
    assert form.evaluate(sent) == before


def test_recipients_are_chips(page: Page, nora: Api, ticket: dict[str, Any]) -> None:
    page.goto(f"{ticket['page']}?answer=reply#answer")
    field, shown = page.locator("#to"), page.locator(".chips:has(#to) .chosen li")
    expect(shown).to_contain_text(["ana@kite.example"])
    field.fill('bo@kite.example, "Lund, Eva" <eva@kite.example>;')
    field.press_sequentially("cy@kite.example")
    field.press("Enter")
    expect(shown).to_have_count(4)
    expect(field).to_have_value("")
    field.press("ArrowLeft")
    expect(page.get_by_role("button", name="Remove cy@kite.example")).to_be_focused()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Delete")
    expect(page.get_by_role("button", name="Remove cy@kite.example")).to_be_focused()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Backspace")
    expect(field).to_have_value("cy@kite.example")
    field.press("Backspace")
    page.get_by_role("button", name="Remove bo@kite.example").click()
    sent = page.evaluate("new FormData(document.querySelector('form[data-writing]')).get('to')")
    assert sent == "ana@kite.example, cy@kite.exampl"
    assert violations(page, part="#answer") == []


@pytest.mark.exhaustive("a further moment of the chips")
def test_an_address_typed_while_its_line_becomes_chips_stays_whole(page: Page, ticket: dict[str, Any]) -> None:
    held: list[Route] = []
    intercept(page)
    page.route("**/chips.js", lambda route: held.append(route))
    with page.expect_request("**/chips.js"):
        page.goto(f"{ticket['page']}?answer=forward#answer", wait_until="commit")
    field = page.locator("#to")
    field.focus()
    page.keyboard.type("bo@")
    held[0].continue_()
    expect(page.locator(".chips:has(#to)")).to_be_visible()
    page.keyboard.type("kite.example")
    expect(field).to_have_value("bo@kite.example")


def test_an_emoji_and_an_article_are_inserted_at_the_caret(page: Page, nora: Api, ticket: dict[str, Any]) -> None:
    fields = {"title": f"Valve of {ticket['mask']}", "format": "markdown"}
    nora.create("kb_article", **fields, content="Close the *valve* first.").ok()
    page.goto(f"{ticket['page']}?answer=reply#answer")
    text = page.locator("#content")
    expect(page.locator("[data-tools]:not([inert])")).to_be_visible()
    page.keyboard.type("Hello and bye")
    text.evaluate("each => each.setSelectionRange(5, 5)")
    page.locator("[data-pick=emoji] summary").click()
    page.get_by_role("searchbox", name="Search emoji").fill("wave")
    page.get_by_role("button", name="wave").click()
    expect(text).to_have_value("Hello👋 and bye")
    expect(text).to_be_focused()
    page.keyboard.press("End")
    page.keyboard.type(" :heart")
    expect(page.get_by_role("option", name="heart", selected=True)).to_be_visible()
    page.keyboard.press("Enter")
    expect(text).to_have_value("Hello👋 and bye ❤️")
    page.keyboard.type("\n")
    page.locator("[data-pick=articles] summary").click()
    page.get_by_role("searchbox", name="Search articles").fill(ticket["mask"])
    expect(page.locator("[data-pick=articles] .picks button")).to_have_text(fields["title"])
    assert violations(page, part="#answer") == []
    page.keyboard.press("Enter")
    expect(text).to_have_value(f"Hello👋 and bye ❤️\n**{fields['title']}**\n\nClose the valve first.\n")


@pytest.mark.exhaustive("a walk through three tickets, also without scripts")
def test_the_last_button_is_the_first_next_time(
    chromium: Browser, visitor: Visitor, five: list[dict[str, Any]]
) -> None:
    """Also without scripts."""
    visitor.sign_in("milo@desk.example")
    buttons, more = "#answer .sends button[value]", "More ways to send"
    with chromium.page(visitor.url, cookies=visitor.cookies, java_script_enabled=False) as page:
        page.goto(f"/search/ticket?sort=created&q=subject:{five[0]['word']}*")
        page.get_by_role("link", name=f"{five[0]['word']} 0").click()
        expect(page.locator(buttons).first).to_have_text("Send and next")
        page.locator("#content").fill("Closed for you.")
        page.get_by_label(more).click()
        page.get_by_role("button", name="Send and close").click()
        expect(page.locator("h1")).to_have_text(f"{five[0]['word']} 1")
        expect(page.locator(buttons).first).to_have_text("Send and close")
    with chromium.page(visitor.url, cookies=visitor.cookies) as page:
        page.goto(f"{five[1]['page']}?answer=reply#answer")
        expect(page.locator("#content")).to_be_focused()
        expect(page.locator(buttons).first).to_have_text("Send and close")
        page.keyboard.type("It is on its way.")
        page.get_by_label(more).click()
        assert page.locator("#answer .joined .item[name=do]").all_inner_texts() == [
            "Send and wait",
            "Send",
            "Save without sending",
        ]
        page.locator("#content").press("Control+Enter")
        expect(page.locator("#ticket-head .badge").first).to_contain_text("closed")


def test_the_seconds_until_sending_are_counted_down(page: Page, nora: Api, ticket: dict[str, Any]) -> None:
    page.goto(f"{ticket['page']}?answer=reply#answer")
    expect(page.locator("#content")).to_be_focused()
    page.keyboard.type("Too early")
    page.keyboard.press("Control+Enter")
    toast = page.locator("#toasts .toast")
    expect(toast.locator("[aria-hidden]")).to_have_text(re.compile("^Sending in [1-8] s$"))
    expect(toast.get_by_role("button", name="Undo")).to_be_visible()
    toast.evaluate("each => (each.dataset.until = Date.now())")
    expect(toast).to_have_count(0)


@pytest.mark.exhaustive("selection by keys is tested in test_worklist.py")
def test_rows_are_selected_while_moving(page: Page, nora: Api, five: list[dict[str, Any]]) -> None:
    page.goto(f"/inbox?v=open&sort=created&q=subject:{five[0]['word']}*")
    for key in ("j", "x", "Shift+J", "Shift+J", "Shift+J", "Shift+J", "e"):
        page.keyboard.press(key)
    expect(page.locator("#toasts")).to_contain_text("5 tickets closed.")
    assert nora.found("ticket", f"subject:{five[0]['word']}* status:closed") == [each["id"] for each in five]
