"""A day's support in a browser, by keyboard alone: what somebody does who answers tickets. Source: ours."""

import email
import re
from collections.abc import Iterator
from email.message import EmailMessage, Message
from email.policy import default as policy
from pathlib import Path
from typing import Any, cast

import pytest
from playwright.sync_api import Page, expect

from tests.console.browser import Browser, sign_in, violations
from tests.console.visitor import Visitor
from tests.service import PASSWORD, Server, people
from tests.smtp_server import SmtpServer

TICKETS = 12


class DeskOfMilo:
    """A service that sends by a real mail server, with mail that has come in. Milo works there."""

    def __init__(self, folder: Path, smtp: SmtpServer) -> None:
        self.server = Server(folder / "data", env={
            "HELPDESK_UNDO_SEND_SECONDS": "0", "HELPDESK_NOTIFICATION_MAIL": "mentioned",
            "HELPDESK_NOTIFICATION_MAIL_SECONDS": "0",
        })  # fmt: skip
        self.smtp = smtp
        self.nora = self.server.set_up()
        people(self.nora)
        self.nora.update("worker", self.nora.ids["milo"], password=PASSWORD).ok()
        params = {"host": smtp.host, "port": str(smtp.port), "encryption": "none"}
        self.nora.create("mail_transport", name="Out", extension_id="core.mail.transport.smtp", params=params).ok()
        self.nora.create("snippet", title="Thanks", content="Thank you for {{subject}}.", context="ticket",
                         owner__context="app", owner_id=0).ok()  # fmt: skip
        self.masks = [self._mailed(number) for number in range(TICKETS)]

    def _mailed(self, number: int) -> str:
        raw = (
            f"From: Ana {number} <ana{number}@kite.example>\nTo: support@desk.example\n"
            f"Subject: Pump {number} leaks\n\nIt leaks at the flange{number}.\n"
        )
        return str(self.nora.parse(raw).ok()["mask"])

    def ticket(self, mask: str) -> dict[str, Any]:
        [found] = self.nora.search("ticket", f"mask:{mask}", expand="owner_").ok()["results"]
        return cast("dict[str, Any]", found)

    def sent(self) -> Message:
        """The next mail that left."""
        return email.message_from_bytes(self.smtp.take()[2], policy=policy)


@pytest.fixture(scope="module")
def milos(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DeskOfMilo]:
    with SmtpServer() as smtp:
        made = DeskOfMilo(tmp_path_factory.mktemp("day"), smtp)
        yield made
        assert made.server.stop() == 0


@pytest.fixture(scope="module")
def page(chromium: Browser, milos: DeskOfMilo) -> Iterator[Page]:
    with chromium.page(milos.server.url) as opened:
        sign_in(opened, "milo@desk.example")
        yield opened


def told(page: Page, text: str) -> None:
    expect(page.locator("#toasts")).to_contain_text(text)


def opened(page: Page, milos: DeskOfMilo, number: int) -> str:
    """Go to a ticket by Ctrl+K and its mask; answers the mask."""
    mask = milos.masks[number]
    page.keyboard.press("Escape")
    page.keyboard.press("Control+k")
    page.keyboard.type(mask)
    expect(page.locator("#jump [role=option]").first).to_contain_text(mask)
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/tickets/{mask}")
    return mask


def parts_of(mail: Message) -> dict[str, str]:
    """{content type: text} of a mail, files by their name."""
    found = {}
    for part in cast("EmailMessage", mail).walk():
        if not part.is_multipart():
            found[part.get_filename() or part.get_content_type()] = str(cast("EmailMessage", part).get_content())
    return found


def test_the_day_begins_in_the_inbox_with_five_unassigned_tickets(page: Page, milos: DeskOfMilo) -> None:
    expect(page).to_have_url(re.compile("/inbox$"))
    page.goto("/inbox?v=unassigned&sort=created")
    for _ in range(5):
        page.keyboard.press("j")
        page.keyboard.press("x")
    page.keyboard.press("i")
    told(page, "5 records: done.")
    owned = milos.nora.search("ticket", "owner.id:>0").ok()["total"]
    assert owned == 5
    page.goto("/inbox")
    expect(page.locator(".views a").first).to_contain_text("5")
    assert violations(page) == []


def test_an_answer_leaves_with_a_snippet_and_a_file_as_the_preview_shows_it(page: Page, milos: DeskOfMilo) -> None:
    mask = opened(page, milos, 0)
    page.keyboard.press("r")
    expect(page.locator("#content")).to_be_focused()
    page.keyboard.type("Hello **Ana**,\n:th")
    expect(page.get_by_role("option", name="Thanks", selected=True)).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.locator("#content")).to_have_value("Hello **Ana**,\nThank you for Pump 0 leaks.")
    page.locator("#files").set_input_files([{"name": "drawing.txt", "mimeType": "text/plain", "buffer": b"A drawing."}])
    expect(page.get_by_role("checkbox", name="drawing.txt")).to_be_checked()
    expect(page.locator("[data-kept]")).to_have_text("Kept as a draft.")
    draft = page.locator("[name=draft]").input_value()
    shown = page.request.get(f"/drafts/{draft}/preview").text()
    page.locator("#content").focus()
    page.keyboard.press("Control+Enter")
    told(page, "Sent.")
    found = parts_of(milos.sent())
    assert "<strong>Ana</strong>" in found["text/html"] and found["text/html"].replace("\r\n", "\n").strip() in shown
    assert found["drawing.txt"] == "A drawing."
    assert milos.ticket(mask)["status"] == "waiting"
    assert milos.nora.search("draft", "").ok()["total"] == 0, "the draft went with the mail"


def test_a_ticket_waits_until_a_time_in_words_and_is_noted(page: Page, milos: DeskOfMilo) -> None:
    mask = opened(page, milos, 1)
    page.keyboard.press("w")
    page.keyboard.type("mon 9am")
    expect(page.locator("#panel .understood[for=wait-until]")).to_contain_text("Mon")
    page.keyboard.press("Enter")
    told(page, "Ticket waits.")
    ticket = milos.ticket(mask)
    assert ticket["status"] == "waiting" and ticket["reopen_at"] > ticket["created"]
    page.keyboard.press("Escape")
    page.keyboard.press("n")
    page.wait_for_url("**answer=note**")
    expect(page.locator("#note")).to_be_focused()
    page.keyboard.type("@ol")
    expect(page.get_by_role("option", name="@olga")).to_be_visible()
    assert violations(page) == []
    page.keyboard.press("Enter")
    page.keyboard.type("can you look?")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#thread")).to_contain_text("@olga can you look?")
    noticed = milos.nora.search("notification", f"worker.id:{milos.nora.ids['olga']}").ok()["results"]
    assert len(noticed) == 1


def test_the_colleague_answers_by_mail_and_the_note_is_on_the_ticket(page: Page, milos: DeskOfMilo) -> None:
    told_olga = cast("EmailMessage", milos.sent())
    assert told_olga["To"] == "olga@desk.example" and "@olga can you look?" in told_olga.get_content()
    quoted = "".join(f"> {line}\n" for line in told_olga.get_content().splitlines())
    milos.nora.parse(
        f"From: Olga <olga@desk.example>\nTo: {told_olga['From']}\nSubject: Re: {told_olga['Subject']}\n"
        f"In-Reply-To: {told_olga['Message-ID']}\n\nThe flange is too old.\n\nMilo Test wrote:\n{quoted}"
    ).ok()
    opened(page, milos, 1)
    expect(page.locator("#thread")).to_contain_text("The flange is too old.")
    expect(page.locator("#thread")).not_to_contain_text("Write above this line")
    assert len(milos.smtp.messages) == 2, "a note goes to nobody but who is named in it"


def test_two_tickets_of_one_matter_become_one(page: Page, milos: DeskOfMilo) -> None:
    first, second = milos.masks[2], milos.masks[3]
    opened(page, milos, 3)
    page.keyboard.press("M")
    page.wait_for_url("**/merge")
    page.keyboard.type(first)
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/tickets/{first}")
    told(page, "The tickets are one now")
    assert milos.ticket(second)["status"] == "deleted"
    expect(page.locator("#thread article")).to_have_count(2)


def test_a_new_customer_is_written_to_later(page: Page, milos: DeskOfMilo) -> None:
    page.keyboard.press("Escape")
    page.keyboard.press("g")
    page.keyboard.press("n")
    page.wait_for_url("**/compose")
    page.locator("#to").focus()
    page.keyboard.type("bo@new.example")
    page.locator("#subject").focus()
    page.keyboard.type("Your order")
    page.locator("#content").focus()
    page.keyboard.type("It is on its way.")
    page.locator("details.more summary").last.press("Enter")
    page.locator("#send_at").focus()
    page.keyboard.type("tomorrow 9am")
    expect(page.locator("details.more .understood").last).to_contain_text("9:00")
    page.keyboard.press("Control+Enter")
    page.wait_for_url("**/inbox")
    told(page, "It will be sent at the time you chose.")
    [draft] = milos.nora.search("draft", "type:mail.compose").ok()["results"]
    assert draft["name"] == "Your order"
    page.keyboard.press("z")
    page.wait_for_url("**/compose")
    expect(page.locator("#content")).to_have_value("It is on its way.")
    page.get_by_role("button", name="Discard").press("Enter")
    page.wait_for_url("**/inbox")


def test_a_ticket_is_found_by_a_word_of_its_messages(page: Page, milos: DeskOfMilo) -> None:
    page.keyboard.press("Control+k")
    page.keyboard.type("flange7")
    expect(page.locator("#jump [role=option]").first).to_contain_text("Pump 7 leaks")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/tickets/{milos.masks[7]}")


def test_a_mistaken_bulk_close_is_undone_ticket_by_ticket(page: Page, milos: DeskOfMilo) -> None:
    def states() -> dict[str, tuple[str, int]]:
        found = milos.nora.search("ticket", "", limit=50).ok()["results"]
        return {each["mask"]: (each["status"], each["reopen_at"]) for each in found}

    before = states()
    page.goto("/search/ticket?q=status:![deleted]")
    page.locator("[data-all]").press("Space")
    page.keyboard.press("Escape")
    page.keyboard.press("e")
    told(page, "records: done.")
    assert {state for mask, (state, _) in states().items() if mask != milos.masks[3]} == {"closed"}
    page.keyboard.press("z")
    expect(page.locator("#toasts")).not_to_contain_text("Undo")
    page.wait_for_load_state()
    assert states() == before


def test_the_list_is_taken_out_as_a_file(page: Page, milos: DeskOfMilo) -> None:
    page.goto("/inbox?v=open")
    page.locator(".tools .menu summary").press("Enter")
    with page.expect_download() as found:
        page.get_by_role("link", name="Export CSV").press("Enter")
    rows = found.value.path().read_text("utf-8").splitlines()
    assert rows[0].startswith("id,") and len(rows) > TICKETS / 2


def test_the_tickets_of_a_list_are_gone_through_one_after_another(page: Page, milos: DeskOfMilo) -> None:
    page.goto("/inbox?v=open&sort=created")
    page.keyboard.press("j")
    page.keyboard.press("o")
    page.wait_for_url("**/tickets/**")
    first = page.url
    page.keyboard.press("]")
    page.wait_for_url(lambda url: url != first)
    expect(page.locator(".beside")).to_contain_text("2 of")
    page.keyboard.press("[")
    expect(page.locator(".beside")).to_contain_text("1 of")
    beside = page.get_by_role("navigation", name="List beside the ticket")
    expect(beside).to_be_hidden()
    page.set_viewport_size({"width": 1700, "height": 900})
    expect(beside.get_by_role("link").nth(1)).to_have_attribute("aria-current", "page")
    assert violations(page) == []
    beside.get_by_role("link").nth(3).click()
    expect(page.locator(".beside")).to_contain_text("3 of")
    page.set_viewport_size({"width": 1280, "height": 800})
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_contain_text("Reply")
    page.keyboard.press("Escape")


def test_what_a_ticket_is_linked_to_is_chosen_while_typing(page: Page, milos: DeskOfMilo) -> None:
    milos.nora.create("task", title="Order a flange").ok()
    opened(page, milos, 4)
    page.get_by_text("Add a link").press("Enter")
    page.locator("#link-type").fill("Task")
    page.get_by_role("option", name="Task", exact=True).click()
    page.locator("#link-record").press_sequentially("flan")
    expect(page.get_by_role("option", name="Order a flange")).to_be_visible()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Add", exact=True).press("Enter")
    expect(page.locator("#links .people")).to_contain_text("Order a flange")


def test_what_a_mail_quotes_is_folded_in_its_frame(page: Page, milos: DeskOfMilo) -> None:
    html = "Content-Type: text/html\n\n<p>Thank you.</p><blockquote>What I wrote <b>before</b></blockquote>\n"
    head = "From: ana@kite.example\nTo: support@desk.example\nSubject: Quoting\nMIME-Version: 1.0\n"
    mask = milos.nora.parse(f"{head}{html}").ok()["mask"]
    page.goto(f"/tickets/{mask}")
    mail = page.frame_locator("iframe.mail").first
    expect(mail.get_by_text("Thank you.")).to_be_visible()
    expect(mail.get_by_text("What I wrote before")).to_be_hidden()
    mail.locator("summary").click()
    expect(mail.get_by_text("What I wrote before")).to_be_visible()


def test_two_people_on_one_ticket_see_each_other_and_keep_their_words(
    chromium: Browser, page: Page, milos: DeskOfMilo
) -> None:
    mask = milos.masks[8]
    visitor = Visitor(milos.server.url)
    visitor.sign_in()
    page.goto(f"/tickets/{mask}")
    with chromium.page(milos.server.url, cookies=visitor.cookies) as other:
        other.goto(f"/tickets/{mask}")
        expect(page.locator("[data-present]")).to_contain_text("Nora")
        expect(other.locator("[data-present]")).to_contain_text("Milo")
        page.locator("#content").fill("My words stay.")
        expect(other.locator("[data-present]")).to_contain_text("writing")
        expect(page.locator("[data-kept]")).to_have_text("Kept as a draft.")
        other.get_by_role("button", name="Close", exact=True).first.click()
        expect(page.locator("#ticket-head .badge")).to_contain_text("closed")
        expect(page.locator("#content")).to_have_value("My words stay.")
        expect(other.locator("#thread")).to_contain_text("My words stay.")
    page.reload()
    expect(page.locator("#content")).to_have_value("My words stay.")
    assert violations(page) == []
