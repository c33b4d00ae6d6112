"""The keys that the ten most frequent jobs of a worker take, without typed text."""

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.console.browser import Browser
from tests.console.test_support_day import SETTINGS, DeskOfMilo, Hands, expect_toast
from tests.console.visitor import Visitor
from tests.service import Server
from tests.smtp_server import SmtpServer

pytestmark = pytest.mark.exhaustive("each job has a test of its own; here they are counted")

FILES = 4
# The most keys that each job takes.
MOST = {
    "open the next ticket": 1,
    "take": 1,
    "reply with a snippet": 4,
    "close, and go on": 1,
    "wait until Monday": 2,
    "note with a mention": 4,
    "merge by words": 3,
    "forward with four files": 3,
    "find by a word": 2,
    "close five": 7,
}


class Counted(Hands):
    """Hands that count the keys of each job."""

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self.jobs: dict[str, int] = {}

    def done(self, job: str) -> None:
        self.jobs[job] = self.counted


@pytest.fixture
def counted(chromium: Browser, tmp_path: Path) -> Iterator[tuple[Counted, DeskOfMilo]]:
    with SmtpServer() as smtp:
        server = Server(tmp_path / "data", env=SETTINGS)
        desk = DeskOfMilo(server.data, server.url, server.set_up(), smtp)
        visitor = Visitor(desk.url)
        assert visitor.sign_in("milo@desk.example").status_code == 303
        with chromium.page(desk.url, cookies=visitor.cookies) as page:
            yield Counted(page), desk
        assert server.stop() == 0


def with_files(desk: DeskOfMilo) -> str:
    """Returns the mask of a ticket whose mail has files."""
    parts = "".join(
        f"--x\nContent-Type: text/plain\nContent-Disposition: attachment; filename=drawing{number}.txt\n\nA line.\n"
        for number in range(FILES)
    )
    head = "From: Ana 0 <ana0@kite.example>\nTo: support@desk.example\nSubject: Four drawings\nMIME-Version: 1.0\n"
    body = f"--x\nContent-Type: text/plain\n\nSee these.\n{parts}--x--\n"
    return str(desk.nora.parse(f"{head}Content-Type: multipart/mixed; boundary=x\n\n{body}").ok()["mask"])


def test_ten_jobs_take_few_keys(counted: tuple[Counted, DeskOfMilo]) -> None:
    hands, desk = counted
    page = hands.page
    page.goto("/inbox?v=open&sort=created")
    expect(page.locator("#list tbody tr").first).to_be_visible()
    hands.press("j", "o")
    first = ticket_shown(page)

    hands.count()
    hands.press("]")
    expect(page.locator(".beside")).to_contain_text("2 of")
    hands.done("open the next ticket")
    second = ticket_shown(page, first)

    hands.count()
    hands.press("i")
    expect_toast(page, "Assigned to you.")
    hands.done("take")

    hands.count()
    hands.press("e")
    expect_toast(page, "Ticket closed.")
    third = ticket_shown(page, second)
    hands.done("close, and go on")
    assert desk.ticket(second)["status"] == "closed"

    hands.count()
    hands.press("w")
    expect(page.locator("#wait-until")).to_be_focused()
    hands.say("monday 9am")
    hands.press("Enter")
    expect_toast(page, "Snoozed until")
    hands.done("wait until Monday")
    assert desk.ticket(third)["status"] == "waiting"
    fourth = ticket_shown(page, third)

    hands.count()
    hands.press("r")
    expect(page.locator("#content")).to_be_focused()
    hands.say("Hello,\n:th")
    expect(page.get_by_role("option", name="Thanks", selected=True)).to_be_visible()
    hands.press("Enter")
    expect(page.locator("#content")).to_have_value(re.compile("Thank you for"))
    hands.press("Control+Enter")
    expect_toast(page, "Sent.")
    hands.done("reply with a snippet")
    assert desk.sent()["To"] is not None and desk.ticket(fourth)["status"] == "waiting"
    fifth = ticket_shown(page, fourth)

    hands.count()
    hands.press("n")
    expect(page.locator("#note")).to_be_focused()
    hands.say("@ol")
    expect(page.get_by_role("option", name="@olga", selected=True)).to_be_visible()
    hands.press("Enter")
    hands.say("can you look?")
    hands.press("Control+Enter")
    expect(page.locator("#thread")).to_contain_text("@olga can you look?")
    hands.done("note with a mention")
    assert desk.sent()["To"] == "olga@desk.example"

    hands.press("Escape")
    hands.count()
    hands.press("Shift+M")
    expect(page.get_by_label("Merge with (number or words)")).to_be_focused()
    hands.say("Pump 9")
    hands.press("Enter")
    expect(page.get_by_role("button", name="Merge", exact=True)).to_be_focused()
    hands.press("Enter")
    expect_toast(page, "Merged into")
    hands.done("merge by words")
    assert {desk.ticket(fifth)["status"], desk.ticket(desk.masks[9])["status"]} == {"open", "deleted"}

    mask = with_files(desk)
    hands.press("Escape")
    hands.count()
    hands.press("Control+k")
    hands.say("drawings")
    expect(page.locator("#jump [role=option]").first).to_contain_text("Four drawings")
    hands.press("Enter")
    page.wait_for_url(f"**/tickets/{mask}")
    hands.done("find by a word")

    hands.count()
    hands.press("f")
    expect(page.locator("#to")).to_be_focused()
    hands.say("bo@else.example")
    hands.press("Tab")
    for number in range(FILES):
        expect(page.get_by_role("checkbox", name=f"drawing{number}.txt")).to_be_checked()
    hands.press("Control+Enter")
    expect_toast(page, "Sent.")
    hands.done("forward with four files")
    assert sum(part.get_filename() is not None for part in desk.sent().walk()) == FILES

    page.goto("/inbox?v=open&sort=created")
    hands.count()
    hands.press("j", "x", *["Shift+J"] * 4, "e")
    expect_toast(page, "5 tickets closed.")
    hands.done("close five")

    assert hands.jobs.keys() == MOST.keys()
    assert {job: keys for job, keys in hands.jobs.items() if keys > MOST[job]} == {}


def ticket_shown(page: Page, other: str = "") -> str:
    """Returns the mask of the ticket that is open, once it is another one."""
    page.wait_for_url(lambda url: "/tickets/" in url and mask_of(url) != other)
    return mask_of(page.url)


def mask_of(url: str) -> str:
    return urlsplit(url).path.rpartition("/")[2]
