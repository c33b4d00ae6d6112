"""Recipes for email and due times, each created on a running server and given real email."""

import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from tests.api.post import text_of
from tests.automation.told import Told, told_office
from tests.cookbook.desk import changed, mail, notifications, recipe
from tests.outbound.peer import Asked, answer

GERMAN = "Guten Tag, ich habe die Pumpe und bitte um eine Antwort, sie ist nicht dicht"
CARD, ALMOST = "4111 1111 1111 1111", "4111 1111 1111 1112"
_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Told]:
    with told_office(tmp_path_factory.mktemp("mail")) as opened:
        yield opened


def sender() -> str:
    return f"bo{next(_numbers)}@kite.example"


def ticket_of(office: Told, raw: str, expand: str = "") -> dict[str, Any]:
    """The ticket that an email created."""
    return office.api.record("ticket", office.api.parse(raw).ok()["id"], expand=expand).ok().json


# -- routing


@pytest.fixture(scope="module")
def routing(office: Told) -> Iterator[dict[str, int]]:
    """Ids of the groups that email is routed to."""
    ids = {"words": office.api.ids["private"], "usual": office.api.ids["support"]}
    ids["german"] = office.api.create("group", name="Deutsch").ok()["id"]
    answers = {"words_group_id": ids["words"], "language_group_id": ids["german"], "words": "refund, {{1}}, rechnung"}
    with recipe(office, "routing", **answers):
        yield ids


@pytest.mark.parametrize(("subject", "text", "headers", "group"), [
    ("Refund!", "Please", {}, "words"),
    ("Where is it", "I want a REFUND, now", {}, "words"),
    ("Refunds", "of others", {}, "usual"),
    ("Pumpe", GERMAN, {}, "german"),
    ("Rechnung", GERMAN, {}, "words"),
    ("Pumpe", "Die ist alt", {}, "usual"),
    ("Hallo", "kurz", {"Content_Language": "de-AT"}, "german"),
    ("Hello", GERMAN, {"Content_Language": "en"}, "usual"),
    ("{{1}} {% if %}", "x {{email_subject", {}, "usual"),
    ("Long", "word " * 100_000, {}, "usual"),
])  # fmt: skip
def test_email_goes_to_a_group_by_words_and_language(
    office: Told, routing: dict[str, int], subject: str, text: str, headers: dict[str, str], group: str
) -> None:
    assert ticket_of(office, mail(sender(), subject, text, **headers))["group_id"] == routing[group]


def test_a_reply_stays_where_its_ticket_is(office: Told, routing: dict[str, int]) -> None:
    who = sender()
    first = ticket_of(office, mail(who, "Boat", Message_ID="<first@kite.example>"))
    again = ticket_of(office, mail(who, "Re: Boat", "A refund", In_Reply_To="<first@kite.example>"))
    assert (again["id"], again["group_id"]) == (first["id"], routing["usual"])


# -- card numbers


@pytest.fixture(scope="module")
def masking(office: Told) -> Iterator[None]:
    with recipe(office, "masking"):
        yield


@pytest.mark.parametrize(("text", "stored"), [
    (f"It is {CARD}.", "It is **** **** **** 1111."),
    ("5555-5555-5555-4444, 378282246310005", "**** **** **** 4444, **** **** **** 0005"),
    (f"Order {ALMOST}", f"Order {ALMOST}"),
    ("Tracking 12345678901234567890123456789", "Tracking 12345678901234567890123456789"),
    ("Call +49 30 1234567 on 2026-11-20", "Call +49 30 1234567 on 2026-11-20"),
    ("{{ 4111111111111111 }} {% raw %}", "{{ **** **** **** 1111 }} {% raw %}"),
])  # fmt: skip
def test_card_numbers_are_masked_in_subject_and_text(office: Told, masking: None, text: str, stored: str) -> None:
    ticket = ticket_of(office, mail(sender(), text[:60], text), expand="latest_message_content")
    assert ticket["latest_message_content"].strip() == stored
    assert ticket["subject"] == stored
    for digits in ("4111111111111111", "4111", "5555", "378282246310005"):
        assert office.api.found("ticket", f"id:{ticket['id']} {digits}") == [] or digits in stored, digits
    message = office.api.record("message", ticket["latest_message_id"], expand="headers").ok()
    assert "4111 1111 1111 1111" not in str(message.json) and "4111111111111111" not in str(message.json)


def test_card_numbers_are_masked_in_html_and_no_longer_searchable(office: Told, masking: None) -> None:
    plain = "Content-Type: text/plain\r\n\r\nSee the picture"
    html = "Content-Type: text/html\r\n\r\n<p>Pay 4111&nbsp;1111&nbsp;1111&nbsp;1111 and 5555555555554444</p>"
    parts = f"--x\r\n{plain}\r\n--x\r\n{html}\r\n--x--"
    kind = {"MIME_Version": "1.0", "Content_Type": "multipart/alternative; boundary=x"}
    ticket = ticket_of(office, mail(sender(), "Card", parts, **kind))
    assert office.api.found("ticket", f"id:{ticket['id']} 5555555555554444") == []
    id = office.api.record("message", ticket["latest_message_id"]).ok()["html_attachment_id"]
    shown = office.api.get(f"/rest/attachments/{id}/download.json").content.decode()
    assert "**** **** **** 1111" in shown and "4111" not in shown


# -- VIP


def test_vip_tickets_are_important_and_notify_some_workers(office: Told) -> None:
    with recipe(office, "vip", worker_ids=[office.api.ids["milo"], office.api.ids["dora"]], importance="80") as made:
        field = f"custom_{made.ids['field']}"
        for name, is_vip in (("Kite", 1), ("Larch", 0)):
            org = office.api.create("org", name=name, **{field: is_vip}).ok()["id"]
            office.api.create("address", email=f"{name.lower()}@vip.example", org_id=org).ok()
        usual = ticket_of(office, mail("larch@vip.example", "Usual"))
        first = changed(
            office, "ticket", lambda: office.api.parse(mail("kite@vip.example", "Sinks {{1}}")).ok(),
            lambda ticket: ticket["importance"] == 80,
        )  # fmt: skip
        assert notifications(office, "milo")[0] == "VIP Kite wrote: Sinks {{1}}"
        assert (first["subject"], office.api.record("ticket", usual["id"]).ok()["importance"]) == ("Sinks {{1}}", 50)
        assert [each for each in notifications(office, "milo") if "Larch" in each] == []


# -- escalation


def test_a_missed_first_reply_is_escalated_in_its_group_alone(office: Told) -> None:
    group = office.api.create("group", name="Late", members={"member": str(office.api.ids["milo"])}).ok()["id"]
    with recipe(office, "escalation", group_id=group, minutes="60", worker_ids=[office.api.ids["milo"]]) as made:
        late = {"subject": "Late", "created": "2 hours ago"}
        office.api.create("ticket", group_id=office.api.ids["support"], **late).ok()
        note = changed(office, "comment", lambda: office.api.create("ticket", group_id=group, **late).ok())
        ticket = office.api.record("ticket", note["target_id"]).ok()
        assert (ticket["group_id"], ticket["importance"]) == (group, 100)
        assert note["comment"].startswith("Nobody answered in time. The first reply was due 20")
        assert notifications(office, "milo")[0].startswith("Nobody answered in time: ")
        assert made.logged("escalate") == []


# -- silent tickets


def test_a_silent_ticket_gets_one_notice_and_is_closed(office: Told) -> None:
    silent, answered, fresh = (office.ticket()[0] for _ in range(3))
    for id in (silent, answered):
        office.api.update("ticket", id, status="waiting", updated="10 days ago").ok()
    office.api.update("ticket", fresh, status="waiting").ok()
    asked = {"worker_id": office.api.ids["milo"], "days": "7", "grace_days": "0", "notice": "Bye in (days) days {{1}}"}
    with recipe(office, "auto-close", **asked) as made:
        made.run_timer()
        mails = [office.mail() for _ in range(2)]
        assert all("Bye in 0 days {{1}}" in text_of(each) for each in mails)
        who = office.api.record("ticket", answered, expand="requester_emails").ok()["requester_emails"]
        (notice,) = [each for each in mails if who in str(each["To"])]
        reply = mail(who, "Re: Boat", "Still here", In_Reply_To=str(notice["Message-ID"]))
        assert office.api.parse(reply).ok()["id"] == answered
        made.run_timer()
        statuses = [office.api.record("ticket", id).ok()["status"] for id in (silent, answered, fresh)]
        assert statuses == ["closed", "open", "waiting"] and made.logged("close") == []
        for each in (silent, answered):
            sent = office.api.found("message", f"ticket.id:{each} isOutgoing:yes")
            assert len(sent) == 2  # its first message and one notice


# -- summary


def test_the_daily_summary_is_mailed_and_notified(office: Told) -> None:
    with recipe(office, "summary", to="boss@desk.example", worker_ids=[office.api.ids["nora"]]) as made:
        made.run_timer()
        sent = office.mail()
        assert sent["To"] == "boss@desk.example" and str(sent["Subject"]).startswith("Tickets on ")
        lines = text_of(sent).strip().splitlines()
        is_open = office.api.search("ticket", "status:open", limit=1).ok()["total"]
        assert f"open: {is_open}" in lines and lines[0].startswith("New since yesterday: ")
        assert notifications(office, "nora")[0].startswith("New since yesterday: ")
        assert made.logged("summary") == []


# -- enrichment


def test_a_lookup_that_fails_is_tried_again_and_the_report_too(office: Told) -> None:
    asked: list[str] = []

    def look(request: Asked) -> bytes:
        asked.append(f"{request.method} {request.header('authorization')} {request.target.partition('?')[2]}")
        if request.method == "POST":
            return answer("{}", content_type="application/json")
        if len(asked) == 1:
            return answer("later", 503)
        return answer(
            '{"plan": "<b>gold</b>", "since": [2020, 1], "x": "' + "y" * 400 + '"}', content_type="application/json"
        )

    office.peer.answers["/people"] = look
    with recipe(office, "enrich", url=office.peer.url("/people"), api_key="key-1") as made:
        who = sender()
        id = ticket_of(office, mail(f"Bo <{who}>", "Boat"))["id"]
        note = None
        while note is None:  # the first lookup fails in the background; the timer finds its entry as soon as it is due
            made.run_timer()
            notes = office.api.search("comment", f"on.ticket:(id:{id})").ok()["results"]
            note = notes[0]["comment"] if notes else None
        assert note.startswith("plan: <b>gold</b>, since: [2020,1], x: yyy") and len(note) < 400
        assert asked[0] == asked[1] == f"GET Bearer key-1 email={who.replace('@', '%40')}"
        assert asked[2].startswith("POST Bearer key-1")
