"""The desk in daily work: long conversations, several replies at once, keys, and changes of many tickets. For single
forms without scripts see test_tickets.py."""

import re
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from tests.console.browser import Browser, violations
from tests.console.test_ticket_trials import SECRET, hidden, mailed, milo
from tests.console.visitor import Visitor, place, text_of, value
from tests.service import Api, Server

__all__ = ["hidden", "milo"]  # fixtures
names = pytest.mark.parametrize
MOST_HTML = 112 * 1024  # largest size of a page


@pytest.fixture
def ticket(nora: Api, request: pytest.FixtureRequest) -> dict[str, Any]:
    return mailed(nora, f"Pump of {request.node.name[:60]}")


@pytest.fixture(scope="module")
def long(nora: Api) -> dict[str, Any]:
    """A ticket with 100 messages, each with a quotation, and a note among them."""
    made = nora.create("ticket", subject="A long story", group_id=nora.ids["support"]).ok().json
    text = "\n".join(["It goes on and on, and on this line as well."] * 8 + ["On Monday Ida wrote:", "> Older words"])
    for number in range(100):
        nora.create("message", ticket_id=made["id"], sender="ana@kite.example", headers="From: ana@kite.example\r\n",
                    created=1000 + number, content=f"Number {number}.\n{text}").ok()  # fmt: skip
    return {**made, "page": f"/tickets/{made['mask']}"}


# -- a long conversation ----------------------------------------------------------------------------------------------


def test_a_long_ticket_stays_small_and_older_messages_come_on_demand(
    page: Page, nora: Api, long: dict[str, Any]
) -> None:
    assert len(page.request.get(long["page"]).body()) < MOST_HTML
    page.goto(long["page"])
    articles = page.locator("#thread article")
    expect(articles).to_have_count(20)
    expect(articles.first).to_contain_text("Number 80.")
    page.get_by_role("link", name="Show earlier messages").press("Enter")
    expect(articles).to_have_count(40)
    expect(articles.first).to_contain_text("Number 60.")
    expect(page.get_by_role("link", name="Show earlier messages (60 more)")).to_be_visible()
    assert page.url.endswith(long["page"]), "what was fetched is no page of its own"
    expect(page.locator("article:focus")).to_contain_text("Number 79.")
    nora.create("message", ticket_id=long["id"], sender="ana@kite.example", headers="From: a@b.example\r\n",
                content="The newest.").ok()  # fmt: skip
    expect(articles.last).to_contain_text("The newest.")
    expect(articles.first).to_contain_text("Number 60.")
    expect(page.locator("[data-changed]")).to_contain_text("Message from")
    assert violations(page, part="#thread") == []
    page.locator("[data-changed] a").click()
    expect(page.locator("[data-changed]")).not_to_be_empty()
    page.get_by_role("button", name="Close the message").first.click()
    expect(page.locator("[data-changed]")).to_be_hidden()


def test_property_changes_are_hidden_and_shown_again(signed_in: Visitor, nora: Api, ticket: dict[str, Any]) -> None:
    nora.update("ticket", ticket["id"], owner_id=nora.ids["milo"]).ok()
    page = signed_in.get(f"{ticket['page']}?in=status:open&at=1").text
    assert 'class="event"' in page
    [address] = re.findall(r'href="([^"]*log=0[^"]*)"', page)
    page = signed_in.get(address.replace("&amp;", "&")).text
    assert 'class="event"' not in page and "in=status" in address
    [address] = re.findall(r'href="([^"]*)" data-reload>Show activity', page)
    assert 'class="event"' in signed_in.get(address.replace("&amp;", "&")).text


def test_long_texts_do_not_enlarge_the_page(signed_in: Visitor, nora: Api) -> None:
    made = nora.create("ticket", subject="Long texts", group_id=nora.ids["support"]).ok().json
    for number in range(20):
        nora.create("message", ticket_id=made["id"], sender="ana@kite.example", headers="From: ana@kite.example\r\n",
                    created=1000 + number, content=f"Number {number}. " + "word " * 4000).ok()  # fmt: skip
    page = signed_in.get(f"/tickets/{made['mask']}").text
    assert len(page.encode()) < MOST_HTML and all(f"Number {number}." in page for number in range(20))
    assert page.count("Show the whole message") == 20


# -- several replies --------------------------------------------------------------------------------------------------


def test_switching_the_kind_of_reply_needs_no_page_and_loses_no_word(page: Page, ticket: dict[str, Any]) -> None:
    page.goto(f"{ticket['page']}?in=status:open&at=1")
    page.evaluate("window.same = true")
    for key, first, field, text in (
        ("r", "#content", "#content", "To her"),
        ("f", "#to", "#content", "To him"),
        ("n", "#note", "#note", "To us"),
    ):
        page.keyboard.press(key)
        expect(page.locator(first)).to_be_focused()
        page.locator(field).focus()
        page.keyboard.press("Control+Home")
        page.keyboard.type(text)
        page.keyboard.press("Escape")
    for key, field, text in (("r", "#content", "To her"), ("f", "#content", "To him"), ("n", "#note", "To us")):
        page.keyboard.press(key)
        expect(page.locator(field)).to_have_value(re.compile(rf"^{text}"))
        page.keyboard.press("Escape")
    assert page.evaluate("window.same") and "in=status" in page.url and "answer=note" in page.url
    page.reload()
    expect(page.locator("#note")).to_have_value("To us")
    expect(page.locator(".answer")).to_contain_text("You have a draft of a reply")
    page.locator("#note").press("Control+Enter")
    expect(page.locator("#thread")).to_contain_text("To us")
    page.goto(f"{ticket['page']}?answer=note")
    expect(page.locator("#note")).to_have_value("")


def test_the_preview_needs_no_stored_draft(page: Page, ticket: dict[str, Any]) -> None:
    page.goto(f"{ticket['page']}?answer=reply#answer")
    expect(page.locator("#content")).to_be_focused()
    expect(page.locator("[data-tools]:not([inert])")).to_be_visible()  # which also enables its keys
    page.keyboard.type("It is **attached**.")
    page.keyboard.press("Control+Shift+M")
    preview = page.frame_locator("iframe.preview")
    expect(preview.locator("strong")).to_have_text("attached")
    expect(page.get_by_text("You mention a file, but nothing is attached.")).to_be_visible()
    page.locator("#files").set_input_files([{"name": "a.txt", "mimeType": "text/plain", "buffer": b"A"}])
    expect(page.get_by_role("checkbox", name="a.txt")).to_be_checked()
    expect(page.get_by_text("You mention a file, but nothing is attached.")).to_be_hidden()
    page.locator("#content").press("Control+Shift+Enter")
    expect(page.locator("#send_at")).to_be_focused()
    page.evaluate("scrollTo(0, 0)")  # a target that the head of the ticket covers in part would be too small
    assert violations(page, part="#answer") == []
    page.get_by_role("button", name="Discard").click()
    expect(page.locator("#toasts")).to_contain_text("Draft discarded.")


@pytest.mark.exhaustive("undo by a key is tested in test_shell.py")
def test_a_sent_reply_is_undone_from_the_next_page(page: Page, nora: Api, ticket: dict[str, Any]) -> None:
    page.goto(f"{ticket['page']}?answer=reply#answer")
    expect(page.locator("#content")).to_be_focused()
    page.keyboard.type("Too early")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#toasts")).to_contain_text("Sending in")
    page.goto("/inbox")
    expect(page.locator("#toasts")).to_contain_text("Sending in")
    page.keyboard.press("z")
    expect(page.locator("#toasts")).to_contain_text("Sending cancelled. Your draft is back.")
    expect(page.locator("#content")).to_have_value("Too early")
    page.goto("/inbox")
    expect(page.locator("#toasts .toast form")).to_have_count(0)


def test_a_message_is_sent_again_after_a_review(signed_in: Visitor, nora: Api, ticket: dict[str, Any]) -> None:
    head = "From: support@desk.example\r\nTo: bo@kite.example\r\nCc: cy@kite.example\r\n"
    sent = nora.create("message", ticket_id=ticket["id"], sender="support@desk.example", is_outgoing=1, headers=head,
                       content="As I wrote.", worker_id=nora.ids["nora"]).ok()["id"]  # fmt: skip
    page = signed_in.get(f"{ticket['page']}?answer=again&to={sent}").text
    assert (value(page, "to"), value(page, "cc")) == ("bo@kite.example", "cy@kite.example")
    assert (
        f'name="message" value="{sent}"' in page
        and "As I wrote.</textarea>" in page
        and f"answer=again&amp;to={sent}" in page
    )
    other = mailed(nora, "Another")
    for number in (ticket["message"], other["message"]):
        assert signed_in.get(f"{ticket['page']}?answer=again&to={number}").status_code == 404


def test_a_signature_is_in_a_new_reply_and_does_not_count_as_text(
    signed_in: Visitor, nora: Api, ticket: dict[str, Any]
) -> None:
    group = nora.ids["support"]
    before = nora.record("group", group, "").ok()["reply_signature_id"]
    made = nora.create(
        "email_signature", name="Ours", signature="Support of the desk", owner__context="app", owner_id=0
    ).ok()["id"]
    nora.update("group", group, reply_signature_id=made).ok()
    try:
        page = signed_in.get(f"{ticket['page']}?answer=reply").text
        assert "\n\n\n#signature</textarea>" in page and "Support of the desk" in text_of(page)
        form = {
            "kind": "reply",
            "message": str(ticket["message"]),
            "to": "ana@kite.example",
            "content": "\n\n#signature",
        }
        response = signed_in.send(f"{ticket['page']}/answer", form, page=ticket["page"])
        assert response.status_code == 422
    finally:
        nora.update("group", group, reply_signature_id=before).ok()


def test_the_text_of_a_mail_is_shown_as_text(signed_in: Visitor, nora: Api) -> None:
    hostile = "<script>alert(1)</script>"
    made = nora.parse(
        "From: ana@kite.example\nTo: support@desk.example\nSubject: Two parts\nMIME-Version: 1.0\n"
        'Content-Type: multipart/alternative; boundary="b"\n\n--b\nContent-Type: text/plain\n\nPlain ' + hostile +
        "\n--b\nContent-Type: text/html\n\n<p>Rich</p>\n--b--\n"
    ).ok()  # fmt: skip
    [message] = nora.found("message", f"ticket.id:{made['id']}")
    text = signed_in.get(f"/messages/{message}/body?text=1")
    assert "Plain &lt;script&gt;" in text.text and "Rich" not in text.text
    assert "default-src 'none'" in text.headers["Content-Security-Policy"]


def test_a_reply_leads_back_to_the_place_in_the_list(signed_in: Visitor, ticket: dict[str, Any]) -> None:
    here, form = ticket["page"], {"kind": "reply", "message": str(ticket["message"]), "content": "Yes.", "do": "save"}
    back = f"{here}?in=status:open&at=3&from=/inbox&answer=reply&back=1"
    led = place(signed_in.send(f"{here}/answer", form | {"back": back}, page=here))
    assert led.startswith(f"{here}?in=status%3Aopen&at=3&from=%2Finbox#")
    for wrong in (
        "https://evil.example/?in=x",
        "//evil.example?in=x",
        "/tickets/OTHER?in=x",
        f"{here}?next=//evil.example",
    ):
        form |= {"back": wrong, "content": f"Yes, {wrong}."}
        assert place(signed_in.send(f"{here}/answer", form, page=here)).partition("#")[0] == here


def test_the_outgoing_identity_follows_the_chosen_group(
    signed_in: Visitor, milo: Visitor, nora: Api, hidden: dict[str, Any]
) -> None:
    [bucket] = nora.found("bucket", f"group.id:{nora.ids['support']}")[:1]
    assert signed_in.get(f"/-/way?bucket={bucket}").text.strip()
    private = nora.record("ticket", hidden["id"], "").ok()["bucket_id"]
    for unknown in (private, "x", "", 999999):
        assert milo.get(f"/-/way?bucket={unknown}").text.strip() == "", unknown


def test_the_shown_request_is_the_one_that_the_form_makes(
    signed_in: Visitor, nora: Api, ticket: dict[str, Any]
) -> None:
    page = text_of(signed_in.get(ticket["page"]).text)
    assert f"message_id={ticket['message']}" in page and "to=ana@kite.example" in page, page[-3000:]
    page = signed_in.get("/compose").text
    bucket = re.findall(r'<option value="(\d+)"', page)[0]
    group = nora.record("bucket", int(bucket)).ok()["group_id"]
    assert f"group_id={group}" in page and f"bucket_id={bucket}" in page
    form = {"do": "send", "subject": "Half", "to": "nobody at all", "content": "As it was", "bucket": bucket}
    page = text_of(signed_in.send("/compose", form, page="/compose").text)
    assert "subject=Half" in page and "content=As it was" in page
    for wrong in ("999999", "x"):
        response = signed_in.send("/compose", form | {"bucket": wrong}, page="/compose")
        assert response.status_code == 422 and "As it was</textarea>" in response.text, wrong


# -- keys -------------------------------------------------------------------------------------------------------------


@pytest.mark.exhaustive("every key")
def test_every_key_of_a_ticket_is_listed_and_works(page: Page, ticket: dict[str, Any]) -> None:
    page.goto(f"{ticket['page']}?in=status:open&at=1")
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map(each => each.id)")
    assert len(ids) == len(set(ids)), sorted(each for each in ids if ids.count(each) > 1)
    for key, field in (
        ("w", "wait-until"),
        ("a", "ticket-owner"),
        ("m", "place"),
        ("l", "link-type"),
        ("s", "subject-line"),
    ):
        page.keyboard.press(key)
        expect(page.locator(f"#{field}")).to_be_focused()
        page.keyboard.press("Escape")
        page.locator(f"#{field}").blur()
    page.evaluate("navigator.clipboard.writeText = async text => { (window.copied ??= []).push(text); }; 0")
    for _ in range(3):
        page.keyboard.press(".")
    mask = ticket["page"].rpartition("/")[2]
    copied = page.evaluate("window.copied")
    assert (
        copied[0] == mask
        and copied[1].startswith(f"{mask} Pump of")
        and copied[2] == f"{copied[1]} {page.url.partition('?')[0]}"
    )
    page.keyboard.press("?")
    keys = page.get_by_role("dialog", name="Keyboard shortcuts")
    for told in (
        "Copy the mask", "Change the subject", "Add a link", "Snooze", "Group", "Close", "Delete",
        "Assign to me", "Reply", "Forward", "Note", "select the row", "send later", "go to Tasks",
    ):  # fmt: skip
        expect(keys).to_contain_text(told)
    page.keyboard.press("Escape")
    for keys_, path in ((("c",), "/compose"), (("g", "t"), "/search/task"), (("g", "o"), "/search/org")):
        for key in keys_:
            page.keyboard.press(key)
        page.wait_for_url(f"**{path}")


# -- many tickets -----------------------------------------------------------------------------------------------------


def test_all_matching_tickets_are_changed_and_restored(signed_in: Visitor, nora: Api) -> None:
    made = [mailed(nora, f"Zebra {number}")["id"] for number in range(4)]
    query = "subject:zebra* status:open"
    form = {"list": "/inbox", "do": "close", "every": "1", "query": query, "ids[]": [str(made[0])]}
    assert "All 4 that match" in text_of(signed_in.get(f"/search/ticket?limit=2&q={quote(query)}").text)
    assert signed_in.send("/-/bulk", form, page="/inbox").status_code == 303
    page = signed_in.get("/inbox").text
    assert nora.found("ticket", query) == [] and "4 tickets closed." in text_of(page)
    fields = dict(re.findall(r'name="([^"]+)" value="([^"]*)"', page.split('<div class="toast">')[1]))
    fields["before"] = fields["before"].replace("&#34;", '"')
    assert signed_in.post("/-/bulk/undo", fields).status_code == 303
    assert sorted(nora.found("ticket", query)) == sorted(made)
    wrong = signed_in.send("/-/bulk", form | {"query": "stauts:open"}, page="/inbox")
    assert wrong.status_code in (400, 422) and "status" in text_of(wrong.text)


@pytest.fixture(scope="module")
def many(nora: Api) -> str:
    """A search that finds more tickets than can be changed at once."""
    for number in range(401):
        nora.create("ticket", subject=f"Swarm {number}", group_id=nora.ids["support"]).ok()
    return "subject:swarm*"


@pytest.mark.exhaustive("hundreds of tickets")
def test_of_too_many_the_first_are_changed(signed_in: Visitor, nora: Api, many: str) -> None:
    listed = signed_in.get(f"/search/ticket?limit=2&q={quote(many)}").text
    assert "The first 400 of 401 that match" in text_of(listed)
    form = {"list": "/inbox", "do": "note", "every": "1", "query": many}
    response = signed_in.send("/-/bulk", form, page="/inbox")
    assert response.status_code == 303 and place(response).count("%2C") == 99
    assert "The first 100 are selected. 301 more match." in text_of(signed_in.get(place(response)).text)
    response = signed_in.send("/-/bulk", form | {"do": "close", "query": f"{many} status:open"}, page="/inbox")
    assert response.status_code == 303
    assert "400 tickets closed. 1 more matches." in text_of(signed_in.get("/inbox").text)
    assert nora.search("ticket", f"{many} status:open").ok()["total"] == 1


def test_all_means_all_that_the_worker_may_change(
    milo: Visitor, signed_in: Visitor, nora: Api, hidden: dict[str, Any]
) -> None:
    mask = nora.record("ticket", hidden["id"], "").ok()["mask"]
    signed_in.send(f"/tickets/{mask}/presence", {"doing": "viewing"}, page="/inbox")
    form = {"list": "/inbox", "do": "close", "every": "1", "query": f"mask:{mask}"}
    milo.send("/-/bulk", form, page="/inbox")
    assert nora.record("ticket", hidden["id"], "").ok()["status"] == "open"
    told = milo.get(f"/-/news?q=&ids={hidden['id']}&since=0").json()
    assert told["here"] == {} and SECRET not in str(told)


def test_several_tickets_get_a_note_or_are_merged(signed_in: Visitor, nora: Api) -> None:
    made = [mailed(nora, f"Twin {number}") for number in range(3)]
    ids = [str(each["id"]) for each in made]
    asked = signed_in.send("/-/bulk", {"list": "/inbox", "do": "note", "ids[]": ids}, page="/inbox")
    page = place(asked)
    assert page.startswith("/inbox/note?") and "Add 3 notes" in text_of(signed_in.get(page).text)
    blank = signed_in.send("/inbox/note", {"ids[]": ids, "note": " "}, page=page)
    assert blank.status_code == 422 and "Write a note first." in text_of(blank.text)
    assert signed_in.send("/inbox/note", {"ids[]": ids, "note": "All the same."}, page=page).status_code == 303
    assert "3 notes added." in text_of(signed_in.get("/inbox").text)
    for each in made:
        assert "All the same." in text_of(signed_in.get(each["page"]).text)
    page = f"/inbox/merge?ids={','.join(ids)}"
    assert "3 tickets are merged into the oldest" in text_of(signed_in.get(page).text)
    merged = signed_in.send("/inbox/merge", {"ids[]": ids}, page=page)
    assert place(merged) == made[0]["page"]
    assert nora.search("message", f"ticket.id:{ids[0]}").ok()["total"] == 3


def test_a_list_shows_what_is_new_and_who_is_present(
    chromium: Browser, page: Page, server: Server, visitor: Visitor, nora: Api
) -> None:
    first = mailed(nora, "Heron one")
    page.goto(f"/search/ticket?q={quote('subject:heron* status:open')}")
    expect(page.locator("[data-news]")).to_be_hidden()
    visitor.sign_in("milo@desk.example")
    with chromium.page(server.url, cookies=visitor.cookies) as other:
        other.goto(first["page"])
        expect(page.locator(".here").first).to_have_text("Milo Test is viewing")
        assert violations(page, part="#list") == []
    mailed(nora, "Heron two")
    expect(page.locator("[data-news]")).to_contain_text("1 new or changed.")
    page.locator("[data-news] a").click()
    expect(page.locator(".table tbody tr")).to_have_count(2)
    expect(page.locator("[data-news]")).to_be_hidden()


def test_one_custom_field_is_set_and_leads_back_to_the_ticket(
    signed_in: Visitor, nora: Api, ticket: dict[str, Any]
) -> None:
    field = nora.create("custom_field", name="Colour", uri="colour_of_desk", type="T", context="ticket").ok()["id"]
    nora.update("ticket", ticket["id"], **{f"custom_{field}": "blue"}).ok()
    page = signed_in.get(ticket["page"]).text
    [address] = re.findall(rf'href="(/records/ticket/set\?ids={ticket["id"]}&amp;field=custom_{field}[^"]*)"', page)
    form = signed_in.get(address.replace("&amp;", "&")).text
    assert f'id="custom_{field}"' in form and "blue</textarea>" in form
    sent = {"field": f"custom_{field}", "ids[]": [str(ticket["id"])], f"custom_{field}": "red", "back": ticket["page"]}
    assert place(signed_in.send("/records/ticket/set", sent, page=ticket["page"])) == ticket["page"]
    assert nora.record("ticket", ticket["id"], f"custom_{field}").ok()[f"custom_{field}"] == "red"
