"""The conversation of a ticket as it is read: where it opens, what is folded, files, and what workers wrote."""

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.console.browser import Browser, violations
from tests.console.test_tickets import ticket
from tests.console.visitor import Visitor
from tests.service import Api, Server

__all__ = ["ticket"]

LINES = "A line of the message.\n" * 15


def said(nora: Api, ticket: dict[str, Any], content: str) -> int:
    """Adds a message of the customer; returns its id."""
    values = {"sender": "ana@kite.example", "headers": "From: ana@kite.example\nTo: support@desk.example"}
    return int(nora.create("message", ticket_id=ticket["id"], content=content, **values).ok()["id"])


def mailed(nora: Api, ticket: dict[str, Any], html: str) -> int:
    """Adds an HTML mail of the customer; returns its message's id."""
    head = f"From: Ana Lund <ana@kite.example>\nTo: support@desk.example\nSubject: Re: [#{ticket['mask']}] Pump\n"
    nora.parse(f"{head}MIME-Version: 1.0\nContent-Type: text/html; charset=utf-8\n\n{html}\n").ok()
    return max(nora.found("message", f"ticket.id:{ticket['id']}"))


def replied(nora: Api, message: int, content: str, **more: Any) -> None:
    nora.reply(message_id=message, content=content, dont_send=1, **more).ok()


# -- folding ----------------------------------------------------------------------------------------------------------


def test_what_came_since_the_last_reply_is_open_and_the_rest_is_a_line(
    signed_in: Visitor, nora: Api, ticket: dict[str, Any]
) -> None:
    replied(nora, ticket["message"], "Dear Ana,\n\n# which `pump` is it?")
    since = [said(nora, ticket, f"The {color} one.") for color in ("red", "blue")]
    page = signed_in.get(ticket["page"]).text
    unfolded = [each.partition('"')[0] for each in page.split('<li id="')[1:] if 'class="turn" open' in each]
    assert unfolded == [f"message{each}" for each in since]
    assert '<span class="muted words" dir="auto">which pump is it?</span>' in page, "without the salutation"


def test_the_newest_message_is_open_with_notes_after_it(signed_in: Visitor, nora: Api, ticket: dict[str, Any]) -> None:
    said(nora, ticket, "The red one.")
    replied(nora, ticket["message"], "It is on its way.")
    nora.create("comment", target__context="ticket", target_id=ticket["id"], comment="I phoned her.").ok()
    page = signed_in.get(ticket["page"]).text
    assert page.count('class="turn" open') == 2 and page.count('class="turn"') == 4
    replied(nora, ticket["message"], "We have it.", is_autoreply=1)
    page = signed_in.get(ticket["page"]).text
    assert page.count('class="turn" open') == 2, "an automatic reply is no newest message"


def test_an_address_opens_its_message_and_a_link_opens_all(
    signed_in: Visitor, nora: Api, ticket: dict[str, Any]
) -> None:
    for number in range(6):
        said(nora, ticket, f"Number {number}.")
    page = signed_in.get(ticket["page"]).text
    assert (page.count('class="turn" open'), page.count('class="turn"')) == (4, 7)
    page = signed_in.get(f"{ticket['page']}?message={ticket['message']}").text
    assert page.count('class="turn" open') == 5
    page = signed_in.get(f"{ticket['page']}?open=all").text
    assert page.count('class="turn" open') == 7 and "Collapse all" in page


def test_changes_in_a_row_are_one_line(signed_in: Visitor, nora: Api, ticket: dict[str, Any]) -> None:
    for status in ("closed", "open"):
        nora.update("ticket", ticket["id"], status=status).ok()
    page = signed_in.get(ticket["page"]).text
    assert "2 changes" in page and page.count('class="event"') == 1


def test_folded_mail_is_not_loaded_before_it_is_opened(page: Page, nora: Api, ticket: dict[str, Any]) -> None:
    folded = mailed(nora, ticket, "<p>Which pump?</p>")
    replied(nora, ticket["message"], "The red one.")
    newest = mailed(nora, ticket, "<p>Thank you.</p>")
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.goto(ticket["page"])
    expect(page.frame_locator(f"#message{newest} iframe").locator("body")).to_contain_text("Thank you.")
    assert [each.rpartition("/messages/")[2] for each in requests if "/messages/" in each] == [f"{newest}/body"]
    page.locator(f"#message{folded} summary").first.click()
    expect(page.frame_locator(f"#message{folded} iframe").locator("body")).to_contain_text("Which pump?")


def test_what_came_since_the_last_visit_is_open_below_a_line(
    page: Page, signed_in: Visitor, nora: Api, ticket: dict[str, Any]
) -> None:
    page.goto(ticket["page"])
    expect(page.locator(".unread")).to_have_count(0)
    with page.expect_response(lambda response: "doing=left&seen=1." in (response.request.post_data or "")):
        page.evaluate("dispatchEvent(new Event('pagehide'))")
    page.goto("/compose")
    first = said(nora, ticket, "The red one.")
    replied(nora, first, "It is on its way.")
    said(nora, ticket, "Thank you.")
    found = signed_in.get(ticket["page"]).text
    assert found.count('class="turn" open') == 2 and found.count('class="unread"') == 1
    page.goto(ticket["page"])
    expect(page.locator(f"#message{first} > .unread")).to_contain_text("New since")
    assert violations(page, part="#thread") == []


def test_what_was_seen_is_not_new_any_more(signed_in: Visitor, nora: Api, ticket: dict[str, Any]) -> None:
    sign = {"doing": "left", "_xsrf": signed_in.token(ticket["page"])}
    for lines in (0, 1, 1):
        found = signed_in.get(ticket["page"]).text
        assert found.count('class="unread"') == lines
        [seen] = re.findall(r'data-seen="([^"]+)"', found)
        for mark in ("no mark", seen):
            assert signed_in.post(f"{ticket['page']}/presence", sign | {"seen": mark}).status_code == 200
        assert 'class="unread"' not in signed_in.get(ticket["page"]).text
        said(nora, ticket, "The red one.")


LOOK = """frame => { const [root, words] = ["html", "p"].map(each => frame.contentDocument.querySelector(each));
  return [getComputedStyle(frame.contentDocument.body).backgroundColor, getComputedStyle(words).color,
    "colored" in root.dataset] }"""
CLEAR, WHITE, LIGHT_WORDS = "rgba(0, 0, 0, 0)", "rgb(255, 255, 255)", "rgb(231, 235, 240)"


@pytest.mark.exhaustive("mail in the dark")
def test_in_the_dark_mail_has_the_colors_of_the_page_unless_it_brings_its_own(
    chromium: Browser, server: Server, nora_in_a_browser: Visitor, nora: Api, ticket: dict[str, Any]
) -> None:
    plain = mailed(nora, ticket, '<p style="color: #222222; background: white">Which pump?</p>')
    colored = mailed(nora, ticket, '<table bgcolor="#336699"><tr><td>Kite</td></tr></table><p>News</p>')
    with chromium.page(server.url, cookies=nora_in_a_browser.cookies, color_scheme="dark") as page:
        page.goto(ticket["page"])
        frames = {id: page.locator(f"#message{id} iframe") for id in (plain, colored)}
        inside = page.frame_locator(f"#message{colored} iframe")
        expect(inside.locator("body")).to_contain_text("News")
        expect(page.frame_locator(f"#message{plain} iframe").locator("body")).to_have_text("Which pump?")
        assert frames[plain].evaluate(LOOK) == [CLEAR, LIGHT_WORDS, False]
        assert frames[colored].evaluate(LOOK) == [WHITE, "rgb(27, 33, 41)", True]
        assert violations(page, part="#thread") == []
        inside.get_by_role("link", name="Show in dark").click()
        expect(inside.get_by_role("link", name="Show original")).to_be_visible()
        assert frames[colored].evaluate(LOOK) == [CLEAR, LIGHT_WORDS, False]
        inside.get_by_role("link", name="Show original").click()
        expect(inside.get_by_role("link", name="Show in dark")).to_be_visible()
        page.emulate_media(color_scheme="light")
        expect(inside.get_by_role("link", name="Show in dark")).to_be_hidden()


@pytest.mark.exhaustive("every way to unfold")
def test_a_key_unfolds_all_and_folds_them_again(page: Page, nora: Api, ticket: dict[str, Any]) -> None:
    for number in range(6):
        said(nora, ticket, f"Number {number}.")
    page.goto(ticket["page"])
    expect(page.locator(".turn[open]")).to_have_count(4)
    page.keyboard.press(";")
    expect(page.locator(".turn[open]")).to_have_count(7)
    expect(page.locator("[data-fold]")).to_have_text("Collapse all")
    assert violations(page, part="#thread") == []
    page.keyboard.press(";")
    expect(page.locator(".turn[open]")).to_have_count(0)
    assert violations(page, part="#thread") == []
    page.keyboard.press("j")
    page.keyboard.press("o")
    expect(page.locator(".turn[open]")).to_have_count(1)
    page.keyboard.press("?")
    expect(page.locator("#keys")).to_contain_text("Expand all")


def test_a_link_to_a_folded_message_unfolds_it(page: Page, nora: Api, ticket: dict[str, Any]) -> None:
    replied(nora, ticket["message"], "Which pump?")
    page.goto(f"{ticket['page']}#message{ticket['message']}")
    expect(page.locator(f"#message{ticket['message']} .turn")).to_have_attribute("open", "")


@pytest.mark.exhaustive("without scripts")
def test_without_scripts_a_link_leads_to_the_newest_message(
    chromium: Browser, server: Server, nora_in_a_browser: Visitor, nora: Api, ticket: dict[str, Any]
) -> None:
    for number in range(5):
        newest = said(nora, ticket, f"Number {number}.\n{LINES}")
    cookies = nora_in_a_browser.cookies
    with chromium.page(server.url, cookies=cookies, java_script_enabled=False) as page:
        page.goto(ticket["page"])
        page.get_by_role("link", name="Newest message").click()
        expect(page.locator(f"#message{newest}")).to_be_in_viewport()
        page.locator(f"#message{ticket['message']} summary").first.click()
        expect(page.locator(".said-text").first).to_be_visible()


@pytest.mark.exhaustive("every way to a ticket")
def test_going_back_returns_to_the_same_place(page: Page, nora: Api, ticket: dict[str, Any]) -> None:
    replied(nora, ticket["message"], LINES * 3)
    for number in range(3):
        said(nora, ticket, f"Number {number}.\n{LINES}")
    page.goto(ticket["page"])
    page.keyboard.press(";")
    place = page.locator(".said-list > li").nth(2)
    place.evaluate("each => each.scrollIntoView({ block: 'center', behavior: 'instant' })")
    before = place.bounding_box()
    page.goto("/help")
    page.go_back()
    expect(page.locator(".turn[open]")).to_have_count(5)
    expect(place).to_be_in_viewport(ratio=0.9)
    assert place.bounding_box() == before


# -- files ------------------------------------------------------------------------------------------------------------


PARTS = (
    ("list.csv", "text/csv", "name;city\nAna;Oslo"),
    ("page.html", "text/html", "<b>x</b>"),
    ("a.pdf", "application/pdf", "%PDF"),
)


def with_files(nora: Api, ticket: dict[str, Any]) -> None:
    parts = "".join(
        f"--b\nContent-Type: {kind}; name={name}\nContent-Disposition: attachment\n\n{content}\n"
        for name, kind, content in PARTS
    )
    head = f"From: ana@kite.example\nTo: support@desk.example\nSubject: Re: [#{ticket['mask']}] Pump\n"
    nora.parse(f"{head}Content-Type: multipart/mixed; boundary=b\n\n--b\n\nSee them.\n{parts}--b--\n").ok()


def test_a_key_shows_the_files_of_a_ticket_one_after_the_other(page: Page, nora: Api, ticket: dict[str, Any]) -> None:
    with_files(nora, ticket)
    page.goto(ticket["page"])
    page.keyboard.press("v")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("list.csv")
    expect(dialog.locator("pre")).to_have_text("name;city\nAna;Oslo")
    assert violations(page, part="dialog[open]") == []
    page.keyboard.press("ArrowRight")
    expect(dialog.locator("strong")).to_have_text("page.html")
    expect(dialog).to_contain_text("No preview")
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    page.get_by_role("link", name="list.csv", exact=True).click()
    expect(dialog.locator("pre")).to_contain_text("Oslo")


CALENDAR = """BEGIN:VCALENDAR
METHOD:REQUEST
BEGIN:VTIMEZONE
TZID:Europe/Berlin
END:VTIMEZONE
BEGIN:VEVENT
DTSTART;TZID=Europe/Berlin:20261126T140000
DTEND;VALUE=DATE:20261127
BEGIN:VALARM
DESCRIPTION:Reminder
END:VALARM
SUMMARY;LANGUAGE=en:Visit\\, and <b>tea</b>
ORGANIZER;CN="Ana: Lund":mailto:ana@kite.example
DESCRIPTION:We come by\\nwith the
  seal
LOCATION:
END:VEVENT
END:VCALENDAR
"""


@pytest.mark.exhaustive("every kind of file")
def test_an_appointment_is_shown_as_people_read_it(page: Page, nora: Api, ticket: dict[str, Any]) -> None:
    head = f"From: ana@kite.example\nTo: support@desk.example\nSubject: Re: [#{ticket['mask']}] Pump\n"
    part = f"--b\nContent-Type: application/ics; name=invite.ics\n\n{CALENDAR}\n--b--\n"
    nora.parse(f"{head}Content-Type: multipart/mixed; boundary=b\n\n--b\n\nCome!\n{part}").ok()
    page.goto(ticket["page"])
    page.get_by_role("link", name="invite.ics", exact=True).click()
    dialog = page.get_by_role("dialog")
    expect(dialog.locator("dt")).to_have_text(["Title", "Start", "End", "Organizer", "Description"])
    start, end = "Thursday, November 26, 2026 at 2:00 PM (Europe/Berlin)", "Friday, November 27, 2026"
    values = ["Visit, and <b>tea</b>", start, end, "ana@kite.example", "We come by with the seal"]
    expect(dialog.locator("dd")).to_have_text(values)
    assert violations(page, part="dialog[open]") == []


@pytest.mark.exhaustive("what may be framed is tested without a browser below")
def test_a_file_that_only_calls_itself_pdf_is_not_framed(page: Page, nora: Api, ticket: dict[str, Any]) -> None:
    """The viewer of a browser would show an error, which takes the keys. The headless shell has no viewer."""
    parts = "".join(
        f"--b\nContent-Type: application/pdf; name={name}\nContent-Disposition: attachment\n\n{content}\n"
        for name, content in (("real.pdf", "%PDF-1.4"), ("page.pdf", "<script>top.ran = 1</script>"))
    )
    head = f"From: ana@kite.example\nTo: support@desk.example\nSubject: Re: [#{ticket['mask']}] Pump\n"
    nora.parse(f"{head}Content-Type: multipart/mixed; boundary=b\n\n--b\n\nTwo files.\n{parts}--b--\n").ok()
    page.add_init_script("Object.defineProperty(Navigator.prototype, 'pdfViewerEnabled', { get: () => true })")
    page.route("**/files/*/real.pdf?shown=1", lambda route: route.fulfill(body="", content_type="text/plain"))
    page.goto(ticket["page"])
    page.get_by_role("link", name="page.pdf", exact=True).click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("No preview")
    page.keyboard.press("ArrowLeft")
    expect(dialog.locator("iframe")).to_have_attribute("src", re.compile(r"/files/\d+/real\.pdf\?shown=1$"))
    assert page.evaluate("window.ran") is None


def test_only_a_pdf_is_sent_for_a_frame_of_ours(signed_in: Visitor, nora: Api, ticket: dict[str, Any]) -> None:
    with_files(nora, ticket)
    page = signed_in.get(ticket["page"]).text
    files = {name: path for path, name in re.findall(r'href="(/files/\d+/([^"]+))"', page)}
    for name in ("list.csv", "page.html"):
        response = signed_in.get(f"{files[name]}?shown=1")
        assert response.headers["Content-Disposition"].startswith("attachment"), name
        assert (
            response.headers["Content-Security-Policy"].startswith("sandbox")
            and "html" not in response.headers["Content-Type"]
        )
    response = signed_in.get(f"{files['a.pdf']}?shown=1")
    assert (
        response.headers["Content-Disposition"].startswith("inline")
        and response.headers["Content-Type"] == "application/pdf"
    )
    assert "frame-ancestors 'self'" in response.headers["Content-Security-Policy"]
    assert response.headers["X-Content-Type-Options"] == "nosniff"


# -- what workers wrote -----------------------------------------------------------------------------------------------


def test_a_reply_is_drawn_without_a_frame_and_its_quotation_folded(
    page: Page, nora: Api, ticket: dict[str, Any]
) -> None:
    words = "It is **on** its way.\n\n<b onclick='x()'>Today</b>\n\n> Is it?"
    replied(nora, ticket["message"], words, content_format="markdown")
    page.goto(ticket["page"])
    reply = page.locator(".said-html")
    expect(reply.locator("strong")).to_have_text("on")
    assert reply.locator("[onclick], [style]").count() == 0
    expect(reply.locator("summary")).to_have_text("Quoted text")
    expect(reply.get_by_text("Is it?")).to_be_hidden()
    expect(page.locator(".sent iframe")).to_have_count(0)


@pytest.mark.parametrize(
    "html", ['<p style="color: red">Red.</p>', '<p><img src="https://kite.example/a.png">.</p>', "<p>x</p>" * 3000]
)
def test_a_reply_with_a_look_of_its_own_has_a_frame(
    signed_in: Visitor, nora: Api, ticket: dict[str, Any], html: str
) -> None:
    replied(nora, ticket["message"], html, content_format="html")
    page = signed_in.get(ticket["page"]).text
    assert "said-html" not in page and page.count('class="mail"') == 1
