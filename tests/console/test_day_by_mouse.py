"""A day's support in a browser by mouse: what test_support_day.py does by keyboard, and the ten most frequent jobs."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.console.browser import Browser
from tests.console.test_key_counts import FILES, ticket_shown, with_files
from tests.console.test_support_day import (
    SETTINGS,
    DeskOfMilo,
    expect_all_closed,
    expect_exported,
    expect_mail,
    expect_merged,
    expect_monday,
    expect_queued,
    expect_reply_of_olga,
    expect_taken,
    expect_toast,
    preview_of,
    states,
)
from tests.service import PASSWORD, Server
from tests.smtp_server import SmtpServer

pytestmark = pytest.mark.exhaustive("a walk through pages that have tests of their own")

# The most clicks that each job takes, including drags and turns of the wheel.
MOST = {
    "sign in": 3,
    "take five": 6,
    "reply with a snippet and a file": 5,
    "wait until Monday": 2,
    "merge by words": 4,
    "note with a mention": 3,
    "write to somebody new, sent tomorrow": 6,
    "find by a word": 2,
    "close all": 2,
    "undo": 1,
    "export": 2,
    "open the next ticket": 1,
    "take": 2,
    "close, and go on": 1,
    "forward with four files": 2,
    "close five": 6,
}
MOVES = 8  # pixels by which a page may move under the mouse
# Whether something is painted so that one sees it before the mouse is there, and what lies at its center.
_SEEN = """(each, [x, y]) => {
  for (let at = each; at; at = at.parentElement) {
    const {opacity, visibility} = getComputedStyle(at);
    if (opacity < 0.5 || visibility === 'hidden') return `${at.localName}.${at.className} cannot be seen`;
  }
  const hit = document.elementFromPoint(x, y);
  return each.contains(hit) || hit?.contains(each) ? '' : `${hit?.outerHTML.slice(0, 200)} lies above it`;
}"""
# Notes by how much the page scrolled after a click, unless the wheel was turned.
_WATCH = """() => {
  let clicked = '', from = 0, wheeled = -1000;
  window.jumps = [];
  addEventListener('click', ({target, isTrusted}) => {
    if (isTrusted) [clicked, from] = [target.outerHTML.slice(0, 200), scrollY];
  }, true);
  addEventListener('wheel', () => { wheeled = performance.now(); }, {passive: true});
  addEventListener('scroll', () => {
    if (clicked && performance.now() - wheeled > 1000) window.jumps.push([clicked, Math.abs(scrollY - from)]);
    from = scrollY;
  });
}"""


class Mouse:
    """A person with only a mouse, who types nothing but words. counted: clicks since `count`. jobs: the clicks of each
    finished job. jumps: clicks after which the page moved."""

    def __init__(self, page: Page) -> None:
        self.page, self.counted = page, 0
        self.jobs: dict[str, int] = {}
        self.jumps: list[str] = []
        page.add_init_script(f"({_WATCH})()")

    def count(self) -> None:
        self.counted = 0

    def done(self, job: str) -> None:
        self.jobs[job] = self.counted

    def click(self, target: Locator, opens: Locator | None = None) -> None:
        """Clicks a control that is there to be seen, and turns the wheel first if it is outside of the window. opens: a
        form in its place, for which the page may move until the form is in the window."""
        expect(self.page.locator("[aria-busy=true]")).to_have_count(0)  # a part that is waited for is dim
        expect(target).to_be_visible()
        x, y = self._center(target)
        hidden = target.evaluate(_SEEN, [x, y])
        assert not hidden, f"{target}: {hidden}"
        self.counted += 1
        self._collect_jumps()
        self.page.mouse.click(x, y)
        if opens is not None:
            expect(opens).to_be_in_viewport(ratio=1)
            self.page.evaluate("jumps.length = 0")

    def _collect_jumps(self) -> None:
        """Adds the jumps since the last click, as far as the page of that click is still shown."""
        self.jumps += [f"{by:.0f} pixels by {element}" for element, by in self.page.evaluate("jumps") if by > MOVES]
        self.page.evaluate("jumps.length = 0")

    def _center(self, target: Locator) -> tuple[float, float]:
        box = target.bounding_box()
        size = self.page.viewport_size
        assert box is not None and size is not None
        if box["y"] < 0 or box["y"] + box["height"] > size["height"]:
            self.counted += 1
            self.page.mouse.move(size["width"] / 2, size["height"] / 2)
            self.page.mouse.wheel(0, box["y"] - size["height"] / 2)
            self.page.wait_for_function(
                "each => each.getBoundingClientRect().bottom <= innerHeight", arg=target.element_handle()
            )
            box = target.bounding_box()
            assert box is not None
        return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    def drop(self, file: Path, target: Locator) -> None:
        """Drags a file from the desktop to a place of the page."""
        self.counted += 1
        given = self.page.evaluate_handle(
            """([name, text]) => {
              const given = new DataTransfer();
              given.items.add(new File([text], name, {type: 'text/plain'}));
              return given;
            }""",
            [file.name, file.read_text()],
        )
        for name in ("dragenter", "dragover", "drop"):
            target.dispatch_event(name, {"dataTransfer": given})

    def say(self, text: str) -> None:
        """Types words into the field that has the focus."""
        self.page.keyboard.type(text)

    def find(self, text: str, first: str) -> None:
        """Opens the first result of the search in the top bar."""
        self.click(self.page.locator(".top .find"))
        self.say(text)
        result = self.page.locator("#jump [role=option]").first
        expect(result).to_contain_text(first)
        self.click(result)

    def open_list(self, name: str) -> None:
        self.click(self.page.locator("#rail").get_by_role("link", name=name))


@pytest.fixture
def milos(tmp_path: Path) -> Iterator[DeskOfMilo]:
    with SmtpServer() as smtp:
        server = Server(tmp_path / "data", env=SETTINGS)
        yield DeskOfMilo(server.data, server.url, server.set_up(), smtp)
        assert server.stop() == 0


def test_a_day_at_the_desk_by_mouse_alone(chromium: Browser, milos: DeskOfMilo, tmp_path: Path) -> None:
    """The whole day, step by step: only words are typed, no address is, and no control is needed that is not to be
    seen."""
    with chromium.page(milos.url) as page:
        mouse = Mouse(page)
        a_day_by_mouse(page, mouse, milos, tmp_path)
        assert mouse.jobs.keys() == MOST.keys()
        assert {job: clicks for job, clicks in mouse.jobs.items() if clicks > MOST[job]} == {}
        assert mouse.jumps == []


def a_day_by_mouse(page: Page, mouse: Mouse, milos: DeskOfMilo, folder: Path) -> None:
    drawing = folder / "drawing.txt"
    drawing.write_text("A drawing.")
    _sign_in(page, mouse)
    _take_five_unassigned(page, mouse, milos)
    for number in (0, 1):
        _answer(page, mouse, milos, number, drawing)
    _let_one_wait(page, mouse, milos)
    _merge_two(page, mouse, milos)
    _mention_a_colleague(page, mouse, milos)
    _write_to_a_new_customer_later(page, mouse, milos)
    _find_one_of_last_week(page, mouse, milos)
    _undo_a_mistaken_bulk_close(page, mouse, milos)
    _export_the_list(page, mouse)
    _work_through_a_list(page, mouse, milos)
    _forward_four_files(page, mouse, milos)
    _close_five(page, mouse)


def _sign_in(page: Page, mouse: Mouse) -> None:
    page.goto("/login")
    mouse.count()
    mouse.click(page.locator("#email"))
    mouse.say("milo@desk.example")
    mouse.click(page.locator("#password"))
    mouse.say(PASSWORD)
    mouse.click(page.get_by_role("button", name="Sign in", exact=True))
    page.wait_for_url("**/inbox")
    mouse.done("sign in")


def _take_five_unassigned(page: Page, mouse: Mouse, milos: DeskOfMilo) -> None:
    mouse.open_list("Unassigned")
    page.wait_for_url("**/inbox?v=unassigned")
    mouse.count()
    for number in range(5):
        mouse.click(page.locator("#list tbody td.check").nth(number))
    mouse.click(page.get_by_role("button", name="Assign to me"))
    expect_toast(page, "5 tickets assigned to you.")
    mouse.done("take five")
    expect_taken(page, milos)


def _opened(page: Page, mouse: Mouse, milos: DeskOfMilo, number: int) -> str:
    """Opens a ticket by a click on its row, among all that are open; returns the mask."""
    mouse.open_list("All open")
    page.wait_for_url("**/inbox?v=open")
    mouse.click(page.locator("#list").get_by_role("link", name=f"Pump {number} leaks"))
    page.wait_for_url(f"**/tickets/{milos.masks[number]}*")
    return milos.masks[number]


def _answer(page: Page, mouse: Mouse, milos: DeskOfMilo, number: int, file: Path) -> None:
    """Replies with a snippet and a file, which is dropped or chosen; the mail that arrives equals the preview."""
    mask = _opened(page, mouse, milos, number)
    mouse.count()
    mouse.click(page.locator("#answer .line").get_by_role("link", name="Reply to"), opens=page.locator("#answer"))
    expect(page.locator("#content")).to_be_focused()
    mouse.say("Hello **Ana**,\n")
    mouse.click(page.get_by_role("button", name="Snippet", exact=True))
    mouse.click(page.get_by_role("option", name="Thanks"))
    expect(page.locator("#content")).to_have_value(f"Hello **Ana**,\nThank you for Pump {number} leaks.")
    if number:
        mouse.drop(file, page.locator("#answer form"))
    else:
        with page.expect_file_chooser() as chooser:
            mouse.click(page.locator("#answer .attach"))
        chooser.value.set_files(file)
    expect(page.get_by_role("checkbox", name="drawing.txt")).to_be_checked()
    expect(page.locator("[data-kept]")).to_have_text("Draft stored.")
    shown = preview_of(page)
    mouse.click(page.locator("#answer .sends").get_by_role("button", name=re.compile("^Send")).first)
    expect_toast(page, "Sent.")
    mouse.done("reply with a snippet and a file")
    expect_mail(milos, mask, shown)


def _let_one_wait(page: Page, mouse: Mouse, milos: DeskOfMilo) -> None:
    mask = _opened(page, mouse, milos, 4)
    mouse.count()
    mouse.click(page.locator("#ticket-head .snooze summary"))
    mouse.click(page.get_by_role("button", name=re.compile("^Next Monday")))
    expect_toast(page, "Snoozed until")
    mouse.done("wait until Monday")
    expect_monday(milos.ticket(mask))


def _merge_two(page: Page, mouse: Mouse, milos: DeskOfMilo) -> None:
    first, second = milos.masks[2], milos.masks[3]
    _opened(page, mouse, milos, 3)
    mouse.count()
    mouse.click(page.get_by_label("More actions"))
    mouse.click(page.get_by_role("link", name="Merge…"))
    expect(page.get_by_label("Merge with (number or words)")).to_be_focused()
    mouse.say("Pump 2")
    mouse.click(page.get_by_role("button", name="Find"))
    mouse.click(page.get_by_role("button", name="Merge", exact=True))
    expect_merged(page, milos, first, second)
    mouse.done("merge by words")


def _mention_a_colleague(page: Page, mouse: Mouse, milos: DeskOfMilo) -> None:
    _opened(page, mouse, milos, 5)
    mouse.count()
    mouse.click(page.locator("#answer .line").get_by_role("link", name="Note"), opens=page.locator("#answer"))
    expect(page.locator("#note")).to_be_focused()
    mouse.say("@ol")
    mouse.click(page.get_by_role("option", name="@olga"))
    mouse.say("can you look?")
    mouse.click(page.get_by_role("button", name="Add note"))
    expect_toast(page, "Note added.")
    mouse.done("note with a mention")
    expect_reply_of_olga(page, milos)


def _write_to_a_new_customer_later(page: Page, mouse: Mouse, milos: DeskOfMilo) -> None:
    mouse.count()
    mouse.open_list("New ticket")
    page.wait_for_url("**/compose")
    expect(page.locator(".chips:has(#to)")).to_be_visible()
    mouse.click(page.locator("#to"))
    mouse.say("bo@new.example")
    mouse.click(page.locator("#subject"))
    mouse.say("Your order")
    mouse.click(page.locator("#content"))
    mouse.say("It is on its way.")
    mouse.click(page.get_by_label("More ways to send"))
    mouse.click(page.get_by_role("button", name=re.compile("^Tomorrow")))
    expect_queued(page, milos)
    mouse.done("write to somebody new, sent tomorrow")


def _find_one_of_last_week(page: Page, mouse: Mouse, milos: DeskOfMilo) -> None:
    """Finds a ticket by the beginning of a word in one of its messages."""
    mouse.count()
    mouse.find("gask", "Pump 7 leaks")
    page.wait_for_url(f"**/tickets/{milos.masks[7]}")
    mouse.done("find by a word")


def _undo_a_mistaken_bulk_close(page: Page, mouse: Mouse, milos: DeskOfMilo) -> None:
    before = states(milos)
    mouse.find("tickets", "Tickets")
    page.wait_for_url("**/search/ticket")
    mouse.click(page.locator("#q"))
    mouse.say("status:![deleted]")
    mouse.click(page.locator("#list .filter button"))
    page.wait_for_url("**q=*")
    mouse.count()
    mouse.click(page.locator("#list th.check"))
    mouse.click(page.locator(".bulk").get_by_role("button", name="Close", exact=True))
    expect_toast(page, "tickets closed.")
    mouse.done("close all")
    expect_all_closed(milos)
    mouse.count()
    mouse.click(page.locator("#toasts").get_by_role("button", name="Undo").last)
    expect_toast(page, "Undone.")
    mouse.done("undo")
    assert states(milos) == before


def _export_the_list(page: Page, mouse: Mouse) -> None:
    mouse.open_list("All open")
    page.wait_for_url("**/inbox?v=open")
    mouse.count()
    mouse.click(page.locator(".tools .menu summary"))
    with page.expect_download() as found:
        mouse.click(page.get_by_role("link", name="Export for spreadsheets"))
    mouse.done("export")
    expect_exported(found.value)


def _work_through_a_list(page: Page, mouse: Mouse, milos: DeskOfMilo) -> None:
    """Opens one ticket after another, takes one, and closes one."""
    mouse.open_list("Unassigned")
    page.wait_for_url("**/inbox?v=unassigned")
    mouse.click(page.locator("#list tbody a").first)
    first = ticket_shown(page)
    mouse.count()
    mouse.click(page.get_by_role("link", name="Next", exact=True))
    second = ticket_shown(page, first)
    mouse.done("open the next ticket")
    mouse.count()
    mouse.click(page.locator("#ticket-head .owner summary"))
    mouse.click(page.get_by_role("button", name="Assign to me"))
    expect_toast(page, "Assigned to you.")
    mouse.done("take")
    mouse.count()
    mouse.click(page.locator("#ticket-head").get_by_role("button", name="Close", exact=True))
    expect_toast(page, "Ticket closed.")
    ticket_shown(page, second)
    mouse.done("close, and go on")
    assert milos.ticket(second)["status"] == "closed"


def _forward_four_files(page: Page, mouse: Mouse, milos: DeskOfMilo) -> None:
    mask = with_files(milos)
    mouse.find("drawings", "Four drawings")
    page.wait_for_url(f"**/tickets/{mask}")
    mouse.count()
    mouse.click(page.locator("#answer .line").get_by_role("link", name="Forward"), opens=page.locator("#answer .sends"))
    expect(page.locator("#to")).to_be_focused()
    mouse.say("bo@else.example")
    for number in range(FILES):
        expect(page.get_by_role("checkbox", name=f"drawing{number}.txt")).to_be_checked()
    mouse.click(page.locator("#answer .sends").get_by_role("button", name=re.compile("^Send")).first)
    expect_toast(page, "Sent.")
    mouse.done("forward with four files")
    assert sum(part.get_filename() is not None for part in milos.sent().walk()) == FILES


def _close_five(page: Page, mouse: Mouse) -> None:
    mouse.open_list("All open")
    page.wait_for_url("**/inbox?v=open")
    mouse.count()
    for number in range(5):
        mouse.click(page.locator("#list tbody td.check").nth(number))
    mouse.click(page.locator(".bulk").get_by_role("button", name="Close", exact=True))
    expect_toast(page, "5 tickets closed.")
    mouse.done("close five")
