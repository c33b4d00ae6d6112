"""Replies to mail whose Message-ID a provider replaced: the ticket's own id in References finds the ticket."""

from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default

import pytest

from server import mailroom, tickets
from server.mailroom import Receipt
from server.record_types.shared.sending_addresses import TRANSACTIONAL
from tests.desk.conftest import Post
from tests.desk.mailroom import mail
from tests.smtp_server import SmtpServer

REPLACED = "<0100018abc-0000-000000@relay.example>"  # chosen by the provider, and unknown to us


def sent(smtp: SmtpServer) -> EmailMessage:
    return message_from_bytes(smtp.take()[2], policy=default)


def own_id(message: EmailMessage) -> str:
    """Returns the ticket's own id in our mail."""
    first = str(message["References"]).split()[0]
    assert first.startswith("<t-") and first.endswith("@desk.example>")
    return first


def receive(desk: Post, raw: bytes) -> Receipt:
    return mailroom.receive(desk.context(), raw)


def reply(references: str, **headers: str) -> bytes:
    return mail("Where is it?\n", Subject="Re: Your order", References=references, In_Reply_To=REPLACED, **headers)


def test_a_reply_finds_the_ticket_that_we_began(desk: Post, smtp: SmtpServer) -> None:
    _, ticket = desk.compose(subject="Your order")
    received = receive(desk, reply(f"{own_id(sent(smtp))} {REPLACED}"))
    assert (received.ticket_id, received.is_new_ticket) == (ticket, False)


def test_all_mail_of_a_ticket_begins_with_the_same_id(desk: Post, smtp: SmtpServer) -> None:
    _, ticket = desk.compose()
    first = own_id(sent(smtp))
    history = " ".join(f"<{n}@kite.example>" for n in range(40))
    received = desk.received(ticket, References=f"{first} {history}")
    desk.reply(received)
    answered = sent(smtp)
    assert own_id(answered) == first and len(answered["References"].split()) == 20
    desk.reply(received, is_forward="1", to="supplier@oak.example")
    assert own_id(sent(smtp)) == first
    _, other = desk.compose()
    assert own_id(sent(smtp)) != first and other != ticket


def test_a_reply_to_a_merged_ticket_finds_its_successor(desk: Post, smtp: SmtpServer) -> None:
    (_, one), (_, two) = desk.compose(), desk.compose()
    ids = [own_id(sent(smtp)) for _ in range(2)]
    into = tickets.merge(desk.context(desk.nora), [one, two])
    assert {receive(desk, reply(each)).ticket_id for each in ids} == {into}


@pytest.mark.parametrize("change", [
    lambda text: text.replace("<t-", "<t-9"),  # another ticket
    lambda text: f"{text[:-20]}aaaa{text[-16:]}",
    lambda text: text.partition("-")[0] + "-1@desk.example>",
    lambda text: "<t-999999999999999-aaaaaaaaaaaaaaaaaaaaaaaa@desk.example>",
])  # fmt: skip
def test_a_forged_id_finds_nothing(desk: Post, smtp: SmtpServer, change: object) -> None:
    assert callable(change)
    desk.compose()
    assert receive(desk, reply(change(own_id(sent(smtp))))).is_new_ticket


@pytest.mark.parametrize("change", [str.upper, str.lower, lambda text: text.replace("desk.example", "relay.example")])
def test_programs_may_change_case_and_host(desk: Post, smtp: SmtpServer, change: object) -> None:
    assert callable(change)
    _, ticket = desk.compose()
    assert receive(desk, reply(change(own_id(sent(smtp))))).ticket_id == ticket


def test_a_referenced_message_takes_precedence_over_the_ticket_id(desk: Post, smtp: SmtpServer) -> None:
    desk.compose()
    first = own_id(sent(smtp))
    other = receive(desk, mail(Message_ID="<m@kite.example>")).ticket_id
    assert receive(desk, reply(f"<m@kite.example> {first}")).ticket_id == other


def test_a_stranger_who_knows_the_id_is_marked(desk: Post, smtp: SmtpServer) -> None:
    _, ticket = desk.compose()
    received = receive(desk, reply(own_id(sent(smtp)), From="mallory@oak.example"))
    assert received.ticket_id == ticket and desk.message(ticket)["is_stranger"] == 1


def test_a_bounce_of_mail_with_a_replaced_id_finds_its_ticket_and_marks_the_address(
    desk: Post, smtp: SmtpServer
) -> None:
    _, ticket = desk.compose()
    first = own_id(sent(smtp))
    bounce = (
        "From: MAILER-DAEMON@relay.example\nTo: support@desk.example\nSubject: Undelivered\nMIME-Version: 1.0\n"
        'Content-Type: multipart/report; report-type=delivery-status; boundary="b"\n\n'
        "--b\nContent-Type: text/plain\n\nNo such user.\n"
        "--b\nContent-Type: message/delivery-status\n\nReporting-MTA: dns; relay.example\n\n"
        "Final-Recipient: rfc822; ann@kite.example\nAction: failed\nStatus: 5.1.1\n"
        f"--b\nContent-Type: text/rfc822-headers\n\nMessage-ID: {REPLACED}\nReferences: {first}\n\n--b--\n"
    )
    assert receive(desk, bounce.encode()).ticket_id == ticket
    assert desk.one("address", email="ann@kite.example")["is_defunct"] == 1


def test_mail_without_a_ticket_has_none(desk: Post, smtp: SmtpServer) -> None:
    params = {"to": "ann@kite.example", "subject": "News", "content": "Hello"}
    desk.create("draft", type=TRANSACTIONAL, worker_id=desk.nora, is_queued=1, params=params)
    desk.run_due()
    assert "References" not in sent(smtp)
