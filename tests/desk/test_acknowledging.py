"""Automatic acknowledgement of the first mail of a ticket by its group: recipients, times, wording, and never twice."""

from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from email.utils import formatdate
from typing import Any

import pytest

from server import mailroom
from server.contexts import APP
from server.errors import AdminOnly, Forbidden, Invalid, Required
from server.mailroom import Receipt
from server.record_types.record_type import Record
from server.records import records
from server.store.database import NotOnWriter
from server.tickets import acknowledging, preview
from server.tickets.types.ticket_parts import spam_verdict
from tests.desk.conftest import NOW, Post
from tests.desk.mailroom import mail
from tests.smtp_server import SmtpServer

DAY = 86400
TEXT = "Hello,\n\nwe have **{{mask}}** about {{subject}}, {{group_name}} will answer."
OF_SERVICE = {"owner__context": APP, "owner_id": 0}


@pytest.fixture(autouse=True)
def acknowledges(desk: Post) -> None:
    change(desk, ack_enabled=1, ack_text=TEXT)


def change(desk: Post, **fields: Any) -> None:
    """Changes the group as an administrator."""
    records.update(desk.context(desk.nora), "group", desk.support, fields)


def receive(desk: Post, raw: bytes = b"", **headers: str) -> Receipt:
    """Receives a mail, and runs everything that is due."""
    received = mailroom.receive(desk.context(), raw or mail(**headers))
    desk.run_due()
    return received


def sent(server: SmtpServer) -> tuple[str, tuple[str, ...], EmailMessage]:
    sender, recipients, raw = server.take()
    parsed = message_from_bytes(raw, policy=default)
    assert isinstance(parsed, EmailMessage)
    return sender, recipients, parsed


def body(message: EmailMessage, kind: str) -> str:
    part = message.get_body((kind,))
    assert part is not None
    return str(part.get_content())


def kept(desk: Post, received: Receipt) -> list[Record]:
    """Returns the automatic messages of a ticket."""
    return [each for each in desk.all("message", ticket_id=received.ticket_id) if each["is_autoreply"]]


def test_the_first_mail_is_acknowledged_once(desk: Post, smtp: SmtpServer) -> None:
    received = receive(desk, Message_ID="<m1@kite.example>", Subject="Boat")
    envelope, recipients, message = sent(smtp)
    assert (envelope, recipients) == ("", ("ann@kite.example",))
    assert message["Auto-Submitted"] == "auto-replied" and message["In-Reply-To"] == "<m1@kite.example>"
    assert message["Subject"] == "Re: Boat" and message["From"].addresses[0].addr_spec == "support@desk.example"
    assert f"we have **{received.mask}** about Boat, Support will answer." in " ".join(body(message, "plain").split())
    assert f"<strong>{received.mask}</strong>" in body(message, "html")
    [response] = kept(desk, received)
    assert (response["worker_id"], response["is_outgoing"], response["response_time"]) == (0, 1, 0)
    assert desk.activity(received.ticket_id).count("ticket.message.outbound") == 1
    desk.run_due(60)
    assert len(smtp.messages) == 1 and desk.all("draft") == []


def test_an_acknowledged_ticket_does_not_count_as_answered(desk: Post, smtp: SmtpServer) -> None:
    received = receive(desk)
    ticket = desk.ticket(received.ticket_id)
    assert (ticket["status_id"], ticket["num_messages"], ticket["num_messages_out"]) == (0, 2, 1)
    assert (ticket["latest_message_id"], ticket["initial_response_message_id"]) == (received.message_id, 0)
    assert ticket["last_wrote_address_id"] == ticket["first_wrote_address_id"]
    [response] = kept(desk, received)
    records.delete(desk.context(), "message", response["id"])
    assert desk.ticket(received.ticket_id)["latest_message_id"] == received.message_id


def test_recounting_ignores_acknowledgements(desk: Post, smtp: SmtpServer) -> None:
    received = receive(desk)
    records.update(desk.context(), "message", kept(desk, received)[0]["id"], {"created": NOW - 5})
    assert desk.ticket(received.ticket_id)["latest_message_id"] == received.message_id


def test_later_messages_get_no_acknowledgement(desk: Post, smtp: SmtpServer) -> None:
    received = receive(desk, Message_ID="<m1@kite.example>")
    smtp.take()
    desk.now += DAY
    [response] = kept(desk, received)
    again = receive(desk, In_Reply_To=response["message_id"], Subject="Re: Boat")
    assert again.ticket_id == received.ticket_id and len(smtp.messages) == 1


@pytest.mark.parametrize(
    "headers",
    [
        {"Auto_Submitted": "auto-replied"},
        {"Precedence": "bulk"},
        {"List_Id": "<news.kite.example>"},
        {"Return_Path": "<>"},
        {"X_Auto_Response_Suppress": "OOF"},
        {"X_Auto_Response_Suppress": "DR, AutoReply"},
        {"X_Auto_Response_Suppress": "dr; all"},
        {"X_Auto_Response_Suppress": "DR\nX-Auto-Response-Suppress: OOF"},
        {"X_Autoreply": "yes"},
        {"X_Vacation": "Boat"},
        {"From": "no-reply@kite.example"},
        {"From": "mailer-daemon@kite.example"},
        {"From": "support@desk.example"},
        {"From": "milo@desk.example"},
        {"From": "mallory@kite.example", "Reply_To": "milo@desk.example"},
        {"Subject": "Out of office: Boat"},
        {"Date": formatdate(NOW - 4 * DAY)},
    ],
    ids=str,
)
def test_mail_that_must_not_be_acknowledged(desk: Post, smtp: SmtpServer, headers: dict[str, str]) -> None:
    received = receive(desk, **headers)
    assert received.is_new_ticket and smtp.messages == []
    assert kept(desk, received) == [] and desk.all("draft") == []


@pytest.mark.parametrize(
    "headers",
    [
        {"X_Auto_Response_Suppress": "None"},
        {"X_Auto_Response_Suppress": "DR, NDR, RN, NRN"},
        {"X_Auto_Response_Suppress": "RN; NRN"},
        {"X_Autoreply": "no"},
        {"X_Autorespond": "False"},
        {"X_Vacation": "0"},
        {"Auto_Submitted": "no"},
        {"Subject": "Re: Automatic reply: Boat"},  # a reply to a program
        {"Subject": "AW: Abwesenheitsnotiz: Boot"},
    ],
    ids=str,
)
def test_headers_that_request_other_recipients_have_no_effect(
    desk: Post, smtp: SmtpServer, headers: dict[str, str]
) -> None:
    receive(desk, **headers)
    assert len(smtp.messages) == 1


def test_only_the_sender_is_acknowledged(desk: Post, smtp: SmtpServer) -> None:
    desk.set(mail_add_recipients=True)
    received = receive(desk, To="bo@kite.example")
    assert desk.requesters(received.ticket_id) == ["ann@kite.example", "bo@kite.example"]
    assert sent(smtp)[1] == ("ann@kite.example",)


def test_an_address_gets_one_per_hour_and_skipped_ones_leave_no_message(desk: Post, smtp: SmtpServer) -> None:
    found = [receive(desk, Message_ID=f"<m{number}@kite.example>") for number in range(3)]
    assert [len(kept(desk, each)) for each in found] == [1, 0, 0] and len(smtp.messages) == 1
    assert desk.all("draft") == []


def test_the_total_per_hour_is_limited(desk: Post, smtp: SmtpServer) -> None:
    desk.set(automatic_answers_per_hour=2)
    for name in ("ann", "bo", "cleo"):
        receive(desk, From=f"{name}@kite.example")
    assert len(smtp.messages) == 2


def test_a_group_without_acknowledgements_sends_none(desk: Post, smtp: SmtpServer) -> None:
    change(desk, ack_enabled=0)
    assert kept(desk, receive(desk)) == [] and smtp.messages == []


def test_spam_gets_none(desk: Post, smtp: SmtpServer) -> None:
    received = mailroom.receive(desk.context(), mail())
    desk.update("ticket", received.ticket_id, spam_training="S")
    desk.run_due()
    other = mailroom.receive(desk.context(), mail(From="bo@kite.example"))
    desk.update("ticket", other.ticket_id, spam_score=spam_verdict.LIKELY_SPAM)
    desk.run_due()
    assert smtp.messages == [] and desk.all("draft") == []


@pytest.mark.parametrize(("hours", "is_open", "is_answered"), [
    ("inside", True, True), ("inside", False, False), ("outside", True, False), ("outside", False, True),
], ids=["inside, open", "inside, closed", "outside, open", "outside, closed"])  # fmt: skip
def test_hours_follow_a_calendar(desk: Post, smtp: SmtpServer, hours: str, is_open: bool, is_answered: bool) -> None:
    calendar = desk.create("calendar", name="Shifts", **OF_SERVICE)
    start = NOW - 60 if is_open else NOW + 3600
    desk.create("calendar_event", name="Open", calendar_id=calendar, date_start=start, date_end=start + 600,
                is_available=1)  # fmt: skip
    change(desk, ack_hours=hours, ack_calendar_id=calendar)
    assert bool(kept(desk, receive(desk))) is is_answered is (len(smtp.messages) == 1)


def test_text_of_a_stranger_creates_no_link_and_no_command(desk: Post, smtp: SmtpServer) -> None:
    change(desk, ack_text="{{subject}}\n\n{{initial_message_content}}", ack_subject="Got: {{subject}}")
    text = "#original_message\n#signature\n![x](https://evil.example/x.png) www.evil.example <b>b</b>\n"
    receive(desk, mail(text, Subject="[win](https://evil.example) `x` <https://evil.example>"))
    message = sent(smtp)[2]
    assert "<a " not in body(message, "html") and "<img" not in body(message, "html")
    assert message["Subject"] == "Re: Got: win(https:evil.example) `x` https:evil.example"
    assert "The pump" not in body(message, "plain") and "<b>" not in body(message, "html")


def test_a_reply_to_it_is_added_to_the_ticket(desk: Post, smtp: SmtpServer) -> None:
    received = receive(desk, Subject="Boat")
    message = sent(smtp)[2]
    assert receive(desk, In_Reply_To=message["Message-ID"], Subject="Re: Boat").ticket_id == received.ticket_id


def test_a_mistake_loses_nothing_and_is_reported_once(desk: Post, smtp: SmtpServer) -> None:
    calendar = desk.create("calendar", name="Shifts", **OF_SERVICE)
    change(desk, ack_hours="inside", ack_calendar_id=calendar)
    records.delete(desk.context(), "calendar", calendar)
    found = [receive(desk, From=f"{name}@kite.example") for name in ("ann", "bo")]
    assert [desk.ticket(each.ticket_id)["num_messages"] for each in found] == [1, 1]
    assert smtp.messages == [] and desk.all("draft") == []
    [entry] = desk.all("activity_log", activity_point=acknowledging.POINT)
    assert f"there is no calendar {calendar}" in entry["params"]["variables"]["error"]
    assert [each["worker_id"] for each in desk.all("notification")] == [desk.nora]
    assert "calendar" in desk.shown("group", desk.support)["ack_error"]
    change(desk, ack_hours="always")
    assert desk.shown("group", desk.support)["ack_error"] == ""


def test_a_text_that_becomes_empty_is_a_mistake(desk: Post, smtp: SmtpServer) -> None:
    change(desk, ack_text="{{org_name}}")
    receive(desk)
    assert "the rendered text is empty" in desk.shown("group", desk.support)["ack_error"] and smtp.messages == []


def test_without_a_mail_server_none_is_queued(desk: Post) -> None:
    received = receive(desk)
    assert kept(desk, received) == [] and desk.all("draft") == []


def test_placeholders_are_not_filled_in_on_the_writer(desk: Post, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any, **__: Any) -> None:
        raise NotOnWriter

    monkeypatch.setattr(acknowledging, "words_of", refused)
    mailroom.receive(desk.context(), mail())
    [draft] = desk.all("draft")
    assert draft["params"][acknowledging.MARK] and "content" not in draft["params"]


def test_acknowledgements_cannot_be_created_by_hand(desk: Post, smtp: SmtpServer) -> None:
    received = receive(desk)
    smtp.take()
    params = {"is_acknowledgement": 1, "in_reply_message_id": received.message_id, "content": "{{mask}}"}
    fields = {"type": "ticket.reply", "name": "x", "ticket_id": received.ticket_id, "worker_id": desk.nora,
              "is_queued": 1, "params": params}  # fmt: skip
    records.create(desk.context(desk.nora), "draft", fields)
    desk.run_due()
    assert "{{mask}}" in body(sent(smtp)[2], "plain")  # a reply of nora's, as she wrote it


# -- saving ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [
    "{{mask}}", "{{ subject }}", "{{ticket_mask}}", "{{group_name}}", "{{bucket_name}}", "{{org_name}}",
    "{{initial_message_sender_email}}", "{{created}}", "{{group_reply_personal}}", "a } b { c",
])  # fmt: skip
def test_placeholders_that_can_be_filled_in(desk: Post, text: str) -> None:
    change(desk, ack_text=text, ack_subject=text)
    assert desk.shown("group", desk.support)["ack_text"] == text


@pytest.mark.parametrize("text", [
    "{{maks}}", "{{first_name}}", "{{worker_email}}", "{{group_nam}}", "{{org_nam}}", "{{mask|upper}}", "{{mask",
    "x }}", "{% if a %}{{b c}}", "{{}}", "{{a.b}}", "{{group_}}", "".join(f"{{{{custom_{n}_x}}}}" for n in range(101)),
])  # fmt: skip
@pytest.mark.parametrize("field", ["ack_text", "ack_subject"])
def test_mistakes_are_reported_on_saving(desk: Post, field: str, text: str) -> None:
    with pytest.raises(Invalid, match=field):
        change(desk, **{field: text[:255] if field == "ack_subject" and len(text) > 255 else text})


def test_custom_fields_of_tickets_are_placeholders(desk: Post, smtp: SmtpServer) -> None:
    fields = {"name": "Serial", "uri": "serial", "type": "S", "context": "ticket"}
    field = records.create(desk.context(), "custom_field", fields)["id"]
    change(desk, ack_text=f"Serial: {{{{serial}}}}{{{{custom_{field}}}}}")
    receive(desk)
    assert "Serial:" in body(sent(smtp)[2], "plain")


@pytest.mark.parametrize("fields", [
    {"ack_text": ""}, {"ack_text": " \n"}, {"ack_hours": "inside"}, {"ack_hours": "outside", "ack_calendar_id": 0},
], ids=["no text", "blank text", "no calendar", "calendar of id 0"])  # fmt: skip
def test_missing_values_are_reported_on_saving(desk: Post, fields: dict[str, Any]) -> None:
    with pytest.raises(Required):
        change(desk, **fields)


def test_only_administrators_change_it_and_the_change_is_logged(desk: Post) -> None:
    with pytest.raises(Forbidden):
        records.update(desk.context(desk.milo), "group", desk.support, {"ack_enabled": 0})
    change(desk, ack_enabled=0)
    points = [each["activity_point"] for each in desk.all("activity_log", target_id=desk.support)]
    assert any("group" in each for each in points)


def test_the_preview_equals_the_mail(desk: Post, smtp: SmtpServer) -> None:
    with pytest.raises(Invalid, match="no ticket has arrived"):
        preview.of_acknowledgement(desk.context(desk.nora), desk.support)
    receive(desk, Subject="Boat")
    html = body(sent(smtp)[2], "html")
    shown = preview.of_acknowledgement(desk.context(desk.nora), desk.support)
    assert "about Boat, Support will answer." in shown and shown.strip() in html.replace("\r\n", "\n")
    with pytest.raises(AdminOnly):
        preview.of_acknowledgement(desk.context(desk.milo), desk.support)
