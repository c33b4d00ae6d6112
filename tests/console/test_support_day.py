"""A day's support in a browser, by keyboard alone: the work of somebody who replies to tickets."""

import email
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from email.message import EmailMessage, Message
from email.policy import default as policy
from pathlib import Path
from typing import Any, cast

import pytest
from playwright.sync_api import Download, Locator, Page, expect

from tests.api.post import text_of
from tests.console.browser import Browser, sign_in, violations
from tests.console.visitor import Visitor
from tests.records.desk import Desk
from tests.service import PASSWORD, Api, Server, people
from tests.smtp_server import SmtpServer
from tests.telling import WALK

pytestmark = pytest.mark.exhaustive("a walk through pages that have tests of their own")

TICKETS, LAST_WEEK = 12, 7
WEEK = 7 * 86400


SETTINGS = {
    "HELPDESK_UNDO_SEND_SECONDS": "0", "HELPDESK_NOTIFICATION_MAIL": "mentioned",
    "HELPDESK_NOTIFICATION_MAIL_SECONDS": "0",
}  # fmt: skip


class DeskOfMilo:
    """A service with a real mail server and received mail, where Milo works."""

    def __init__(self, data: Path, url: str, nora: Api, smtp: SmtpServer) -> None:
        """data: the folder of a service that runs with SETTINGS. url: its address. nora: its administrator's client."""
        self.data, self.url, self.nora, self.smtp = data, url, nora, smtp
        people(self.nora)
        self.nora.update("worker", self.nora.ids["milo"], password=PASSWORD).ok()
        params = {"host": smtp.host, "port": str(smtp.port), "encryption": "none"}
        self.nora.create("mail_transport", name="Out", extension_id="core.mail.transport.smtp", params=params).ok()
        self.nora.create("snippet", title="Thanks", content="Thank you for {{subject}}.", context="ticket",
                         owner__context="app", owner_id=0).ok()  # fmt: skip
        self.masks = [self._mailed(number) for number in range(TICKETS)]
        self._came(LAST_WEEK)

    def _mailed(self, number: int) -> str:
        raw = (
            f"From: Ana {number} <ana{number}@kite.example>\nTo: support@desk.example\n"
            f"Subject: Pump {number} leaks\n\nIt leaks at the {'gasket' if number == LAST_WEEK else 'flange'}.\n"
        )
        return str(self.nora.parse(raw).ok()["mask"])

    def _came(self, number: int) -> None:
        """Moves the creation of a ticket a week into the past."""
        id, desk = self.ticket(self.masks[number])["id"], Desk(self.data)
        try:
            for table, column in (("ticket", "id"), ("message", "ticket_id")):
                change = f"UPDATE {table} SET created = created - {WEEK} WHERE {column} = {id}"
                desk.store.write(lambda tx, change=change: tx.connection.execute(change))
        finally:
            desk.close()

    def ticket(self, mask: str) -> dict[str, Any]:
        [found] = self.nora.search("ticket", f"mask:{mask}", expand="owner_").ok()["results"]
        return cast("dict[str, Any]", found)

    def sent(self) -> Message:
        """Returns the next mail that was sent."""
        return email.message_from_bytes(self.smtp.take()[2], policy=policy)


@pytest.fixture(scope="module")
def milos(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DeskOfMilo]:
    with SmtpServer() as smtp:
        server = Server(tmp_path_factory.mktemp("day") / "data", env=SETTINGS)
        yield DeskOfMilo(server.data, server.url, server.set_up(), smtp)
        assert server.stop() == 0


@pytest.fixture(scope="module")
def page(chromium: Browser, milos: DeskOfMilo) -> Iterator[Page]:
    with chromium.page(milos.url) as opened:
        sign_in(opened, "milo@desk.example")
        yield opened


def expect_toast(page: Page, text: str) -> None:
    expect(page.locator("#toasts")).to_contain_text(text)


class Hands:
    """A person with only a keyboard. counted: the keys pressed since `count`, without typed text."""

    def __init__(self, page: Page) -> None:
        self.page, self.counted = page, 0

    def count(self) -> None:
        self.counted = 0

    def press(self, *keys: str) -> None:
        for key in keys:
            self.counted += 1
            self.page.keyboard.press(key)

    def say(self, text: str) -> None:
        """Types text, which is the same work in any helpdesk."""
        self.page.keyboard.type(text)

    def jump(self, text: str, first: str) -> None:
        """Jumps to the first result of Ctrl+K."""
        self.press("Control+k")
        self.say(text)
        expect(self.page.locator("#jump [role=option]").first).to_contain_text(first)
        self.press("Enter")

    def reach(self, target: Locator, back: bool = False, most: int = 80) -> None:
        """Moves the focus to a control by Tab alone."""
        for _ in range(most):
            if target.evaluate("each => each === document.activeElement"):
                return
            self.press("Shift+Tab" if back else "Tab")
        raise AssertionError(f"{target} is not reached by {most} times Tab")


def opened(page: Page, milos: DeskOfMilo, number: int) -> str:
    """Opens a ticket by Ctrl+K and its mask; returns the mask."""
    mask = milos.masks[number]
    page.keyboard.press("Escape")
    Hands(page).jump(mask, mask)
    page.wait_for_url(f"**/tickets/{mask}")
    return mask


def parts_of(mail: Message) -> dict[str, str]:
    """Returns {content type: text} of a mail, files by their name."""
    found = {}
    for part in cast("EmailMessage", mail).walk():
        if not part.is_multipart():
            found[part.get_filename() or part.get_content_type()] = str(cast("EmailMessage", part).get_content())
    return found


@WALK
def test_a_day_at_the_desk_by_keyboard_alone(chromium: Browser, milos: DeskOfMilo, tmp_path: Path) -> None:
    """The whole day, step by step. Every key is pressed by Hands, nothing is clicked, no address is typed."""
    with chromium.page(milos.url) as page:
        page.on("filechooser", lambda chooser: None)  # installed early: at the key it would be too late
        a_day(page, milos, tmp_path)


def a_day(page: Page, milos: DeskOfMilo, folder: Path, noon: Callable[[], object] = lambda: None) -> None:
    """noon: called in the middle of the day."""
    drawing = folder / "drawing.txt"
    drawing.write_text("A drawing.")
    hands = Hands(page)
    _sign_in(page, hands)
    _take_five_unassigned(page, hands, milos)
    for number in (0, 1):
        _answer(page, hands, milos, number, drawing)
    _let_one_wait(page, hands, milos)
    _merge_two(page, hands, milos)
    noon()
    _mention_a_colleague(page, hands, milos)
    _write_to_a_new_customer_later(page, hands, milos)
    _find_one_of_last_week(page, hands, milos)
    _undo_a_mistaken_bulk_close(page, hands, milos)
    _export_the_list(page, hands)


def _sign_in(page: Page, hands: Hands) -> None:
    page.goto("/login")
    hands.reach(page.locator("#email"))
    hands.say("milo@desk.example")
    hands.press("Tab")
    hands.say(PASSWORD)
    hands.press("Enter")
    page.wait_for_url("**/inbox")


def _take_five_unassigned(page: Page, hands: Hands, milos: DeskOfMilo) -> None:
    hands.jump("unassigned", "Unassigned")
    page.wait_for_url("**/inbox?v=unassigned")
    hands.count()
    for _ in range(5):
        hands.press("j", "x")
    hands.press("i")
    expect_toast(page, "5 tickets assigned to you.")
    assert hands.counted == 11
    hands.press("g", "i")
    page.wait_for_url("**/inbox")
    expect_taken(page, milos)
    assert violations(page) == []


def expect_taken(page: Page, milos: DeskOfMilo) -> None:
    """Milo has five tickets, and his list says so."""
    assert milos.nora.search("ticket", f"owner.id:{milos.nora.ids['milo']}").ok()["total"] == 5
    expect(page.locator(".rail [data-view=mine]")).to_have_text("5")


def _answer(page: Page, hands: Hands, milos: DeskOfMilo, number: int, file: Path) -> None:
    """Replies with a snippet and a file; the mail that arrives equals the preview."""
    mask = opened(page, milos, number)
    hands.count()
    hands.press("r")
    expect(page.locator("#content")).to_be_focused()
    hands.say("Hello **Ana**,\n:th")
    expect(page.get_by_role("option", name="Thanks", selected=True)).to_be_visible()
    hands.press("Enter")
    expect(page.locator("#content")).to_have_value(f"Hello **Ana**,\nThank you for Pump {number} leaks.")
    keys = hands.counted
    hands.reach(page.locator("#files"), back=True)
    with page.expect_file_chooser() as chooser:
        expect(page.locator("#files")).to_be_focused()
        hands.press("Space")
    chooser.value.set_files(file)
    expect(page.get_by_role("checkbox", name="drawing.txt")).to_be_checked()
    expect(page.locator("[data-kept]")).to_have_text("Draft stored.")
    shown = preview_of(page)
    hands.press("Control+Enter")
    expect_toast(page, "Sent.")
    assert keys == 2
    expect_mail(milos, mask, shown)


def preview_of(page: Page) -> str:
    draft = page.locator("[name=draft]").input_value()
    return page.request.get(f"/drafts/{draft}/preview").text()


def expect_mail(milos: DeskOfMilo, mask: str, shown: str) -> None:
    """The reply was sent as its preview, with its file; the ticket waits. shown: the preview."""
    found = parts_of(milos.sent())
    assert found["text/html"].replace("\r\n", "\n").strip() == shown.strip() and "<strong>Ana</strong>" in shown
    assert found["drawing.txt"] == "A drawing."
    assert milos.ticket(mask)["status"] == "waiting"
    assert milos.nora.search("draft", f"ticket.id:{milos.ticket(mask)['id']}").ok()["total"] == 0


def _let_one_wait(page: Page, hands: Hands, milos: DeskOfMilo) -> None:
    mask = opened(page, milos, 4)
    hands.count()
    hands.press("w")
    hands.say("mon 9am")
    expect(page.locator("#ticket-head .understood[for=wait-until]")).to_contain_text("Mon")
    expect(page.locator("#ticket-head .understood[for=wait-until]")).to_contain_text("9:00")
    hands.press("Enter")
    expect_toast(page, "Snoozed until")
    assert hands.counted == 2
    expect_monday(milos.ticket(mask))


def expect_monday(ticket: dict[str, Any]) -> None:
    """The ticket waits until a Monday at 9."""
    assert ticket["status"] == "waiting" and ticket["reopen_at"] > ticket["created"]
    opens = datetime.fromtimestamp(ticket["reopen_at"], UTC)
    assert (opens.isoweekday(), opens.hour, opens.minute) == (1, 9, 0)


def _merge_two(page: Page, hands: Hands, milos: DeskOfMilo) -> None:
    first, second = milos.masks[2], milos.masks[3]
    opened(page, milos, 3)
    hands.count()
    hands.press("M")
    expect(page.get_by_label("Merge with (number or words)")).to_be_focused()
    hands.say(first)
    hands.press("Enter")
    expect(page.get_by_role("button", name="Merge", exact=True)).to_be_focused()
    hands.press("Enter")
    expect_merged(page, milos, first, second)
    assert hands.counted == 3


def expect_merged(page: Page, milos: DeskOfMilo, first: str, second: str) -> None:
    """Two tickets are one, the older one, which is shown."""
    page.wait_for_url(f"**/tickets/{first}*")
    expect_toast(page, "Merged into")
    assert milos.ticket(second)["status"] == "deleted"
    expect(page.locator("#thread article")).to_have_count(2)


def _mention_a_colleague(page: Page, hands: Hands, milos: DeskOfMilo) -> None:
    opened(page, milos, 5)
    hands.count()
    hands.press("n")
    expect(page.locator("#note")).to_be_focused()
    hands.say("@ol")
    expect(page.get_by_role("option", name="@olga")).to_be_visible()
    assert violations(page) == []
    hands.press("Enter")
    hands.say("can you look?")
    hands.press("Control+Enter")
    assert hands.counted == 3
    expect_reply_of_olga(page, milos)


def expect_reply_of_olga(page: Page, milos: DeskOfMilo) -> None:
    """The colleague is notified by mail and replies from there; her words are on the ticket, and go to no one else."""
    expect(page.locator("#thread")).to_contain_text("@olga can you look?")
    mail = cast("EmailMessage", milos.sent())
    assert mail["To"] == "olga@desk.example" and "@olga can you look?" in text_of(mail)
    quoted = "".join(f"> {line}\n" for line in text_of(mail).splitlines())
    before = len(milos.smtp.messages)
    milos.nora.parse(
        f"From: Olga <olga@desk.example>\nTo: {mail['From']}\nSubject: Re: {mail['Subject']}\n"
        f"In-Reply-To: {mail['Message-ID']}\n\nThe flange is too old.\n\nMilo Test wrote:\n{quoted}"
    ).ok()
    expect(page.locator("#thread")).to_contain_text("The flange is too old.")  # without a reload
    expect(page.locator("#thread")).not_to_contain_text("Write above this line")
    assert len(milos.smtp.messages) == before


def _write_to_a_new_customer_later(page: Page, hands: Hands, milos: DeskOfMilo) -> None:
    hands.press("Escape")
    hands.count()
    hands.press("c")
    page.wait_for_url("**/compose")
    hands.reach(page.locator("#to"))
    hands.say("bo@new.example")
    hands.reach(page.locator("#subject"))
    hands.say("Your order")
    hands.reach(page.locator("#content"))
    hands.say("It is on its way.")
    hands.press("Control+Shift+Enter")
    expect(page.locator("#send_at")).to_be_focused()
    hands.say("tomorrow 9am")
    expect(page.locator(".understood[for=send_at]")).to_contain_text("9:00")
    hands.press("Control+Enter")
    expect_queued(page, milos)


def expect_queued(page: Page, milos: DeskOfMilo) -> None:
    """An email to a new customer is sent tomorrow at 9."""
    expect_toast(page, "It will be sent at the time you chose.")
    query = 'type:mail.compose is.queued:yes queue.deliverAt:"tomorrow 8:59 to tomorrow 9:01"'
    assert [each["name"] for each in milos.nora.search("draft", query).ok()["results"]] == ["Your order"]


def _find_one_of_last_week(page: Page, hands: Hands, milos: DeskOfMilo) -> None:
    """Finds a ticket by the beginning of a word in one of its messages."""
    hands.press("Escape")
    hands.count()
    hands.jump("gask", "Pump 7 leaks")
    page.wait_for_url(f"**/tickets/{milos.masks[7]}")
    assert hands.counted == 2
    assert page.request.get("/-/jump?q=gask").json()["hits"][0]["path"] == f"/tickets/{milos.masks[7]}"


def states(milos: DeskOfMilo) -> dict[str, tuple[str, int]]:
    """Returns {mask: status and time of reopening} of all tickets."""
    found = milos.nora.search("ticket", "", limit=50).ok()["results"]
    return {each["mask"]: (each["status"], each["reopen_at"]) for each in found}


def expect_all_closed(milos: DeskOfMilo) -> None:
    """All tickets are closed, except for the one that was merged into another."""
    assert {state for mask, (state, _) in states(milos).items() if mask != milos.masks[3]} == {"closed"}


def _undo_a_mistaken_bulk_close(page: Page, hands: Hands, milos: DeskOfMilo) -> None:
    before = states(milos)
    hands.jump("tickets", "Tickets")
    page.wait_for_url("**/search/ticket")
    hands.press("/")
    hands.say("status:![deleted]")
    hands.press("Enter")
    page.wait_for_url("**q=*")
    hands.press("Escape", "Escape")
    hands.reach(page.locator("[data-all]"))
    hands.press("Space", "e")
    expect_toast(page, "tickets closed.")
    expect_all_closed(milos)
    hands.count()
    hands.press("z")
    expect_toast(page, "Undone.")
    assert states(milos) == before and hands.counted == 1


def _export_the_list(page: Page, hands: Hands) -> None:
    hands.jump("all open", "All open")
    page.wait_for_url("**/inbox?v=open")
    hands.reach(page.locator(".tools .menu summary"))
    hands.press("Enter")
    hands.reach(page.get_by_role("link", name="Export for spreadsheets"))
    with page.expect_download() as found:
        hands.press("Enter")
    expect_exported(found.value)


def expect_exported(file: Download) -> None:
    """The file is a table of the list for spreadsheets."""
    rows = file.path().read_text("utf-8").splitlines()
    assert rows[0].removeprefix("\ufeff").startswith("id,") and len(rows) > TICKETS / 3


def test_the_tickets_of_a_list_are_worked_through_one_after_another(page: Page, milos: DeskOfMilo) -> None:
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
    beside = page.get_by_role("navigation", name="List next to the ticket")
    page.set_viewport_size({"width": 1200, "height": 800})
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


def test_link_targets_are_chosen_while_typing(page: Page, milos: DeskOfMilo) -> None:
    milos.nora.create("task", title="Order a flange").ok()
    opened(page, milos, 4)
    page.locator("summary", has_text="Add a link").press("Enter")
    page.locator("#link-type").fill("Task")
    page.get_by_role("option", name="Task", exact=True).click()
    page.locator("#link-record").press_sequentially("flan")
    expect(page.get_by_role("option", name="Order a flange")).to_be_visible()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Add", exact=True).press("Enter")
    expect(page.locator("#links .people")).to_contain_text("Order a flange")


def test_quotations_of_a_mail_are_folded_in_its_frame(page: Page, milos: DeskOfMilo) -> None:
    html = "Content-Type: text/html\n\n<p>Thank you.</p><blockquote>What I wrote <b>before</b></blockquote>\n"
    head = "From: ana@kite.example\nTo: support@desk.example\nSubject: Quoting\nMIME-Version: 1.0\n"
    mask = milos.nora.parse(f"{head}{html}").ok()["mask"]
    page.goto(f"/tickets/{mask}")
    mail = page.frame_locator("iframe.mail").first
    expect(mail.get_by_text("Thank you.")).to_be_visible()
    expect(mail.get_by_text("What I wrote before")).to_be_hidden()
    mail.locator("summary").click()
    expect(mail.get_by_text("What I wrote before")).to_be_visible()


def test_two_workers_on_one_ticket_see_each_other_and_lose_nothing(
    chromium: Browser, page: Page, milos: DeskOfMilo
) -> None:
    mask = milos.masks[8]
    visitor = Visitor(milos.url)
    visitor.sign_in()
    page.goto(f"/tickets/{mask}")
    with chromium.page(milos.url, cookies=visitor.cookies) as other:
        other.goto(f"/tickets/{mask}")
        expect(page.locator("[data-present]")).to_contain_text("Nora")
        expect(other.locator("[data-present]")).to_contain_text("Milo")
        page.get_by_role("link", name="Reply to the message from").click()
        page.locator("#content").fill("My words stay.")
        expect(other.locator("[data-present]")).to_contain_text("writing")
        expect(page.locator("[data-kept]")).to_have_text("Draft stored.")
        other.get_by_role("button", name="Close", exact=True).first.click()
        other.get_by_role("dialog").get_by_role("button", name="Close anyway").click()
        expect(page.locator("#ticket-head .badge")).to_contain_text("closed")
        expect(page.locator("#content")).to_have_value("My words stay.")
        expect(other.locator("#thread")).to_contain_text("My words stay.")
    page.reload()
    expect(page.locator("#content")).to_have_value("My words stay.")
    assert violations(page) == []
