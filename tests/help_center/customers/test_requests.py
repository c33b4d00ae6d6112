"""The tickets of a customer: list, search, conversation, replies, closing, colleagues, and their data."""

import re
from email.message import EmailMessage
from urllib.parse import urlencode

import pytest

from tests.api.fields_by_kind import png
from tests.help_center.customers.conftest import HOST, Customer, Desk, mail


@pytest.fixture(scope="module")
def ann(desk: Desk) -> Customer:
    desk.ids["pump"] = desk.ticket(
        "Ann Kite <ann@kite.example>", subject="Leaking pump", text="Water under the bridge."
    )
    desk.answer(desk.ids["pump"], "Please close the valve.", status=1)
    desk.mail()
    return desk.signed_in("ann@kite.example")


def path_of(ticket: dict[str, object]) -> str:
    return f"/requests/{ticket['mask']}"


def test_the_list_has_words_for_customers_and_filters(desk, ann):
    page = ann.texts("/requests")
    assert "Leaking pump" in page and "Waiting for you" in page and desk.ids["pump"]["mask"] in page
    assert "Leaking pump" in ann.texts("/requests?state=waiting")
    assert "Leaking pump" not in ann.texts("/requests?state=closed")
    assert "Leaking pump" in ann.texts("/requests?state=nonsense&page=99999999999&of=organization")
    assert "Ihre Anfragen" in ann.texts("/de/requests") or "/de/requests" in ann.texts("/de/requests")


@pytest.mark.parametrize(
    ("query", "is_found"),
    [
        ("leaking", True),
        ("LEÁKING pump", True),
        ("bridge", True),
        ("valve", True),
        ("{mask}", True),
        ("zanzibar", False),
        ("leaking zanzibar", False),
        ('"bridge" (', True),
        ("*", True),
        ("\x00", True),
        ("ticket.id:1", False),
        ("x" * 500, False),
    ],
)
def test_the_search(desk, ann, query, is_found):
    page = ann.texts(f"/requests?{urlencode({'q': query.format(mask=desk.ids['pump']['mask'])})}")
    assert (path_of(desk.ids["pump"]) in page) == is_found


def test_a_ticket_shows_its_public_conversation(desk, ann):
    page = ann.texts(path_of(desk.ids["pump"]))
    assert "Water under the bridge." in page and "Please close the valve." in page
    assert len(re.findall('class="turn[ "]', page)) == 2 and '<strong dir="auto">You</strong>' in page
    assert "Nora" not in page and "Berg" not in page, "the name that the sender of mail shows"
    assert "Support" in page


def test_a_reply_is_received_like_an_email_once(desk, ann):
    ticket = desk.ids["pump"]
    before = desk.api.record("ticket", ticket["id"]).ok()["num_messages"]
    sent = [ann.reply(ticket["mask"], "The valve\r\nis <b>closed</b>.", form="twice") for _ in range(2)]
    assert [each.status_code for each in sent] == [303, 303]
    assert sent[0].headers["Location"] == f"{path_of(ticket)}?done=sent#latest"
    shown = desk.api.record("ticket", ticket["id"]).ok()
    assert (shown["num_messages"], shown["status"]) == (before + 1, "open")
    message = desk.api.record("message", shown["latest_message_id"], expand="content,sender_").ok()
    assert message["content"].strip() == "The valve\nis <b>closed</b>." and not message["is_outgoing"]
    assert (message["sender_email"], message["is_stranger"], message["notes"]) == ("ann@kite.example", 0, [])
    page = ann.texts(f"{path_of(ticket)}?done=sent")
    assert "is &lt;b&gt;closed&lt;/b&gt;." in page and "Your message was sent." in page


def test_a_reply_keeps_the_invisible_characters_that_join_letters_and_emoji(desk, ann):
    ticket, text = desk.ids["pump"], "می\u200cخواهم 👨\u200d👩\u200d👧"
    assert ann.reply(ticket["mask"], f"{text}\x07").status_code == 303
    assert f"{text}<" in ann.texts(path_of(ticket))
    latest = desk.api.record("ticket", ticket["id"]).ok()["latest_message_id"]
    assert desk.api.record("message", latest, expand="content").ok()["content"].strip() == text


def test_files_go_along_and_come_back_as_downloads(desk, ann):
    ticket = desk.ids["pump"]
    files = [("files[]", ("plan ä.html", b"<script>alert(1)</script>", "text/html")), ("files[]", ("", b"", ""))]
    assert ann.reply(ticket["mask"], files=files).status_code == 303
    page = ann.texts(path_of(ticket))
    (path,) = re.findall(r'href="(/requests/[^"]+/files/[0-9]+/[^"]+)"', page)
    got = ann.get(path)
    assert got.status_code == 200 and got.content == b"<script>alert(1)</script>"
    assert got.headers["Content-Type"] == "application/octet-stream"
    assert got.headers["Content-Disposition"].startswith("attachment")
    assert got.headers["X-Content-Type-Options"] == "nosniff" and got.headers["Cache-Control"] == "no-store"
    assert desk.browser().get(path).headers["Location"].startswith("/sign-in?next=")


@pytest.mark.parametrize(
    ("text", "files", "status"),
    [
        ("", None, 422),
        ("   \n\t ", None, 422),
        ("x" * 50_001, None, 413),
        ("Eleven", [("files[]", (f"{each}.txt", b"x", "text/plain")) for each in range(11)], 422),
        ("Large", [("files[]", ("a.bin", bytes(11 * 1024 * 1024), "application/zip"))], 413),
    ],
    ids=["nothing", "blanks", "long", "many", "large"],
)
def test_a_refused_reply_stays_in_the_form(desk, ann, text, files, status):
    ticket = desk.ids["pump"]
    before = desk.api.record("ticket", ticket["id"]).ok()["num_messages"]
    page = ann.reply(ticket["mask"], text, files=files)
    assert page.status_code == status and 'role="alert"' in page.text and text.strip() in page.text
    assert desk.api.record("ticket", ticket["id"]).ok()["num_messages"] == before


def test_closing_and_opening(desk, ann):
    ticket = desk.ids["pump"]
    for _ in range(2):
        assert ann.post(f"{path_of(ticket)}/close").headers["Location"] == f"{path_of(ticket)}?done=closed"
    assert desk.api.record("ticket", ticket["id"]).ok()["status"] == "closed"
    page = ann.texts(path_of(ticket))
    assert "Open again" in page and "Close request" not in page
    assert ann.post(f"{path_of(ticket)}/reopen").status_code == 303
    assert desk.api.record("ticket", ticket["id"]).ok()["status"] == "open"
    (address,) = desk.api.found("address", "email:ann@kite.example")
    query = f"target.ticket:(id:{ticket['id']})"
    log = desk.api.search("activity_log", query).ok()["results"]
    acts = {(each["actor__context"], each["actor_id"], each["activity_point"]) for each in log}
    assert ("svc.contexts.address", address, "ticket.status.closed") in acts
    ann.post(f"{path_of(ticket)}/close")
    ann.reply(ticket["mask"], "It leaks again.")
    assert desk.api.record("ticket", ticket["id"]).ok()["status"] == "open"


def test_a_message_that_was_typed_survives_the_end_of_the_session(desk, ann):
    ticket, visitor = desk.ids["pump"], desk.browser()
    page = visitor.send("POST", f"{path_of(ticket)}/reply", {"text": "All my <words>", "form": "f1", "token": "x"})
    assert page.status_code == 401 and "All my &lt;words&gt;" in page.text and "/sign-in?next=" in page.text
    again = ann.send("POST", f"{path_of(ticket)}/reply", {"text": "All my <words>", "form": "f1"})
    assert again.status_code == 403 and "All my &lt;words&gt;" in again.text, "the form is of another session"
    assert ann.reply(ticket["mask"], "All my <words>", form="f1").status_code == 303


def test_colleagues_can_be_added(desk, ann):
    ticket = desk.ids["pump"]
    mine = f"{path_of(ticket)}/colleague"
    for email, status in (
        ("Bea@kite.example", 303),
        ("bea@kite.example", 303),
        ("eve@evil.example", 422),
        ("nora@desk.example", 422),
        ("support@desk.example", 422),
        ("nonsense", 422),
        ("", 422),
    ):
        page = ann.post(mine, email=email)
        assert page.status_code == status, email
    shown = desk.api.record("ticket", ticket["id"], expand="requester_emails").ok()["requester_emails"]
    assert sorted(shown.split(", ")) == ["ann@kite.example", "bea@kite.example"]
    bea = desk.signed_in("bea@kite.example")
    page = bea.texts(path_of(ticket))
    assert "Water under the bridge." in page and "ann@kite.example" not in page
    for each in range(8):
        assert ann.post(mine, email=f"colleague{each}@kite.example").status_code == 303
    assert ann.post(mine, email="one-more@kite.example").status_code == 409


def test_a_merged_ticket_leads_to_the_one_that_is_left(desk, ann):
    one = desk.ticket("ann@kite.example", subject="First of two")
    two = desk.ticket("ann@kite.example", subject="Second of two")
    desk.api.post("/rest/tickets/merge.json", **{"ticket_ids[]": [one["id"], two["id"]]}).ok()
    tickets = [desk.api.record("ticket", each["id"]).json for each in (one, two)]
    left = next(each for each in tickets if each["status"] != "deleted")
    gone = next(each for each in tickets if each["status"] == "deleted")
    assert ann.get(path_of(gone)).headers["Location"] == path_of(left)


def test_the_data_of_a_customer_is_offered_with_its_limits(desk, ann):
    page = ann.texts("/your-data")
    assert "up to 500 MB of files" in page
    assert ann.send("POST", "/your-data/download", {}).status_code == 403


def test_erasure_becomes_a_ticket_once_a_day(desk, ann):
    group = desk.api.create("group", name="Privacy").ok()["id"]
    desk.api.update("brand", desk.ids["brand"], privacy_group_id=group).ok()
    for _ in range(2):
        assert ann.post("/your-data/erasure").headers["Location"] == "/your-data?done=asked"
    (ticket,) = desk.api.search("ticket", f"group.id:{group}").ok()["results"]
    assert ticket["subject"] == "Request to erase personal data"
    assert ticket["mask"] in ann.texts("/requests")
    assert f"https://{HOST}" not in ann.texts("/your-data")


def test_html_is_shown_apart_without_scripts_and_foreign_images(desk, ann):
    raw = mail(
        "ann@kite.example",
        subject="Formatted",
        Content_Type="text/html; charset=utf-8",
        MIME_Version="1.0",
        text='<p style="color:red" onclick="x()">Red</p><script>alert(1)</script><img src="https://evil.example/p.png">',
    )
    ticket = desk.api.record("ticket", desk.api.parse(raw).ok()["id"]).json
    page = ann.texts(path_of(ticket))
    (path,) = re.findall(r'href="(/requests/[^"]+/messages/[0-9]+)"', page)
    shown = ann.get(path)
    assert shown.status_code == 200 and "Red" in shown.text
    assert "evil.example" not in shown.text and "script" not in shown.text and "onclick" not in shown.text
    policy = shown.headers["Content-Security-Policy"]
    assert "sandbox" in policy and "script-src" not in policy and "default-src 'none'" in policy
    assert "allow-scripts" not in policy and "allow-same-origin" not in policy


def test_the_images_of_an_email_are_inside_its_document(desk, ann):
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = "ann@kite.example", "support@desk.example", "Picture"
    message["Message-ID"] = "<picture@kite.example>"
    message.set_content('<p>See <img src="cid:pump"></p>', subtype="html")
    message.add_related(png(60, 60), "image", "png", cid="<pump>", filename="pump.png")
    ticket = desk.api.record("ticket", desk.api.parse(message.as_bytes()).ok()["id"]).json
    page = ann.texts(path_of(ticket))
    (path,) = re.findall(r'href="(/requests/[^"]+/messages/[0-9]+)"', page)
    shown = ann.texts(path)
    assert 'src="data:image/png;base64,' in shown and "/files/" not in shown and "pump.png" in page
