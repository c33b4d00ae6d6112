"""Outgoing mail: each row of the specification's header table, and values that try to break out of their place."""

import email
import re
from dataclasses import replace
from datetime import UTC
from email import policy
from email.header import Header
from zoneinfo import ZoneInfo

import pytest

from server.errors import Invalid, TooLarge
from server.mail import mail_bytes as composing
from server.mail.mail_bytes import (
    OutFile,
    OutgoingMail,
    compose,
    new_message_id,
    references_of_reply,
    subject_of_compose,
    subject_of_forward,
    subject_of_reply,
)
from server.mail.parse import parse
from server.mail.quotation import quote_message

PLAIN = OutgoingMail(
    message_id="9b8f417e715bf808196b25ded9bca86c@desk.example",
    date=1795201233,
    from_name="Ida at Quartz Depot",
    from_address="help@desk.example",
    to=(("", "ann@kite.example"),),
    subject="Re: [Depot #JKQ-75671-699] Forklift battery",
    text="Hello Ann",
    installation="4f2a",
    version="1.0.0",
)
IMAGE = OutFile("boat.png", "image/png", b"\x89PNG\r\n\x1a\n", "boat@desk.example")
PDF = OutFile("a.pdf", "application/pdf", b"%")


@pytest.mark.parametrize(
    "text", ["It drips.", "a\nb\n", "long " * 500 + "end", "größer = kleiner", "=?utf-8?q?x?=\n.\nFrom me"]
)
def test_a_stored_mail_says_the_same_without_an_encoding(text: str) -> None:
    mail = replace(PLAIN, text=text)
    stored, sent = compose(replace(mail, is_stored=True)), compose(mail)
    assert parse(stored, mail.date).text == parse(sent, mail.date).text == text.rstrip("\n")
    assert text.replace("\n", "\r\n").encode() in stored and b"Content-Transfer-Encoding: binary\r\n" in stored


@pytest.mark.parametrize("length", [1, 55, 56, 57, 80, 200])
@pytest.mark.parametrize("pattern", ["a", "ab ", "a, b; ", "a  b "])
def test_a_short_subject_is_written_as_the_email_package_would(pattern: str, length: int) -> None:
    subject = (pattern * length)[:length].strip()
    expected = Header(subject, "us-ascii", header_name="X-Svc-Installation").encode(linesep="\r\n")
    assert f"\r\nSubject: {expected}\r\n".encode() in compose(replace(PLAIN, subject=subject))


def read(mail):
    """The mail as parsed by a strict reader, which must find no defect."""
    raw = compose(mail)
    assert re.search(rb"(?<!\r)\n|\r(?!\n)", raw) is None
    assert max(map(len, raw.split(b"\r\n"))) <= 998
    message = email.message_from_bytes(raw, policy=policy.SMTP)
    assert [part.defects for part in message.walk() if part.defects] == []
    return message


def text_of(part):
    return part.get_content().replace("\r\n", "\n")


def changed(**values):
    return read(replace(PLAIN, **values))


@pytest.mark.parametrize(
    ("header", "value"),
    [
        ("Message-ID", "<9b8f417e715bf808196b25ded9bca86c@desk.example>"),
        ("Date", "Fri, 20 Nov 2026 19:00:33 +0000"),
        ("Subject", "Re: [Depot #JKQ-75671-699] Forklift battery"),
        ("From", '"Ida at Quartz Depot" <help@desk.example>'),
        ("To", "ann@kite.example"),
        ("MIME-Version", "1.0"),
        ("Content-Type", 'text/plain; charset="utf-8"'),
        ("Content-Transfer-Encoding", "quoted-printable"),
        ("X-Mailer", "Helpdesk 1.0.0"),
        ("X-Svc-Installation", "4f2a"),
    ],
)
def test_the_header_of_a_plain_mail(header, value):
    assert f"{header}: {value}\r\n".encode() in compose(PLAIN)


@pytest.mark.parametrize(
    "header",
    ["Cc", "Bcc", "Reply-To", "Sender", "References", "In-Reply-To", "Auto-Submitted", "Precedence", "Return-Path"],
)
def test_what_a_plain_mail_does_not_have(header):
    assert read(PLAIN)[header] is None


def test_no_header_stands_twice():
    answer = replace(PLAIN, cc=PLAIN.to, is_autoreply=True, in_reply_to="a@x", references=("a@x",))
    names = [name.lower() for name, _ in read(replace(answer, html="x", files=(IMAGE,))).items()]
    assert len(names) == len(set(names))


def test_the_date_is_in_the_zone_of_the_worker():
    assert changed(tz=ZoneInfo("Europe/Berlin"))["Date"] == "Fri, 20 Nov 2026 20:00:33 +0100"
    assert changed(tz=UTC)["Date"].datetime.timestamp() == PLAIN.date


def test_ids_are_taken_with_and_without_brackets():
    message = changed(message_id="<m@x>", in_reply_to="<b@x>", references=("<a@x>", "b@x"))
    assert (message["Message-ID"], message["In-Reply-To"]) == ("<m@x>", "<b@x>")
    assert message["References"].split() == ["<a@x>", "<b@x>"]


def test_references_are_cut_to_twenty_and_the_first_is_kept():
    ids = tuple(f"{number}@x.example" for number in range(30))
    expected = [f"<{name}>" for name in (ids[0], *ids[11:])]
    assert changed(references=ids)["References"].split() == expected
    assert references_of_reply(ids[:29], ids[29]) == (ids[0], *ids[11:])
    assert references_of_reply([], "a@x") == ("a@x",)
    assert references_of_reply(["a@x"], "a@x") == ("a@x",)


def test_a_long_id_is_written_as_it_is():
    long_id = "a" * 800 + "@x.example"
    assert changed(references=(long_id,), in_reply_to=long_id)["In-Reply-To"] == f"<{long_id}>"


@pytest.mark.parametrize("odd", ["", "a b@x", "ä@x", "a<b@x", "x" * 901])
def test_ids_of_strangers_that_cannot_stand_in_a_header_are_left_out(odd):
    message = changed(references=("a@x", odd), in_reply_to=odd)
    assert message["References"] == "<a@x>"
    assert message["In-Reply-To"] is None


def test_a_new_id_is_32_hex_digits_at_the_domain():
    first, second = new_message_id("desk.example"), new_message_id("münchen.example")
    assert re.fullmatch(r"[0-9a-f]{32}@desk\.example", first)
    assert re.fullmatch(r"[0-9a-f]{32}@xn--mnchen-3ya\.example", second)
    assert first[:32] != second[:32]


def test_an_automatic_reply_says_so():
    message = changed(is_autoreply=True)
    assert message["Auto-Submitted"] == "auto-replied"
    assert message["Precedence"] == "auto_reply"
    assert message["X-Auto-Response-Suppress"] == "All"


@pytest.mark.parametrize(
    ("make", "subject", "prefix", "mask", "with_mask", "expected"),
    [
        (subject_of_compose, "Boat", "Depot", "A-1", False, "Boat"),
        (subject_of_compose, "Boat", "Depot", "A-1", True, "[Depot #A-1] Boat"),
        (subject_of_compose, "Boat", "", "A-1", True, "[#A-1] Boat"),
        (subject_of_compose, "Boat", "Depot", "", True, "Boat"),
        (subject_of_reply, "Boat", "Depot", "A-1", False, "Re: Boat"),
        (subject_of_reply, "Boat", "Depot", "A-1", True, "Re: [Depot #A-1] Boat"),
        (subject_of_reply, "Boat", "", "A-1", True, "Re: [#A-1] Boat"),
        (subject_of_reply, "Re: Boat", "", "", False, "Re: Boat"),
        (subject_of_reply, "RE : re:Boat", "", "", False, "Re: Boat"),
        (subject_of_reply, "Regarding: Boat", "", "", False, "Re: Regarding: Boat"),
        (subject_of_reply, "Re: [Old #a-1] Re: Boat", "Depot", "A-1", True, "Re: [Depot #A-1] Boat"),
        (subject_of_reply, "[#B-2] Boat", "Depot", "A-1", True, "Re: [Depot #A-1] [#B-2] Boat"),
        (subject_of_reply, "", "", "", False, "Re: "),
    ],
)
def test_subjects(make, subject, prefix, mask, with_mask, expected):
    assert make(subject, prefix, mask, with_mask) == expected


@pytest.mark.parametrize(
    ("subject", "expected"),
    [("Boat", "Fwd: Boat"), ("Re: Boat", "Fwd: Re: Boat"), ("Fwd: FW: WG : Boat", "Fwd: Boat"), ("", "Fwd: ")],
)
def test_a_forward_is_marked_once(subject, expected):
    assert subject_of_forward(subject) == expected


@pytest.mark.parametrize(
    "subject",
    [
        "Förklift",
        "日本語の件名" * 40,
        "a plain subject of many words " * 30,
        "x" * 2000,
        "=?utf-8?q?not_encoded?=",
        "😀 boat",
        'a: b; c="d" <e@f>, (g)',
        "Ｒｅ： full width",
    ],
)
def test_any_subject_arrives_as_it_was_written(subject):
    message = changed(subject=subject)
    assert re.sub(r"\s+", " ", message["Subject"]) == re.sub(r"\s+", " ", subject).strip()
    assert compose(replace(PLAIN, subject=subject)).isascii()


@pytest.mark.parametrize(
    "name", ["Ann", "Doe, Ann", 'Ann "A" Doe', "Ann \\ Doe", "Jürgen, Öl", "日本" * 60, "a@b.example", ""]
)
def test_names_of_senders_and_recipients_arrive(name):
    to = ((name, "ann@kite.example"), ("Bob", "bob@kite.example"))
    message = changed(from_name=name, to=to, cc=((name, "c@x.example"),))
    assert [a.addr_spec for a in message["To"].addresses] == ["ann@kite.example", "bob@kite.example"]
    shown = [message[header].addresses[0].display_name for header in ("From", "To", "Cc")]
    assert [re.sub(r"\s+", "", text) for text in shown] == [re.sub(r"\s+", "", name)] * 3


def test_a_hundred_recipients_with_long_names_stay_a_hundred():
    to = tuple((f"Jürgen von und zu Öhringen, {number}", f"j{number}@kite.example") for number in range(100))
    assert [a.addr_spec for a in changed(to=to)["To"].addresses] == [address for _, address in to]


def test_more_than_a_hundred_recipients_are_refused():
    with pytest.raises(Invalid) as failed:
        changed(to=PLAIN.to * 60, cc=PLAIN.to * 41)
    assert failed.value.details["field"] == "to"


def test_a_domain_is_written_as_dns_knows_it_and_a_mailbox_as_it_is():
    assert changed(to=(("", "ann@münchen.example"),))["To"] == "ann@xn--mnchen-3ya.example"
    assert "To: jörg@kite.example\r\n".encode() in compose(replace(PLAIN, to=(("", "jörg@kite.example"),)))


@pytest.mark.parametrize("bad", ["a\r\nBcc: evil@x.example", "a\nb", "a\rb", "a\0b", "\n", "a\r\n\r\nbody"])
@pytest.mark.parametrize(
    "place",
    [
        "subject",
        "from_name",
        "from_address",
        "message_id",
        "in_reply_to",
        "references",
        "installation",
        "version",
        "to name",
        "to address",
        "cc name",
        "cc address",
        "file name",
        "file type",
        "content id",
    ],
)
def test_line_breaks_and_nul_never_reach_a_header(place, bad):
    values = {
        "references": {"references": ("a@x", bad)},
        "to name": {"to": ((bad, "ann@kite.example"),)},
        "to address": {"to": (("", bad),)},
        "cc name": {"cc": ((bad, "ann@kite.example"),)},
        "cc address": {"cc": (("Ann", f"ann@kite.example{bad}"),)},
        "file name": {"files": (OutFile(bad, "text/plain", b""),)},
        "file type": {"files": (OutFile("a.txt", f"text/plain{bad}", b""),)},
        "content id": {"html": "x", "files": (OutFile("a.png", "image/png", b"", bad),)},
    }.get(place, {place: bad})
    with pytest.raises(Invalid) as failed:
        compose(replace(PLAIN, **values))
    assert failed.value.details["field"]


@pytest.mark.parametrize("control", list("\x0b\x0c\x1c\x1e\x85\u2028\u2029\t\x01\ud800"))
def test_other_line_ends_and_control_characters_become_blanks(control):
    dirty = f"a{control}Bcc: evil@x.example"
    file = OutFile(dirty, "text/plain", b"")
    message = changed(subject=dirty, from_name=dirty, installation=dirty, files=(file,), text=dirty)
    assert message["Bcc"] is None
    assert message["Subject"] == "a Bcc: evil@x.example"


@pytest.mark.parametrize("address", ["", "ann", "ann@", "@x", "a b@x", "a@x, b@y", "<a@x>", "Ann <a@x>", "a@x\t"])
def test_what_is_no_address_is_refused(address):
    with pytest.raises(Invalid):
        changed(to=(("", address),))
    with pytest.raises(Invalid):
        changed(from_address=address)


@pytest.mark.parametrize(
    "text",
    ["", "Hi", "Hällo\n\n  wörld ", "From me\n.\n..\n", "x" * 5000, "a = b =3D", "tab\there", "-- \nIda", "日本" * 500],
)
def test_any_text_arrives(text):
    assert text_of(changed(text=text)).removesuffix("\n") == text.removesuffix("\n")
    assert compose(replace(PLAIN, text=text)).isascii()


def test_carriage_returns_and_nul_are_removed_from_the_text():
    assert text_of(changed(text="a\r\nb\rc\0d")) == "a\nbcd\n"


def structure(message):
    if not message.is_multipart():
        return message.get_content_type()
    return message.get_content_type(), [structure(part) for part in message.iter_parts()]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, "text/plain"),
        ({"html": "<p>x"}, ("multipart/alternative", ["text/plain", "text/html"])),
        ({"files": (PDF,)}, ("multipart/mixed", ["text/plain", "application/pdf"])),
        ({"files": (IMAGE,)}, ("multipart/mixed", ["text/plain", "image/png"])),
        (
            {"html": "<img src='cid:boat@desk.example'>", "files": (IMAGE,)},
            ("multipart/alternative", ["text/plain", ("multipart/related", ["text/html", "image/png"])]),
        ),
        (
            {"html": "<p>x", "files": (IMAGE, PDF)},
            (
                "multipart/mixed",
                [
                    ("multipart/alternative", ["text/plain", ("multipart/related", ["text/html", "image/png"])]),
                    "application/pdf",
                ],
            ),
        ),
    ],
)
def test_the_tree_is_as_small_as_it_can_be(values, expected):
    assert structure(changed(**values)) == expected


def test_inline_images_carry_the_id_that_the_html_names():
    message = changed(html='<img src="cid:boat@desk.example">', files=(IMAGE,))
    image = next(part for part in message.walk() if part.get_content_type() == "image/png")
    assert image["Content-ID"] == "<boat@desk.example>"
    assert image.get_content_disposition() == "inline"
    assert image.get_content() == IMAGE.content
    assert message.get_body(("html",)).get_content().strip() == '<img src="cid:boat@desk.example">'


@pytest.mark.parametrize(
    "name",
    [
        "a.txt",
        'a"b.txt',
        "a;b=c.txt",
        "a\\b.txt",
        "größe.pdf",
        "日本語.txt",
        "a  b.txt",
        "%41.txt",
        "utf-8''a.txt",
        "a'b.txt",
        ".hidden",
        "ü" * 150 + ".txt",
        "x" * 190 + ".txt",
        "(a), <b>.txt",
    ],
)
def test_names_of_files_arrive(name):
    message = changed(files=(OutFile(name, "application/pdf", b"x"),))
    assert [part.get_filename() for part in message.iter_attachments()] == [name]
    assert compose(replace(PLAIN, files=(OutFile(name, "application/pdf", b"x"),))).isascii()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("", "file"),
        ("   ", "file"),
        ("\x01", "file"),
        ("x" * 5000 + ".txt", "x" * 196 + ".txt"),
        ("y" * 300, "y" * 200),
    ],
)
def test_names_that_cannot_stay_are_replaced_or_cut(name, expected):
    message = changed(files=(OutFile(name, "application/pdf", b"x"),))
    assert [part.get_filename() for part in message.iter_attachments()] == [expected]


@pytest.mark.parametrize(
    ("mime_type", "expected"),
    [
        ("text/plain", "text/plain"),
        ("Image/PNG", "image/png"),
        ("application/vnd.ms-excel", "application/vnd.ms-excel"),
        ("message/rfc822", "application/octet-stream"),
        ("MESSAGE/partial", "application/octet-stream"),
        ("multipart/mixed", "application/octet-stream"),
        ("", "application/octet-stream"),
        ("nonsense", "application/octet-stream"),
        ("text/plain; charset=x", "application/octet-stream"),
        ('text/"x', "application/octet-stream"),
    ],
)
def test_types_of_files(mime_type, expected):
    content = bytes(range(256)) + b"\r\n.\r\n\nFrom x\n"
    (part,) = changed(files=(OutFile("a", mime_type, content),)).iter_attachments()
    assert part.get_content_type() == expected
    assert part.get_payload(decode=True) == content


def test_files_above_25_mb_are_refused(monkeypatch):
    monkeypatch.setattr(composing, "MAX_FILES_BYTES", 1000)
    changed(files=(OutFile("a", "text/plain", b"x" * 1000),))
    with pytest.raises(TooLarge):
        changed(files=(OutFile("a", "text/plain", b"x" * 999), OutFile("b", "text/plain", b"xx")))


def test_a_boundary_in_the_text_does_not_end_the_part():
    text = "--===============0123456789==\nContent-Type: text/html\n\n<b>"
    message = changed(text=text, html="<p>x")
    assert text_of(message.get_body(("plain",))) == text + "\n"
    assert structure(message) == ("multipart/alternative", ["text/plain", "text/html"])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hello", "On today, Ann wrote:\n> Hello"),
        ("a\r\n\r\nb\n\n", "On today, Ann wrote:\n> a\n>\n> b"),
        ("> older\n  indented", "On today, Ann wrote:\n> > older\n>   indented"),
        ("", "On today, Ann wrote:\n>"),
    ],
)
def test_the_original_is_quoted(text, expected):
    assert quote_message(text, "Ann", 0, UTC).text == expected.replace("On today", "On 1 January 1970 at 00:00")
