"""Parsing of bounces."""

import pytest

from server.mail.bounce import Bounce
from server.mail.parse import parse

NOW = 1795187045
ORIGINAL = "Message-ID: <sent@desk.example>\nSubject: Re: Boat\n\ntext"


def report(
    status: str,
    original: str = ORIGINAL,
    sender: str = "MAILER-DAEMON@mx.example",
    top: str = "multipart/report; report-type=delivery-status",
    kind: str = "message/rfc822",
) -> bytes:
    blocks = f"Reporting-MTA: dns; mx.example\n\n{status}"
    return (
        f"From: {sender}\nSubject: failed\nContent-Type: {top}; boundary=b\n\n"
        f"--b\n\nIt failed.\n--b\nContent-Type: message/delivery-status\n\n{blocks}\n"
        f"--b\nContent-Type: {kind}\n\n{original}\n--b--\n"
    ).encode()


FAILED = "Original-Recipient: rfc822; Ann@Kite.example\nFinal-Recipient: rfc822; x@relay.example\n"


@pytest.mark.parametrize(
    ("status", "address", "is_permanent"),
    [
        (FAILED + "Status: 5.1.1\n", "ann@kite.example", True),
        (FAILED + "Diagnostic-Code: smtp; 550 5.1.1 no such user\n", "ann@kite.example", True),
        (FAILED + "Diagnostic-Code: smtp; 550-5.1.1 no such user\n", "ann@kite.example", True),
        (FAILED + "Status: 4.2.2\n", "ann@kite.example", False),
        (FAILED + "Status: 4.2.2\nDiagnostic-Code: smtp; 452 4.2.2 full\n", "ann@kite.example", False),
        (FAILED + "Diagnostic-Code: smtp; 550 no such user\n", "ann@kite.example", False),
        ("Final-Recipient: RFC822;ann@kite.example\nStatus: 5.4.4 (no route)\n", "ann@kite.example", True),
        (
            "Final-Recipient: rfc822; a@x.example\nStatus: 4.0.0\n\nFinal-Recipient: x; b@x.example\nStatus: 5.0.0",
            "b@x.example",
            True,
        ),
        ("Status: 5.1.1\n", None, False),
    ],
)
def test_delivery_status(status, address, is_permanent):
    found = parse(report(status), NOW)
    assert found.bounce == Bounce("<sent@desk.example>", address, is_permanent)
    kinds = [file.mime_type for file in found.files]
    assert ("message/delivery-status" in kinds) is not is_permanent
    assert "message/rfc822" in kinds


@pytest.mark.parametrize(
    ("sender", "email"),
    [
        ("MAILER-DAEMON <>", "mailer-daemon@mx.example"),
        ("<>", "mailer-daemon@mx.example"),
        ("MAILER-DAEMON", "mailer-daemon@mx.example"),
        ("Mail Delivery System <postmaster>", "mailer-daemon@mx.example"),
        ("mail-relay", "mailer-daemon@mx.example"),
        ("MAILER-DAEMON (Mail Delivery System)", "mailer-daemon@mx.example"),
        ("Mail Delivery <noreply@mx2.example>", "noreply@mx2.example"),
    ],
)
def test_a_report_is_taken_whatever_its_from(sender, email):
    found = parse(report(FAILED + "Status: 5.1.1\n", sender=sender), NOW)
    assert found.sender == email and found.is_automatic and found.is_machine_written
    assert found.bounce == Bounce("<sent@desk.example>", "ann@kite.example", True)


@pytest.mark.parametrize("server", ["", "Reporting-MTA: dns;\n\n", "Reporting-MTA: x-local; a b\n\n"])
def test_a_report_that_names_no_server_is_filed_under_our_own_host(server):
    raw = report(FAILED, sender="<>").replace(b"Reporting-MTA: dns; mx.example\n\n", server.encode())
    assert parse(raw, NOW, host="desk.example").sender == "mailer-daemon@desk.example"


@pytest.mark.parametrize("sender", ["bogus", "Ann", "mailer daemon", ""])
def test_other_mail_without_an_address_names_no_sender(sender):
    assert parse(f"From: {sender}\nSubject: x\n\nhello".encode(), NOW).sender is None


QMAIL = """Hi. This is the qmail-send program at mx.example.
I'm afraid I wasn't able to deliver your message to the following addresses.

{0}:
192.0.2.1 does not like the recipient.
Remote host said: {1}
Giving up on 192.0.2.1.

--- Below this line is a copy of the message.

Return-Path: <help@desk.example>
Message-ID: <sent@desk.example>
To: other@kite.example

other@kite.example:
5.1.1
"""
EXIM = """A message that you sent could not be delivered to one or more of its recipients.

  {0}
    host mx.example [192.0.2.1]
    SMTP error after RCPT TO: {1}

------ This is a copy of the message, including all the headers. ------

Message-ID: <sent@desk.example>

text
"""
QUOTED = "{0}: host mx.example said: {1}\n\n> Subject: Boat\n> Message-Id:\n>  <sent@desk.example>\n"
ANN = "ann@kite.example"
NO_USER = "550 5.1.1 no such user"


@pytest.mark.parametrize(
    ("head", "text", "failed", "reason", "expected"),
    [
        ("Return-Path: <>\nFrom: MAILER-DAEMON", QMAIL, "<ann@kite.example>", NO_USER, (ANN, True)),
        ("Return-Path: <>", QMAIL, "<Ann@Kite.example>", "550 (#5.1.1)", (ANN, True)),
        ("Return-Path: <>\nFrom: x@mx.example", QMAIL, "<ann@kite.example>", "452 4.2.2 full", (ANN, False)),
        ("Return-Path: <>", QMAIL, "somebody", NO_USER, (None, False)),
        ("From: Mailer-Daemon@mx.example", EXIM, "ann@kite.example", NO_USER, (ANN, True)),
        ("From: x@mx.example\nX-Failed-Recipients: ann@kite.example", QMAIL, "there", NO_USER, (ANN, False)),
        ("From: Mailer-Daemon@mx.example", QUOTED, "<ann@kite.example>", NO_USER, (ANN, True)),
        ("From: Mailer-Daemon@mx.example", QUOTED, "15.1.1.2@", "", (None, False)),
    ],
)
def test_bounces_in_words(head, text, failed, reason, expected):
    found = parse(f"{head}\nSubject: failure notice\n\n{text.format(failed, reason)}".encode(), NOW)
    assert found.bounce == Bounce("<sent@desk.example>", *expected)


@pytest.mark.parametrize("head", ["From: ann@kite.example", "From: ann@kite.example\nReturn-Path: <ann@kite.example>"])
def test_a_person_who_quotes_headers_does_not_bounce(head):
    assert parse(f"{head}\n\n{QMAIL.format('<ann@kite.example>', NO_USER)}".encode(), NOW).bounce is None


def test_headers_of_the_original_are_enough():
    found = parse(report(FAILED + "Status: 5.1.1", kind="text/rfc822-headers"), NOW)
    assert found.bounce == Bounce("<sent@desk.example>", "ann@kite.example", True)


def test_a_postmaster_with_an_attached_message_bounces():
    raw = b"From: Postmaster@x.example\nContent-Type: message/rfc822\n\n" + ORIGINAL.encode()
    assert parse(raw, NOW).bounce == Bounce("<sent@desk.example>", None, False)


def test_a_person_who_forwards_a_message_does_not_bounce():
    raw = b"From: ann@kite.example\nContent-Type: message/rfc822\n\n" + ORIGINAL.encode()
    assert parse(raw, NOW).bounce is None


def test_a_read_receipt_is_no_bounce():
    raw = report("", sender="ann@kite.example", top="multipart/report; report-type=disposition-notification")
    raw = raw.replace(b"message/delivery-status", b"message/disposition-notification")
    found = parse(raw, NOW)
    assert found.bounce is None and found.is_automatic


def test_an_original_without_an_id():
    assert parse(report("", original="Subject: x\n\ny"), NOW).bounce == Bounce(None, None, False)


def test_the_copy_in_the_text_of_a_bounce_becomes_a_file():
    line = "------ This is a copy of the message, including all the headers. ------"
    raw = f"From: Mailer-Daemon@x.example\n\nSorry.\n\n{line}\n\n{ORIGINAL}\n".encode()
    found = parse(raw, NOW)
    assert found.text == "Sorry."
    assert [file.content for file in found.files] == [(ORIGINAL + "\n").encode()]
    assert found.bounce == Bounce("<sent@desk.example>", None, False)
