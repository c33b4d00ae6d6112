"""Two browsers on one ticket, through every clash: what one worker does while the other writes."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.console.browser import Browser, violations
from tests.console.test_once import replies
from tests.console.test_ticket_trials import mailed
from tests.console.test_tickets import ticket
from tests.console.visitor import Visitor
from tests.service import Api, Server

__all__ = ["ticket"]
pytestmark = pytest.mark.exhaustive("two browsers, of which each act has a test of its own")

WORDS = "It is on its way."
Ticket = dict[str, Any]


@pytest.fixture
def milo(chromium: Browser, server: Server, visitor: Visitor) -> Iterator[Page]:
    """A page of Milo, beside the one of Nora."""
    assert visitor.sign_in("milo@desk.example").status_code == 303
    with chromium.page(server.url, cookies=visitor.cookies, refused="status of 409") as opened:
        yield opened


@pytest.fixture
def page(chromium: Browser, server: Server, signed_in: Visitor) -> Iterator[Page]:
    with chromium.page(server.url, cookies=signed_in.cookies, refused="status of 409") as opened:
        yield opened


def write(page: Page, ticket: Ticket, kind: str = "reply", words: str = WORDS) -> None:
    """Begins a reply or a note, as a worker who has not sent it yet."""
    page.goto(f"{ticket['page']}?answer={kind}")
    field = page.locator("#note" if kind == "note" else "#content")
    field.focus()
    page.keyboard.type(words)
    stored = page.locator(".note-form > .help").last if kind == "note" else page.locator("[data-kept]")
    expect(stored).to_contain_text(re.compile("stored", re.IGNORECASE))


def send(page: Page) -> None:
    page.locator("#content").press("Control+Enter")


def look_away(page: Page) -> None:
    """Puts the page into a tab in the background: what arrives there counts as unseen, however long it takes."""
    page.evaluate("Object.defineProperty(document, 'hidden', { get: () => true })")


def expect_sent(page: Page, nora: Api, ticket: Ticket, count: int = 1) -> None:
    expect(page.locator("#toasts")).to_contain_text("Sending in")
    assert replies(nora, ticket) == count


def expect_question(page: Page, words: str) -> None:
    """The reply has stopped, shows what is new, and still has its text."""
    notice = page.locator("#unseen")
    expect(notice).to_contain_text("Not sent yet: somebody wrote on this ticket while you were writing.")
    expect(notice).to_contain_text(words)
    expect(notice).to_be_focused()
    expect(page.locator("#content")).to_have_value(re.compile(WORDS))


def press(page: Page, act: str) -> None:
    """Presses a button of the bar below a list, which may be in its menu."""
    button = page.locator(f".bulk button[name=do][value={act}]")
    if not button.is_visible():
        page.locator(".bulk .menu summary").click()
    button.click()


def expect_dialog(page: Page, words: str) -> None:
    """The page asks in a dialog, in which Enter goes on."""
    dialog = page.locator("#confirm")
    expect(dialog).to_contain_text(words)
    expect(dialog.locator("[value=yes]")).to_be_focused()


def test_a_message_of_the_customer_stops_a_reply_once(page: Page, nora: Api, ticket: Ticket) -> None:
    write(page, ticket)
    look_away(page)
    head = f"From: ana@kite.example\nTo: support@desk.example\nSubject: Re: [#{ticket['mask']}] Pump\n"
    nora.parse(f"{head}\nIt stopped by itself.\n").ok()
    send(page)
    expect_question(page, "It stopped by itself.")
    page.get_by_role("button", name="Send anyway").click()
    expect_sent(page, nora, ticket)


@pytest.mark.parametrize("kind", ["reply", "note"])
def test_a_reply_or_note_of_a_colleague_stops_a_reply_once(
    page: Page, milo: Page, nora: Api, ticket: Ticket, kind: str
) -> None:
    write(page, ticket)
    write(milo, ticket, kind, "A flange is missing.")
    expect(page.locator("[data-present]")).to_contain_text(f"Milo Test is writing a {kind}")
    look_away(page)
    milo.keyboard.press("Control+Enter")
    expect(milo.locator("#toasts")).to_contain_text("Note added." if kind == "note" else "Sending in")
    send(page)
    expect_question(page, "A flange is missing.")
    before = replies(nora, ticket)
    page.get_by_role("button", name="Send anyway").click()
    expect_sent(page, nora, ticket, before + 1)


def test_a_queued_reply_that_its_writer_takes_back_stops_nothing(
    page: Page, milo: Page, nora: Api, ticket: Ticket
) -> None:
    write(page, ticket)
    write(milo, ticket, words="A flange is missing.")
    send(milo)
    expect(milo.locator("#toasts")).to_contain_text("Sending in")
    expect(page.locator("#thread")).to_contain_text("A flange is missing.")
    milo.get_by_role("button", name=re.compile("^(Undo|Cancel sending)$")).first.click()
    expect(milo.locator("#content")).to_have_value(re.compile("A flange is missing."))
    expect(milo.locator("#toasts")).to_contain_text("Sending cancelled. Your draft is back.")
    send(page)
    expect_sent(page, nora, ticket)


def test_a_reply_for_later_stops_another_reply_once(page: Page, milo: Page, nora: Api, ticket: Ticket) -> None:
    write(page, ticket)
    write(milo, ticket, words="A flange is missing.")
    milo.locator("#content").press("Control+Shift+Enter")
    milo.keyboard.type("tomorrow 9am")
    milo.keyboard.press("Control+Enter")
    expect(milo.locator("#toasts")).to_contain_text("It will be sent at the time you chose.")
    send(page)
    expect_question(page, "A flange is missing.")


def test_the_owner_changes_while_a_colleague_writes_only_on_purpose(
    page: Page, milo: Page, nora: Api, ticket: Ticket
) -> None:
    page.goto(ticket["page"])
    write(milo, ticket)
    expect(page.locator("[data-present]")).to_contain_text("Milo Test is writing a reply")
    page.keyboard.press("i")
    expect_dialog(page, "Milo Test is writing a reply. Change the owner anyway?")
    assert nora.record("ticket", ticket["id"])["owner_id"] == 0
    page.locator("#confirm").get_by_role("button", name="Change the owner").click()
    expect(page.locator("#toasts")).to_contain_text("Assigned to you.")
    expect(milo.locator("#ticket-head .owner")).to_contain_text("Nora Berg")
    expect(milo.locator("#content")).to_have_value(re.compile(WORDS))


@pytest.mark.parametrize("kind", ["reply", "note"])
def test_closing_asks_while_a_colleague_writes(page: Page, milo: Page, nora: Api, ticket: Ticket, kind: str) -> None:
    page.goto(ticket["page"])
    write(milo, ticket, kind)
    expect(page.locator("[data-present]")).to_contain_text(f"Milo Test is writing a {kind}")
    page.keyboard.press("e")
    expect_dialog(page, f"Milo Test is writing a {kind}. Close anyway?")
    assert violations(page, part="#confirm") == []
    page.keyboard.press("Escape")
    expect(page.locator("#confirm")).to_be_hidden()
    assert nora.record("ticket", ticket["id"])["status"] == "open"
    page.locator("#ticket-head").get_by_role("button", name="Close", exact=True).click()
    expect_dialog(page, f"Milo Test is writing a {kind}. Close anyway?")
    page.keyboard.press("Enter")
    expect(milo.locator("#ticket-head .badge")).to_contain_text("closed")
    field = milo.locator("#note" if kind == "note" else "#content")
    expect(field).to_have_value(re.compile(WORDS))
    expect(field).to_be_focused()
    if kind == "reply":
        send(milo)
        expect_sent(milo, nora, ticket)
        assert nora.record("ticket", ticket["id"])["status"] == "waiting"


def test_closing_on_purpose_opens_the_next_ticket_and_can_be_undone(page: Page, milo: Page, nora: Api) -> None:
    word = "Interrupted"
    tickets = [mailed(nora, f"{word} {number}") for number in range(2)]
    write(milo, tickets[0])
    page.goto(f"/inbox?v=open&sort=created&q=subject:{word}*")
    page.locator("#list tbody a").first.click()
    expect(page.locator("[data-present]")).to_contain_text("Milo Test is writing a reply")
    page.wait_for_load_state()  # keys do nothing before the scripts have run
    page.keyboard.press("Control+k")
    page.keyboard.type("close")
    expect(page.locator("#jump [role=option]").first).to_contain_text("Close")
    page.keyboard.press("Enter")
    expect_dialog(page, "Milo Test is writing a reply. Close anyway?")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(f"/tickets/{tickets[1]['mask']}"))
    assert nora.record("ticket", tickets[0]["id"])["status"] == "closed"
    page.keyboard.press("z")
    expect(page.locator("#toasts")).to_contain_text("Undone.")
    assert nora.record("ticket", tickets[0]["id"])["status"] == "open"


@pytest.mark.parametrize(("act", "verb", "status"), [
    ("close", "Close anyway", "closed"), ("delete", "Delete anyway", "deleted"), ("spam", "Delete anyway", "deleted"),
])  # fmt: skip
def test_closing_or_deleting_several_says_on_how_many_a_colleague_writes(
    page: Page, milo: Page, nora: Api, act: str, verb: str, status: str
) -> None:
    word = f"Several{act}"
    tickets = [mailed(nora, f"{word} {number}") for number in range(3)]
    write(milo, tickets[1])
    page.goto(f"/inbox?v=open&sort=created&q=subject:{word}*")
    expect(page.locator("#list tbody tr").nth(1)).to_contain_text("Milo Test is writing a reply")
    for number in range(3):
        page.locator("#list tbody input[name='ids[]']").nth(number).click()
    press(page, act)
    question = f"Colleagues are writing on 1 of the 3 selected tickets: “{word} 1” (Milo Test is writing a reply)."
    expect_dialog(page, question)
    page.locator("#confirm").get_by_role("button", name="Cancel").click()
    expect(page.locator("#list tbody input:checked")).to_have_count(3)  # nothing was done, and the selection stays
    press(page, act)
    page.locator("#confirm").get_by_role("button", name=verb).click()
    expect(page.locator("#list tbody tr")).to_have_count(0)
    assert {nora.record("ticket", each["id"])["status"] for each in tickets} == {status}
    page.keyboard.press("z")
    expect(page.locator("#list tbody tr")).to_have_count(3)
    assert {nora.record("ticket", each["id"])["status"] for each in tickets} == {"open"}


@pytest.mark.parametrize("follows", [True, False], ids=["from the other ticket", "from the page that was open"])
def test_merging_takes_the_words_of_a_colleague_along(page: Page, milo: Page, nora: Api, follows: bool) -> None:
    older, newer = (mailed(nora, f"Clash of {name} {follows}") for name in ("pipes", "valves"))
    write(milo, newer)
    page.goto(newer["page"])
    expect(page.locator("[data-present]")).to_contain_text("Milo Test is writing a reply")
    page.keyboard.press("Shift+M")
    expect(page.get_by_label("Merge with (number or words)")).to_be_focused()
    page.keyboard.type(older["mask"])
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Merge", exact=True)).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#toasts")).to_contain_text("Merged into")
    expect(milo.locator("#news")).to_contain_text("This ticket was merged into another one.")
    expect(milo.locator("#content")).to_have_value(re.compile(WORDS))
    if follows:
        milo.locator("#news").get_by_role("link", name="Show").click()
        expect(milo).to_have_url(re.compile(older["mask"]))
        expect(milo.locator("#content")).to_have_value(re.compile(WORDS))
    send(milo)
    if not follows:
        expect_question(milo, "Messages from another ticket were merged into this one.")
        milo.get_by_role("button", name="Send anyway").click()
    expect_sent(milo, nora, older)


def test_deleting_leaves_a_colleague_the_words(page: Page, milo: Page, nora: Api, ticket: Ticket) -> None:
    page.goto(ticket["page"])
    write(milo, ticket)
    expect(page.locator("[data-present]")).to_contain_text("Milo Test is writing a reply")
    page.keyboard.press("#")
    expect_dialog(page, "Milo Test is writing a reply. Delete anyway?")
    page.keyboard.press("Enter")
    expect(milo.locator("#ticket-head")).to_contain_text("This ticket is deleted.")
    expect(milo.locator("#content")).to_have_value(re.compile(WORDS))
    send(milo)
    expect_sent(milo, nora, ticket)
    assert nora.record("ticket", ticket["id"])["status"] == "waiting"
