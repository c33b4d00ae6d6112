"""The desk for everyone: the pages of a day's support in every form of display and input, and while the service is
down.

Each form is tested with the pages of LISTED; for the requirements on any kind of page see test_journeys.py."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.console import walking
from tests.console.browser import NARROW, PHONE, WIDE, Browser, is_sideways, sign_in, violations
from tests.console.visitor import Visitor, place
from tests.service import Api, Server, people

pytestmark = pytest.mark.exhaustive("the pages of the desk in every form of display and input")

names = pytest.mark.parametrize
# The echoed search.
ECHOED = re.compile(r'<input[^>]*name="q"[^>]*>|<p><code>[^<]*</code></p>|href="/search/ticket\?q=[^"]*"')
ARABIC = "طلب عرض سعر"
LISTED = (
    "{html}", "/inbox?v=open", "/search/ticket?q=subject:pump&by=status", "{ticket}", "{ticket}?answer=note",
    "{ticket}/merge", "/compose", "/notifications", "/reminders", "/records", "/search/task", "/records/org/{org}",
    "/records/contact/{contact}", "/records/task/{task}", "/records/task/new", "/records/contact/import",
    "/jump?q=queue",
)  # fmt: skip


@pytest.fixture(scope="module")
def places(nora: Api) -> list[str]:
    """LISTED with records: one in each state, and in another script."""
    org = nora.create("org", name=f"Kite {ARABIC}").ok()["id"]
    contact = nora.create("contact", first_name="Ana", last_name=ARABIC).ok()["id"]
    task = nora.create("task", title="Order a flange", due="tomorrow 9am").ok()["id"]
    head = "To: support@desk.example\nContent-Transfer-Encoding: 8bit\nContent-Type: text"
    html, made = (
        nora.parse(f"From: Ana <{name}@kite.example>\nSubject: {ARABIC}\n{head}/{kind}; charset=utf-8\n\n{text}\n").ok()
        for name, kind, text in (("ana", "html", f"<p>{ARABIC} <b>leaks</b></p>"), ("bo", "plain", "It leaks."))
    )
    fields = {"org_id": org, "owner_id": nora.ids["nora"], "status": "waiting", "reopen_date": "+2 days"}
    nora.update("ticket", made["id"], **fields).ok()
    nora.create("comment", target__context="ticket", target_id=made["id"], comment="@milo look").ok()
    nora.create("reminder", name="Call Ana", worker_id=nora.ids["nora"], remind_at="+2 hours").ok()
    known = {
        "ticket": f"/tickets/{made['mask']}",
        "html": f"/tickets/{html['mask']}",
        "org": org,
        "contact": contact,
        "task": task,
    }
    return [each.format(**known) for each in LISTED]


@names(("size", "scheme", "language", "direction"), [
    (WIDE, "light", "de_DE", "ltr"), (PHONE, "dark", "", "rtl"), (NARROW, "light", "de_DE", "rtl"),  # 320 px: 400 %
], ids=str)  # fmt: skip
def test_every_page_of_the_desk(
    chromium: Browser, nora_in_a_browser: Visitor, nora: Api, places: list[str], size: tuple[int, int], scheme: str,
    language: str, direction: str,
) -> None:  # fmt: skip
    if language:
        nora.update("worker", nora.ids["nora"], language=language).ok()
    wrong: list[str] = []
    try:
        with chromium.page(
            nora_in_a_browser.url, size, nora_in_a_browser.cookies, is_journey=True, color_scheme=scheme
        ) as page:
            for path in places:
                response = page.goto(path)
                assert response is not None and response.ok, path
                page.evaluate("direction => (document.documentElement.dir = direction)", direction)
                found = [*violations(page), *(["scrolls sideways"] if is_sideways(page) else [])]
                if language and page.locator("html").get_attribute("lang") != language[:2]:
                    found.append("is in another language")
                wrong += [f"{path}: {each}" for each in found]
    finally:
        nora.update("worker", nora.ids["nora"], language="en_US").ok()
    assert not wrong, "\n".join(wrong)


def test_every_page_of_the_desk_by_keyboard(page: Page, places: list[str]) -> None:
    wrong = []
    for path in places[1:]:  # keys inside the frame of a mail are not counted
        page.goto(path)
        wrong += [f"{path}: {each}" for each in (*walking.keyboard(page), *walking.question(page))]
    assert not wrong, "\n".join(wrong)


def test_a_reply_is_taken_back_by_mouse(page: Page, nora: Api) -> None:
    """The whole day by mouse is test_day_by_mouse.py."""
    made = nora.parse("From: Bo <bo@kite.example>\nTo: support@desk.example\nSubject: By mouse\n\nIt leaks.\n").ok()
    page.goto("/inbox?v=unassigned")
    row = page.get_by_role("row").filter(has_text="By mouse")
    row.get_by_role("checkbox").check()
    page.get_by_role("button", name="Assign to me").click()
    expect(page.locator("#toasts")).to_contain_text("Assigned to you.")
    page.locator("#rail").get_by_role("link", name="My open").click()
    page.get_by_role("link", name="By mouse").first.click()
    page.get_by_role("link", name="Reply to the message from").click()
    page.locator("#content").fill("It is on its way.")
    page.get_by_role("button", name=re.compile("^Send")).first.click()
    expect(page.locator("#toasts")).to_contain_text("Sending in")
    page.locator("#toasts").get_by_role("button", name="Undo").last.click()
    expect(page.locator("#content")).to_have_value("It is on its way.")
    page.locator("#ticket-head").get_by_role("button", name="Close", exact=True).click()
    expect(page.locator("#toasts")).to_contain_text("Ticket closed.")
    page.locator(".bell").click()
    expect(page).to_have_url(re.compile("/notifications"))
    assert nora.record("ticket", made["id"]).ok()["status"] == "closed"


def test_a_day_without_scripts(chromium: Browser, nora_in_a_browser: Visitor, nora: Api) -> None:
    raw = "From: Bo <bo@kite.example>\nTo: support@desk.example\nSubject: No script\n\nIt leaks.\n"
    made = nora.parse(raw).ok()
    with chromium.page(
        nora_in_a_browser.url, cookies=nora_in_a_browser.cookies, is_journey=True, java_script_enabled=False
    ) as page:
        page.goto("/inbox?v=unassigned")
        row = page.get_by_role("row").filter(has_text="No script")
        row.get_by_role("checkbox").check()
        page.get_by_role("button", name="Assign to me").click()
        expect(page.locator("#toasts")).to_contain_text("Assigned to you.")
        page.goto(f"/tickets/{made['mask']}")
        page.locator("#content").fill("It is on its **way**.")
        page.get_by_role("button", name="Preview", exact=True).click()
        expect(page.frame_locator("iframe.preview").locator("strong")).to_have_text("way")
        page.get_by_label("More ways to send").click()
        page.get_by_role("button", name="Save without sending").click()
        expect(page.locator("#thread .said-html strong").last).to_have_text("way")
        page.goto(f"/tickets/{made['mask']}?answer=note")
        page.locator("#note").fill("Ask the workshop")
        page.get_by_role("button", name="Add note").click()
        expect(page.locator("#thread")).to_contain_text("Ask the workshop")
        page.locator("#ticket-head").get_by_role("button", name="Close", exact=True).click()
        expect(page.locator("#ticket-head .badge")).to_contain_text("closed")
        page.goto("/jump?q=No+script")
        page.get_by_role("link", name="No script").first.click()
        page.wait_for_url("**/tickets/*")


# -- the service goes down and comes back ------------------------------------------------------------------------------


@pytest.fixture
def revived(tmp_path: Path) -> Iterator[list[Server]]:
    """Services on one address, the newest last; a test that ends one starts the next."""
    started = [Server(tmp_path / "data")]
    yield started
    assert started[-1].stop() == 0


def test_the_service_is_killed_during_a_reply(chromium: Browser, revived: list[Server], tmp_path: Path) -> None:
    """Stored text survives; text typed during the outage stays in the page, and is stored once the service is back."""
    first = revived[0]
    nora = first.set_up()
    people(nora)
    raw = "From: Ana <ana@kite.example>\nTo: support@desk.example\nSubject: Pump\n\nIt leaks.\n"
    ticket = f"/tickets/{nora.parse(raw).ok()['mask']}"
    port = first.url.rpartition(":")[2]
    gone = "ERR_CONNECTION_REFUSED|ERR_EMPTY_RESPONSE|ERR_CONNECTION_RESET|ERR_INCOMPLETE_CHUNKED_ENCODING"
    with chromium.page(first.url, refused=gone) as page:
        sign_in(page)
        page.goto(f"{ticket}?answer=reply")
        text, told = page.locator("#content"), page.locator("[data-kept]")
        text.fill("Dear Ana,")
        expect(told).to_have_text("Draft stored.")
        first.kill()
        text.press_sequentially(" it is on its way.")
        expect(told).to_contain_text("stored in this browser")
        revived.append(Server(tmp_path / "data", "--port", port))
        expect(told).to_have_text("Draft stored.", timeout=30_000)
        expect(text).to_have_value("Dear Ana, it is on its way.")
        again = page.context.new_page()
        again.goto(ticket)
        expect(again.locator("#content")).to_have_value("Dear Ana, it is on its way.")


# -- unreadable tickets ------------------------------------------------------------------------------------------------


def test_pages_and_fragments_of_a_hidden_ticket_do_not_exist(visitor: Visitor, nora: Api) -> None:
    """Including its draft, note, file, reminder and notification, by address and by number."""
    secret = "Quince-secret"
    made = nora.parse(f"From: Ana <ana@kite.example>\nTo: support@desk.example\nSubject: {secret}\n\n{secret}\n").ok()
    nora.update("ticket", made["id"], group_id=nora.ids["private"]).ok()
    [message] = nora.found("message", f"ticket.id:{made['id']}")
    note = nora.create("comment", target__context="ticket", target_id=made["id"], comment=secret).ok()["id"]
    assert visitor.sign_in("milo@desk.example").status_code == 303
    base, id = f"/tickets/{made['mask']}", made["id"]
    closed = (
        base, f"{base}?answer=note", f"{base}/merge", f"{base}/macros", f"{base}/live", f"{base}/answer",
        f"/tickets/{id}", f"/records/ticket/{id}", f"/records/ticket/{id}/activity", f"/records/ticket/{id}/raw",
        f"/records/message/{message}", f"/messages/{message}/body", f"/messages/{message}/source",
        f"/records/comment/{note}", f"/records/comment/{note}/raw",
    )  # fmt: skip
    for path in closed:
        response = visitor.get(path)
        assert response.status_code in (403, 404) or (place(response) != path and response.status_code == 303), path
        assert secret not in response.text, path
    listed = (
        "/inbox?v=open", f"/inbox?v=open&q=id:{id}", f"/search/ticket?q=id:{id}", f"/search/message?q=id:{message}",
        f"/search/comment?q=id:{note}", "/search/ticket?by=group.id", f"/jump?q={secret}", f"/-/jump?q={secret}",
        f"/-/choose/ticket?q={secret}", f"/-/jump?q={made['mask']}", f"/-/news?q=id:{id}&ids={id}&since=0",
        f"/inbox/reply?ids={id}", f"/records/ticket/set?ids={id}&field=status", "/search/ticket?format=csv",
    )  # fmt: skip
    for path in listed:
        response = visitor.get(path)
        assert response.status_code < 500 and secret not in ECHOED.sub("", response.text), path
        assert path.startswith(("/-/jump", "/jump")) or made["mask"] not in response.text, path
