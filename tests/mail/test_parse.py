"""The basic parts of a mail: sender, subject, ids, date, bodies."""

import re

import pytest

from server.errors import Required, TooLarge
from server.mail.parse import NO_SUBJECT, ParseLimits, parse

NOW = 1795187045  # Fri 2026-11-20 15:04:05 UTC


def mail(*lines: str, body: str = "Hello", end: str = "\r\n") -> bytes:
    return end.join([*lines, "", body, ""]).encode()


def read(*lines: str, body: str = "Hello"):
    return parse(mail(*lines, body=body), NOW)


def test_a_plain_mail():
    found = read(
        'From: "Ann Kite" <Ann@Kite.example>', "To: help@desk.example, Bob <bob@x.example>", "Cc: c@x.example",
        "Delivered-To: box@desk.example", "Envelope-To: env@desk.example", "Subject: Forklift battery",
        "Message-ID: <1@kite.example>", "Date: Fri, 20 Nov 2026 10:00:00 +0000",
    )  # fmt: skip
    assert (found.sender, found.sender_name, found.from_address) == ("ann@kite.example", "Ann Kite", "ann@kite.example")
    assert found.to == (("", "help@desk.example"), ("Bob", "bob@x.example"))
    assert found.cc == (("", "c@x.example"),)
    assert [address for _, address in found.delivered_to] == ["box@desk.example", "env@desk.example"]
    assert (found.subject, found.message_id, found.message_id_was_made) == (
        "Forklift battery",
        "<1@kite.example>",
        False,
    )
    assert found.date == 1795168800
    assert (found.text, found.html, found.has_plain, found.files, found.notes) == ("Hello", None, True, (), ())
    assert not found.is_automatic and found.bounce is None and found.loop_token is None


@pytest.mark.parametrize(
    ("lines", "sender"),
    [
        (["Reply-To: r@x.example", "From: f@x.example"], "r@x.example"),
        (["From: f@x.example", "Return-Path: <p@x.example>"], "f@x.example"),
        (["Return-Path: <p@x.example>"], "p@x.example"),
        (["Return-Path: <>", "From: f@x.example"], "f@x.example"),
        (["Reply-To: nobody", "From: f@x.example"], "f@x.example"),
        (["From: broken, ok@x.example; second@x.example"], "ok@x.example"),
        (['From: "Doe; Ann, Dr." <ann@x.example>'], "ann@x.example"),
        (["From: ann@x.example (Ann Doe)"], "ann@x.example"),
        (['From: "valid@a.example" <evil@b.example>'], "evil@b.example"),
        (["From: first@x.example", "From: second@x.example"], "first@x.example"),
        (["From: =?utf-8?q?Ann=2C_Kite?= <ann@x.example>"], "ann@x.example"),
        (["Subject: nobody"], None),
        (["From: ", "Subject: x"], None),
    ],
)
def test_the_sender_is_the_first_usable_address(lines, sender):
    assert read(*lines).sender == sender


@pytest.mark.parametrize(
    ("line", "subject"),
    [
        ("Subject: =?utf-8?q?caf=C3?= =?utf-8?q?=A9?=", "café"),
        ("Subject: =?ISO-8859-1?Q?a?= =?UTF-8?Q?b?=  c", "ab c"),
        ("Subject: =?utf-8?b?w6k=?= text =?utf-8?b?w6k?=", "é text é"),
        ("Subject: =?utf-8?b?%%%?= kept", "=?utf-8?b?%%%?= kept"),
        ("Subject: =?x-unknown?q?caf=E9?=", "café"),
        ("Subject: =?zlib?q?abc?=", "abc"),
        ("Subject: =?utf-8?q?a=0D=0ABcc:_x?=", "a Bcc: x"),
        ("Subject: =?utf-8*de?q?gr=C3=BCn?=", "grün"),
        ("Subject: a\tb\r\n c\r\n\td", "a b c d"),
        ("Subject:   ", NO_SUBJECT),
        ("X-Other: x", NO_SUBJECT),
        ("Subject: one\r\nSubject: two", "one"),
        ("Subject: " + "x" * 400, "x" * 400),
        ("Subject: 🚲 – “bike”…", "🚲 – “bike”…"),
    ],
)
def test_subjects(line, subject):
    assert read("From: a@b", line).subject == subject


def test_eight_bit_headers_are_utf8_or_windows_1252():
    found = parse(b"From: Z\xc3\xb6e <z@x.example>\nSubject: caf\xe9 \x96 x\n\nHi", NOW)
    assert (found.sender_name, found.subject) == ("Zöe", "café – x")
    assert "Subject: café – x" in found.header_text.splitlines()


def test_headers_are_kept_one_a_line_and_decoded_beside():
    found = read("From: a@b", "X-Long: one\r\n two", "Subject: =?utf-8?q?=C3=A9?=", "Message-Id: <a@b>")
    assert found.header_text == "From: a@b\nX-Long: one two\nSubject: =?utf-8?q?=C3=A9?=\nMessage-Id: <a@b>"
    assert found.headers == (("From", "a@b"), ("X-Long", "one two"), ("Subject", "é"), ("Message-Id", "<a@b>"))


def test_a_missing_message_id_is_made_and_put_first():
    found, other = [parse(mail("From: a@b"), NOW, host="desk.example") for _ in range(2)]
    assert found.message_id_was_made and found.message_id != other.message_id
    assert found.header_text.splitlines() == [f"Message-Id: {found.message_id}", "From: a@b"]
    assert re.fullmatch(r"<[0-9a-z]+\.[0-9a-z]+@desk\.example>", found.message_id)


@pytest.mark.parametrize(
    ("lines", "in_reply_to", "references"),
    [
        (['In-Reply-To: Your mail of <a@x> "x"'], ("<a@x>",), ()),
        (["In-Reply-To: a@x"], (), ()),
        (["In-Reply-To: <b@x> <c@x>"], ("<b@x>", "<c@x>"), ()),
        (["In-Reply-To: <b@x>,\r\n <c@x> <b@x>"], ("<b@x>", "<c@x>"), ()),
        (["In-Reply-To: <b@x>", "In-Reply-To: <c@x>"], ("<b@x>", "<c@x>"), ()),
        (["In-Reply-To: <OWN@x> <own@x> <c@x>"], ("<OWN@x>", "<c@x>"), ()),
        (["In-Reply-To: <own@x> <c@x>", "References: <a@x>,<own@x>,<q@x>"], ("<c@x>",), ("<a@x>", "<q@x>")),
        (["References: <a@x>\r\n <b@x>\r\n\t<zz@x>"], (), ("<a@x>", "<b@x>", "<zz@x>")),
        (["References: junk <a> <b@x"], (), ()),
        ([f"In-Reply-To: {' '.join(f'<{n}@x>' for n in range(50))}"], tuple(f"<{n}@x>" for n in range(20)), ()),
    ],
)
def test_reply_ids(lines, in_reply_to, references):
    found = read("From: a@b", "Message-ID: <own@x>", *lines)
    assert (found.in_reply_to, found.references) == (in_reply_to, references)


@pytest.mark.parametrize(
    ("value", "date"),
    [
        ("Fri, 20 Nov 2026 10:00:00 +0000", 1795168800),
        ("20 Nov 2026 10:00 +0000", 1795168800),
        ("Fri, 20 Nov 2026 11:00:00 +0100 (CET)", 1795168800),
        ("Fri, 20 Nov 2026 10:00:00", 1795168800),
        ("2026-11-20T10:00:00Z", 1795168800),
        ("Mon, 1 Jan 2001 00:00:00 GMT", 978307200),
        ("Sat, 21 Nov 2026 10:00:00 +0000", NOW),
        ("yesterday-ish", NOW),
        ("31 Feb 2024 10:00:00 +0000", NOW),
        ("99999999999999999999999 Nov 2026", NOW),
        ("", NOW),
    ],
)
def test_dates(value, date):
    assert read("From: a@b", f"Date: {value}").date == date


def test_of_two_dates_the_first_counts():
    found = read("From: a@b", "Date: Mon, 1 Jan 2001 00:00:00 GMT", "Date: Tue, 2 Jan 2001 00:00:00 GMT")
    assert found.date == 978307200


@pytest.mark.parametrize("raw", [b"", b"\r\n\r\n", b"  \n\t"])
def test_an_empty_mail_is_refused(raw):
    with pytest.raises(Required):
        parse(raw, NOW)


def test_a_mail_over_the_limit_is_refused():
    with pytest.raises(TooLarge):
        parse(mail("From: a@b"), NOW, ParseLimits(mail_bytes=10))


@pytest.mark.parametrize(
    ("lines", "is_automatic", "auto_submitted"),
    [
        ([], False, False),
        (["Auto-Submitted: no"], False, False),
        (["Auto-Submitted: NO; x=y"], False, False),
        (["Auto-Submitted: auto-replied"], True, True),
        (["Auto-Submitted: auto-generated (cron)"], True, True),
        (["Return-Path: <>"], True, False),
        (["Return-Path: <a@b>"], False, False),
        (["Precedence: Bulk"], True, False),
        (["Precedence: list"], True, False),
        (["Precedence: first-class"], False, False),
        (["List-Id: <x.example>"], True, False),
        (["Reply-To: MAILER-DAEMON@x.example"], True, False),
        (["Content-Type: multipart/report; boundary=b"], True, False),
        (["Received: by x"] * 50, False, False),
        (["Received: by x"] * 51, True, False),
    ],
)
def test_automatic_mail(lines, is_automatic, auto_submitted):
    found = read("From: ann@kite.example", *lines)
    assert (found.is_automatic, found.auto_submitted) == (is_automatic, auto_submitted)


@pytest.mark.parametrize(
    ("line", "is_machine_written"),
    [
        ("Subject: Boat", False),
        ("Auto-Submitted: no", False),
        ("Auto-Submitted: no (a person)", False),
        ("Auto-Submitted: auto-notified; owner-email=a@b", True),
        ("Auto-Submitted: something-new", True),
        ("Precedence: auto_reply", True),
        ("Precedence: list", False),
        ("List-Id: <x.example>", False),
        ("Return-Path: < >", True),
        ("Reply-To: postmaster@x.example", True),
        ("Content-Type: multipart/report; boundary=b", True),
    ],
)
def test_mail_that_a_program_wrote(line, is_machine_written):
    assert read("From: ann@kite.example", line).is_machine_written == is_machine_written


def test_the_header_of_an_installation_is_read():
    assert read("From: a@b", "x-svc-installation: 5f1c").loop_token == "5f1c"


def test_doubtful_senders_are_noted():
    assert "more than one address" in read("From: a@b, c@d").notes[0]
    assert "a different address" in read('From: "ceo@desk.example" <evil@x.example>').notes[0]
    assert read('From: "a@b" <a@b>').notes == ()
