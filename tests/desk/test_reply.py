"""Reply, merge and split: recipients, stored data, and changes of the ticket."""

from dataclasses import replace
from email import message_from_bytes
from email.message import Message
from email.policy import default
from typing import Any

import pytest

from server import tickets
from server.errors import AdminOnly, Forbidden, HelpdeskError, Invalid, NotFound, Required
from server.record_types.shared.relation_tables import LINK
from server.records import records
from server.tickets import reply_limits
from server.tickets.mail_loops import NOTE
from tests.desk.conftest import NOW, Post
from tests.smtp_server import SmtpServer

HOUR = 3600


def taken(server: SmtpServer) -> tuple[str, tuple[str, ...], Message]:
    sender, recipients, raw = server.take()
    return sender, recipients, message_from_bytes(raw, policy=default)


@pytest.fixture
def ticket(desk: Post) -> int:
    """A ticket that Ann sent an hour ago."""
    desk.now -= HOUR
    id = desk.create("ticket", subject="Boat", group_id=desk.support)
    desk.add_requester(id, "ann@kite.example")
    desk.received(id, References="<a@kite.example> <b@kite.example>")
    desk.now += HOUR
    return id


@pytest.fixture
def message(desk: Post, ticket: int) -> int:
    return int(desk.message(ticket)["id"])


def test_a_reply_without_to_goes_to_the_requesters(desk: Post, smtp: SmtpServer, ticket: int, message: int) -> None:
    for email in ("bob@kite.example", "postmaster@kite.example", "MAILER-DAEMON@kite.example", "support@desk.example"):
        desk.add_requester(ticket, email)
    assert desk.reply(message, cc="carl@kite.example") == ticket
    _, recipients, mail = taken(smtp)
    assert recipients == ("ann@kite.example", "bob@kite.example", "carl@kite.example")
    assert mail["Subject"] == "Re: Boat"
    assert mail["In-Reply-To"] == f"<m{ticket}@kite.example>"
    assert mail["References"].split()[1:] == ["<a@kite.example>", "<b@kite.example>", f"<m{ticket}@kite.example>"]
    kept, found = desk.message(ticket), desk.ticket(ticket)
    assert (kept["response_time"], kept["worker_id"], kept["is_outgoing"]) == (HOUR, desk.nora, 1)
    assert kept["in_reply_to"] == f"<m{ticket}@kite.example>"
    assert found["initial_response_message_id"] == found["latest_message_id"] == kept["id"]
    assert (found["elapsed_response_first"], found["updated"], found["spam_training"]) == (HOUR, NOW, "N")
    assert desk.activity(ticket) == ["ticket.message.outbound"]


def test_a_defunct_requester_is_left_out_with_a_remark(desk: Post, smtp: SmtpServer, ticket: int, message: int) -> None:
    desk.update("address", desk.add_requester(ticket, "gone@kite.example"), is_defunct=1)
    desk.reply(message)
    assert smtp.take()[1] == ("ann@kite.example",)
    assert "gone@kite.example" in desk.message(ticket)["notes"]


def test_a_reply_to_a_new_address_makes_it_a_requester(desk: Post, smtp: SmtpServer, ticket: int, message: int) -> None:
    desk.reply(message, to="Zed <zed@kite.example>", subject="Boat and oars")
    _, recipients, mail = taken(smtp)
    assert recipients == ("zed@kite.example",) and mail["Subject"] == "Re: Boat and oars"
    assert desk.requesters(ticket) == ["ann@kite.example", "zed@kite.example"]
    assert desk.ticket(ticket)["subject"] == "Boat and oars"
    assert "ticket.participant.added" in desk.activity(ticket)


def test_a_forward_leaves_subject_and_requesters(desk: Post, smtp: SmtpServer, ticket: int, message: int) -> None:
    desk.reply(message, to="zed@kite.example", subject="FYI", is_forward="1", status="2")
    mail = taken(smtp)[2]
    assert mail["Subject"] == "FYI" and mail["In-Reply-To"]
    assert desk.requesters(ticket) == ["ann@kite.example"]
    found = desk.ticket(ticket)
    assert (found["subject"], found["status_id"], found["num_messages_out"]) == ("Boat", 2, 1)


@pytest.mark.parametrize("was", [0, 1, 2, 3])
@pytest.mark.parametrize(("asked", "becomes"), [("", 0), ("0", 0), ("1", 1), ("2", 2), ("3", 3)])
def test_a_reply_opens_its_ticket_by_default(
    desk: Post, ticket: int, message: int, was: int, asked: str, becomes: int
) -> None:
    desk.update("ticket", ticket, status_id=was)
    desk.reply(message, dont_send="1", **({"status": asked} if asked else {}))
    assert desk.ticket(ticket)["status_id"] == becomes


def test_dont_keep_copy_mails_and_applies_only_the_status(
    desk: Post, smtp: SmtpServer, ticket: int, message: int
) -> None:
    before = desk.ticket(ticket)
    desk.reply(message, dont_keep_copy="1", status="1", content="**Bye**", content_format="markdown")
    plain, html = taken(smtp)[2].iter_parts()
    assert plain.get_content().strip() == "**Bye**" and "<strong>Bye</strong>" in html.get_content()
    found = desk.ticket(ticket)
    assert found["status_id"] == 1
    assert [found[name] for name in ("updated", "latest_message_id", "num_messages")] == [
        before[name] for name in ("updated", "latest_message_id", "num_messages")
    ]
    assert "ticket.message.outbound" in desk.activity(ticket)


def test_dont_send_stores_the_reply_as_not_sent(desk: Post, smtp: SmtpServer, ticket: int, message: int) -> None:
    desk.reply(message, dont_send="1", is_broadcast="1")
    kept = desk.message(ticket)
    assert (kept["is_not_sent"], kept["is_broadcast"]) == (1, 1) and "To: ann@kite.example" in kept["headers"]
    assert smtp.messages == [] and desk.all("draft") == []


@pytest.mark.parametrize(
    "headers",
    [
        {"Precedence": "bulk"},
        {"Auto-Submitted": "auto-generated; x=y"},
        {"List-Id": "<list.kite.example>"},
        {"Return-Path": "<>"},
        {"Content-Type": 'multipart/report; report-type="delivery-status"'},
        {"X-Auto-Response-Suppress": "DR, OOF"},
        {"X-Autoreply": "yes"},
        {"List-Unsubscribe": "<https://kite.example/u>"},
        {"From": "Shop <do_not_reply@kite.example>"},
        {"From": "bounces+7-ann=kite.example@kite.example"},
        {"Reply-To": "MAILER-DAEMON@kite.example"},
        {"Subject": "Automatische Antwort: Boat"},
        {"Subject": "=?utf-8?q?R=C3=A9ponse_automatique_=3A_Boat?="},
    ],
)
def test_automatic_mail_gets_no_automatic_reply(
    desk: Post, smtp: SmtpServer, ticket: int, headers: dict[str, str]
) -> None:
    desk.reply(desk.received(ticket, **headers), is_autoreply="1")
    kept = desk.message(ticket)
    assert (kept["is_autoreply"], kept["is_not_sent"]) == (1, 1) and "automatic replies are turned off" in kept["notes"]
    assert smtp.messages == [] and desk.all("draft") == []


def automatic(desk: Post, email: str, **headers: str) -> dict[str, Any]:
    """Returns the message of an automatic reply to a new ticket of an address."""
    id = desk.create("ticket", subject="Boat", group_id=desk.support)
    desk.add_requester(id, email)
    desk.reply(desk.received(id, email, **headers), is_autoreply="1")
    return desk.message(id)


def test_an_address_gets_one_automatic_reply_per_hour_whatever_its_tickets(desk: Post, smtp: SmtpServer) -> None:
    kept = [automatic(desk, "ann@kite.example") for _ in range(3)]
    assert [each["is_not_sent"] for each in kept] == [0, 1, 1] and len(smtp.messages) == 1
    assert "not sent to ann@kite.example: it already got an automatic reply within the hour" in kept[1]["notes"]
    assert automatic(desk, "bo@kite.example")["is_not_sent"] == 0
    desk.now += reply_limits.HOUR_SECONDS
    assert automatic(desk, "Ann@Kite.example")["is_not_sent"] == 0 and len(smtp.messages) == 3


def test_the_automatic_replies_per_hour_are_limited(desk: Post, smtp: SmtpServer) -> None:
    desk.set(automatic_answers_per_hour=2)
    kept = [automatic(desk, f"c{number}@kite.example") for number in range(3)]
    assert [each["is_not_sent"] for each in kept] == [0, 0, 1] and len(smtp.messages) == 2
    assert "not sent: 2 automatic replies were sent within the hour" in kept[2]["notes"]
    desk.now += reply_limits.HOUR_SECONDS
    assert automatic(desk, "c2@kite.example")["is_not_sent"] == 0


def test_an_automatic_reply_without_recipients_is_stored_and_does_not_fail(desk: Post, smtp: SmtpServer) -> None:
    kept = automatic(desk, "mailer-daemon@kite.example")
    assert kept["is_not_sent"] == 1 and smtp.messages == [] and desk.all("draft") == []


def test_records_of_automatic_replies_expire_after_the_hour(desk: Post) -> None:
    automatic(desk, "ann@kite.example")
    reply_limits.forget_expired(desk.service, desk.now)
    assert len(desk.read(lambda tx: tx.find(reply_limits.AUTOMATIC_ANSWER))) == 1
    reply_limits.forget_expired(desk.service, desk.now + reply_limits.HOUR_SECONDS)
    assert desk.read(lambda tx: tx.find(reply_limits.AUTOMATIC_ANSWER)) == []


@pytest.mark.parametrize(
    ("headers", "sender", "depth", "more", "is_sent"),
    [
        ({"Auto-Submitted": "auto-replied"}, "ann@kite.example", 1, {}, False),
        ({"Auto-Submitted": "auto-replied"}, "ann@kite.example", 1, {"to": "ann@kite.example"}, False),
        ({}, "postmaster@kite.example", 1, {"to": "ann@kite.example"}, False),
        ({"Auto-Submitted": "auto-replied"}, "ann@kite.example", 1, {"to": "bo@kite.example", "is_forward": "1"}, True),
        ({"Auto-Submitted": "auto-replied"}, "ann@kite.example", 0, {}, True),
        ({"Auto-Submitted": "no"}, "ann@kite.example", 1, {}, True),
        ({"List-Id": "<list.kite.example>"}, "ann@kite.example", 1, {}, True),
    ],
    ids=[
        "automatic reply",
        "automatic reply, to a person",
        "mail to a postmaster",
        "forward to another person",
        "started by a worker",
        "declared to be written by a person",
        "mail of a list",
    ],
)
def test_an_automation_replies_to_no_program_whatever_started_it(
    desk: Post, smtp: SmtpServer, ticket: int, headers: dict[str, str], sender: str, depth: int, more: dict[str, str],
    is_sent: bool,
) -> None:  # fmt: skip
    values = {"message_id": desk.received(ticket, sender, **headers), "content": "On its way.", **more}
    tickets.reply(replace(desk.context(desk.nora), depth=depth), values)
    kept = desk.message(ticket)
    assert (len(smtp.messages), kept["is_not_sent"]) == (int(is_sent), int(not is_sent))
    assert is_sent == (NOTE not in kept["notes"]) and "To: " in kept["headers"]


def test_an_automation_may_reply_to_another_of_our_automations(desk: Post, smtp: SmtpServer, ticket: int) -> None:
    id = desk.received(ticket, **{"Auto-Submitted": "auto-generated"})
    desk.write(lambda writing: writing.set("message", id, {"is_outgoing": 1}))
    tickets.reply(replace(desk.context(desk.nora), depth=1), {"message_id": id, "content": "Any news?"})
    assert len(smtp.messages) == 1


def test_an_automatic_reply_says_so_and_cannot_bounce(desk: Post, smtp: SmtpServer, ticket: int, message: int) -> None:
    desk.add_requester(ticket, "no-reply@kite.example")
    desk.reply(message, is_autoreply="1")
    sender, recipients, mail = taken(smtp)
    assert (sender, recipients) == ("", ("ann@kite.example",))
    assert (mail["Auto-Submitted"], mail["Precedence"]) == ("auto-replied", "auto_reply")
    assert desk.ticket(ticket)["spam_training"] == ""


@pytest.mark.parametrize(
    ("before", "values", "status", "reopen"),
    [
        (1, {}, 0, 0),
        (2, {"status": "0", "reopen_at": "+1 day"}, 0, 0),
        (0, {"status": "1", "reopen_at": "tomorrow 8am"}, 1, NOW - 15 * HOUR - 245 + 24 * HOUR + 8 * HOUR),
        (1, {"status": "1"}, 1, 0),
        (0, {"status": "2", "reopen_at": str(NOW + 60)}, 2, NOW + 60),
        (0, {"status": "3"}, 3, 0),
        (3, {}, 0, 0),
    ],
    ids=[
        "open by default",
        "open has no date",
        "waiting until a date",
        "waiting without a date",
        "closed until a date",
        "deleted",
        "restored by default",
    ],
)
def test_the_status_after_a_reply(
    desk: Post, ticket: int, message: int, before: int, values: dict[str, Any], status: int, reopen: int
) -> None:
    desk.update("ticket", ticket, status_id=before, reopen_date=NOW + 5)
    desk.reply(message, dont_send="1", **values)
    found = desk.ticket(ticket)
    assert (found["status_id"], found["reopen_date"]) == (status, reopen)


def test_a_move_uses_the_sender_of_the_new_bucket(desk: Post, smtp: SmtpServer, ticket: int, message: int) -> None:
    transport = desk.one("address", id=desk.sender)["mail_transport_id"]
    address = desk.create("address", email="sales@desk.example", mail_transport_id=transport)
    sales = desk.create("group", name="Sales", reply_address_id=address)
    desk.reply(message, group_id=str(sales), owner_id=str(desk.milo))
    assert smtp.take()[0] == "sales@desk.example"
    found = desk.ticket(ticket)
    assert found["group_id"] == sales and found["owner_id"] == desk.milo
    assert desk.one("bucket", id=found["bucket_id"])["is_default"] == 1
    desk.reply(message, bucket_id=str(desk.inbox), owner_id="0", dont_send="1")
    found = desk.ticket(ticket)
    assert (found["group_id"], found["bucket_id"], found["owner_id"]) == (desk.support, desk.inbox, 0)


def test_the_original_message_is_quoted_on_request(desk: Post, smtp: SmtpServer, ticket: int, message: int) -> None:
    desk.reply(message, content="See below\n#original_message\n#cut", dont_send="1")
    assert desk.message(ticket)["content"] == (
        "See below\nOn 20 November 2026 at 14:04, ann@kite.example wrote:\n> It leaks.\n>\n> Ann\n#cut"
    )


def test_custom_values_are_added(desk: Post, ticket: int, message: int) -> None:
    fields = {"name": "Tags", "context": "ticket", "type": "M", "uri": "tags"}
    tags = records.create(desk.context(), "custom_field", fields)["id"]
    desk.reply(message, dont_send="1", **{f"custom_{tags}": ["a", "b"]})
    desk.reply(message, dont_send="1", **{f"custom_{tags}": ["-a", "c"]})
    assert records.retrieve(desk.context(), "ticket", ticket, "custom_")["custom"] == {str(tags): ["b", "c"]}


def test_our_own_and_excluded_addresses_do_not_become_requesters(desk: Post, ticket: int, message: int) -> None:
    desk.set(mail_exclude_patterns=("*@internal.example",))
    own = desk.create("mail_transport", name="Nowhere", extension_id="core.mail.transport.null")
    desk.create("address", email="sales@desk.example", mail_transport_id=own)
    desk.reply(message, to="sales@desk.example, a@internal.example, zed@kite.example", dont_send="1")
    assert desk.requesters(ticket) == ["ann@kite.example", "zed@kite.example"]


def test_an_administrator_replies_as_another_worker(desk: Post, ticket: int, message: int) -> None:
    desk.reply(message, worker_id=str(desk.milo), dont_send="1")
    assert desk.message(ticket)["worker_id"] == desk.milo
    desk.reply(message, by=desk.milo, worker_id=str(desk.milo), dont_send="1")
    with pytest.raises(AdminOnly):
        desk.reply(message, by=desk.milo, worker_id=str(desk.nora), dont_send="1")


@pytest.mark.parametrize(
    ("values", "error", "field"),
    [
        ({"content": ""}, Required, "content"),
        ({"message_id": ""}, Required, "message_id"),
        ({"message_id": "99"}, Invalid, "message_id"),
        ({"to": "nobody"}, Invalid, "to"),
        ({"is_forward": "1"}, Required, "to"),
        ({"dont_send": "1", "dont_keep_copy": "1"}, Invalid, "dont_keep_copy"),
        ({"worker_id": "99"}, Invalid, "worker_id"),
        ({"subject": "a\nX-Evil: 1"}, Invalid, "subject"),
        ({"bucket_id": "99"}, Invalid, "bucket_id"),
        ({"group_id": "99"}, Invalid, "group_id"),
        ({"status": "7"}, Invalid, "status"),
        ({"custom_99": "1"}, Invalid, "custom_99"),
    ],
    ids=[
        "no content",
        "no message",
        "unknown message",
        "no address",
        "forward to nobody",
        "neither sent nor kept",
        "unknown worker",
        "subject of two lines",
        "unknown bucket",
        "unknown group",
        "unknown status",
        "unknown custom field",
    ],
)
def test_invalid_values_change_nothing(
    desk: Post, ticket: int, message: int, values: dict[str, Any], error: type[HelpdeskError], field: str
) -> None:
    before = desk.ticket(ticket)
    with pytest.raises(error) as raised:
        desk.reply(**{"message_id": message, "dont_send": ""} | values)
    assert raised.value.details["field"] == field
    assert desk.ticket(ticket) == before and len(desk.all("message")) == 1


def test_a_reply_without_recipients_is_refused(desk: Post, message: int, ticket: int) -> None:
    desk.update("ticket", ticket, participant_ids=f"-{desk.address('ann@kite.example')}")
    with pytest.raises(Required):
        desk.reply(message)
    desk.reply(message, dont_send="1")


def test_only_members_of_the_group_reply(desk: Post, message: int) -> None:
    with pytest.raises(Forbidden):
        desk.reply(message, by=desk.olga, dont_send="1")
    desk.reply(message, by=desk.milo, dont_send="1")


def test_the_stored_subject_never_contains_the_mask(desk: Post, smtp: SmtpServer, ticket: int, message: int) -> None:
    desk.set(subject_mask=True, subject_prefix="Desk")
    mask = desk.ticket(ticket)["mask"]
    desk.reply(message, subject=f"[Desk #{mask}] Oars")
    assert taken(smtp)[2]["Subject"] == f"Re: [Desk #{mask}] Oars"
    assert desk.ticket(ticket)["subject"] == "Oars"


@pytest.mark.parametrize(("answered", "left"), [
    ("Re: [70012345] order of pumps", "Re: Boat [70012345]"), ("AW: [Ticket#4711] [Boat]", "Re: Boat [Ticket#4711]"),
    ("=?utf-8?q?[SUPPORT-12]_Gr=C3=B6=C3=9Fe?=", "Re: Boat [SUPPORT-12]"), ("Re: [#MASK] Boat", "Re: Boat"),
    ("Re: [Desk #MASK] Boat", "Re: Boat"), ("Re: Boat 300", "Re: Boat"),
], ids=[
    "number", "word and number", "encoded", "our own", "our own with a name", "number without brackets",
])  # fmt: skip
def test_the_number_of_another_helpdesk_stays_in_the_subject(
    desk: Post, smtp: SmtpServer, ticket: int, answered: str, left: str
) -> None:
    subject = answered.replace("MASK", desk.ticket(ticket)["mask"])
    desk.reply(desk.received(ticket, Subject=subject))
    assert taken(smtp)[2]["Subject"] == left
    assert desk.ticket(ticket)["subject"] == "Boat"


# -- merge and split ---------------------------------------------------------------------------------------------------


def test_the_oldest_of_merged_tickets_survives_with_everything(desk: Post, ticket: int, message: int) -> None:
    other = desk.ticket_id(to="bob@kite.example", subject="Boat again")
    desk.update("ticket", ticket, status_id=2)
    desk.create("comment", comment="Same leak", target__context="svc.contexts.ticket", target_id=other)
    records.update(desk.context(), "ticket", other, {"links": [f"worker:{desk.milo}", f"ticket:{ticket}"]})
    assert tickets.merge(desk.context(desk.nora), [other, ticket, other]) == ticket
    kept, gone = desk.ticket(ticket), desk.ticket(other)
    assert (kept["num_messages"], kept["num_messages_in"], kept["status_id"]) == (2, 1, 0)
    assert (gone["status_id"], gone["merged_into"], gone["num_messages"]) == (3, ticket, 0)
    assert desk.requesters(ticket) == ["ann@kite.example", "bob@kite.example"] and desk.requesters(other) == []
    assert desk.comments("ticket", ticket) == ["Same leak"]
    links = desk.read(lambda tx: tx.find(LINK, from_context="svc.contexts.ticket"))
    assert [row[1:] for row in links] == [(ticket, "svc.contexts.worker", desk.milo)]
    assert desk.activity(ticket).count("ticket.merge") == 1


@pytest.mark.parametrize("ids", [[], [1], [1, 1]])
def test_one_ticket_cannot_be_merged(desk: Post, ticket: int, ids: list[int]) -> None:
    with pytest.raises(Invalid):
        tickets.merge(desk.context(desk.nora), ids)


def test_merging_requires_write_access_to_all(desk: Post, ticket: int) -> None:
    other = desk.ticket_id()
    with pytest.raises(Forbidden):
        tickets.merge(desk.context(desk.olga), [ticket, other])
    with pytest.raises(NotFound):
        tickets.merge(desk.context(desk.nora), [ticket, 99])
    assert desk.ticket(other)["merged_into"] == 0


def test_a_message_is_split_off(desk: Post, ticket: int, message: int) -> None:
    second = desk.received(ticket, "bob@kite.example")
    new = tickets.split(desk.context(desk.nora), second)
    found = desk.ticket(new)
    assert (found["subject"], found["group_id"], found["num_messages"]) == ("Boat", desk.support, 1)
    assert found["initial_message_id"] == found["latest_message_id"] == second
    assert desk.ticket(ticket)["latest_message_id"] == message and desk.requesters(new) == ["bob@kite.example"]
    assert desk.activity(new) == ["ticket.split"]
    with pytest.raises(Invalid):
        tickets.split(desk.context(desk.nora), message)
