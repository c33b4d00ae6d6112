"""The first mail transport becomes the default one, and authors see the fate of their mail."""

from dataclasses import replace
from typing import Any

import pytest

from server import tickets
from server.mailroom import mail_setup
from server.outbox import delivery
from server.outbox.delivery import Delivery
from server.records import records
from server.tickets.mail_loops import NOTE
from tests.desk.conftest import Post
from tests.smtp_server import SmtpServer

SMTP, NULL = "core.mail.transport.smtp", "core.mail.transport.null"


def made(desk: Post, name: str = "Provider", kind: str = SMTP, port: int = 9) -> int:
    params = {"host": "127.0.0.1", "port": str(port), "encryption": "none"} if kind == SMTP else {}
    fields = {"name": name, "extension_id": kind, "params": params}
    return int(records.create(desk.context(desk.nora), "mail_transport", fields)["id"])


def default(desk: Post) -> int:
    return mail_setup.defaults(desk.context(desk.nora))[1]


def test_the_first_transport_becomes_the_default_and_others_do_not(desk: Post) -> None:
    assert default(desk) == 0
    first = made(desk)
    assert default(desk) == first
    second = made(desk, "Second")
    assert default(desk) == first
    [entry] = desk.all("activity_log", activity_point="setting.changed")
    assert entry["params"]["variables"]["new"] == "Provider" and entry["actor_id"] == desk.nora
    records.delete(desk.context(desk.nora), "mail_transport", first)
    third = made(desk, "Third")
    assert default(desk) == third and third != second, "the one that was chosen is gone"


def test_a_null_transport_never_becomes_the_default_by_itself(desk: Post) -> None:
    made(desk, kind=NULL)
    assert default(desk) == 0
    assert default(desk) != made(desk) == default(desk)


def test_an_explicit_choice_of_none_stays(desk: Post) -> None:
    mail_setup.set_default_transport(desk.context(desk.nora), 0)
    made(desk)
    assert default(desk) == 0


# -- fate of a mail ---------------------------------------------------------------------------------------------------


def reply(desk: Post, message_id: int, **values: Any) -> Delivery:
    known = {"message_id": message_id, "content": "On its way."}
    return tickets.reply(desk.context(desk.nora), known | values).delivery


def test_an_unsendable_reply_says_so_and_is_sent_once_a_transport_exists(desk: Post) -> None:
    ticket = desk.ticket_id()
    message = desk.received(ticket)
    told = reply(desk, message)
    assert told.state == "parked" and "no mail server is configured" in told.reason and told.draft_id
    assert delivery.of_ticket(desk.context(), ticket) == [told] and told.message_id > message
    with SmtpServer() as smtp:
        made(desk, port=smtp.port)
        desk.run_due(1)
        assert "On its way." in smtp.take()[2].decode()
    assert delivery.of_ticket(desk.context(), ticket) == []
    assert delivery.of_draft(desk.context(), told.draft_id) == Delivery("sent")


@pytest.mark.parametrize(("values", "state", "reason"), [
    ({"dont_send": "1"}, "kept", ""), ({"send_at": "+1 hour"}, "later", ""), ({}, "held", "no mail server at"),
], ids=["not sent", "scheduled", "no server"])  # fmt: skip
def test_every_response_states_the_fate_of_the_mail(
    desk: Post, values: dict[str, str], state: str, reason: str
) -> None:
    made(desk)  # no server listens there
    message = desk.received(desk.ticket_id())
    told = reply(desk, message, **values)
    assert told.state == state and reason in told.reason and bool(told.reason) is bool(reason)
    assert bool(told.due_at) is (state in ("later", "held"))
    known = {"group_id": desk.support, "to": "ann@kite.example", "subject": "Boat", "content": "Hello Ann"}
    composed = tickets.compose(desk.context(desk.nora), known | values)
    assert composed.delivery.state == state and reason in composed.delivery.reason


def test_mail_set_off_by_a_program_says_why_it_is_withheld(desk: Post) -> None:
    made(desk)
    message = desk.received(desk.ticket_id())
    by_machine = replace(desk.context(desk.nora), depth=1, is_by_machine=True)
    known = {"group_id": desk.support, "to": "ann@kite.example", "subject": "Boat", "content": "Hello Ann"}
    for response in (
        tickets.reply(by_machine, {"message_id": message, "content": "On its way."}),
        tickets.compose(by_machine, known),
    ):
        assert response.delivery == Delivery("kept", NOTE)
