"""Bounces, loops, mail from our own addresses, damaged mail."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from server import mailroom
from server.errors import HelpdeskError
from server.mail.automatic import INSTALLATION_HEADER
from server.mailroom import Receipt, flood, repeats
from server.records import records
from server.records.records import SearchRequest
from server.tickets.types.ticket_parts import status
from tests.desk.mailroom import NOW, Desk, mail, multipart

BO = "bo@oak.example"


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    opened = Desk(tmp_path)
    yield opened
    opened.close()


@pytest.fixture
def boat(desk: Desk) -> Receipt:
    """Ann's ticket, closed, with a reply <out@desk.example> that went to her and, as a copy, to Bo."""
    received = desk.receive(mail(Message_Id="<a@kite.example>"))
    desk.sent(received.ticket_id, "<out@desk.example>", To="ann@kite.example", Cc=f"Bo <{BO}>")
    desk.update("ticket", received.ticket_id, status_id=status.CLOSED)
    return received


def bounce(failed: str, original: str = "<out@desk.example>", code: str = "5.1.1", **headers: str) -> bytes:
    """Returns the bounce that a mail server sends."""
    headers = {"From": "MAILER-DAEMON@mx.example", "Subject": "Undelivered mail", **headers}
    return multipart(
        "Content-Type: text/plain\n\nIt did not work.",
        f"Content-Type: message/delivery-status\n\nReporting-MTA: dns; mx.example\n\n"
        f"Final-Recipient: rfc822; {failed}\nAction: failed\nStatus: {code}\n",
        f"Content-Type: message/rfc822\n\nFrom: help@desk.example\nMessage-Id: {original}\n\nShut the valve.",
        kind="report; report-type=delivery-status",
        **headers,
    )


def is_defunct(desk: Desk, email: str) -> bool:
    return bool(desk.one("address", email=email)["is_defunct"])


# -- bounces -----------------------------------------------------------------------------------------------------------


def test_a_bounce_is_filed_on_its_ticket_reopens_it_and_marks_the_address(desk: Desk, boat: Receipt) -> None:
    received = desk.receive(bounce("ann@kite.example"))
    assert (received.ticket_id, received.is_new_ticket) == (boat.ticket_id, False)
    assert desk.ticket(boat)["status_id"] == status.OPEN
    assert is_defunct(desk, "ann@kite.example")
    assert desk.requesters(boat.ticket_id) == ["ann@kite.example"]
    assert desk.message(received)["is_stranger"] == 0
    assert not any(name.startswith("delivery_status") for name in desk.files(received))


@pytest.mark.parametrize("sender", ["MAILER-DAEMON <>", "<>", "MAILER-DAEMON", "postmaster"])
def test_a_bounce_that_names_no_sender_does_the_same(desk: Desk, boat: Receipt, sender: str) -> None:
    received = desk.receive(bounce("ann@kite.example", From=sender))
    assert (received.ticket_id, received.is_new_ticket) == (boat.ticket_id, False)
    assert desk.ticket(boat)["status_id"] == status.OPEN and is_defunct(desk, "ann@kite.example")
    assert desk.requesters(boat.ticket_id) == ["ann@kite.example"]


def test_a_bounce_in_prose_does_the_same(desk: Desk, boat: Receipt) -> None:
    told = (
        "I could not deliver your message.\n\n<ann@kite.example>:\nRemote host said: 550 5.1.1 no such user\n\n"
        "--- Below this line is a copy of the message.\n\nMessage-ID: <out@desk.example>\n\nShut the valve.\n"
    )
    received = desk.receive(f"Return-Path: <>\nFrom: MAILER-DAEMON\nSubject: failure notice\n\n{told}".encode())
    assert (received.ticket_id, received.is_new_ticket) == (boat.ticket_id, False)
    assert desk.ticket(boat)["status_id"] == status.OPEN and is_defunct(desk, "ann@kite.example")


def test_a_bounce_marks_any_other_recipient_of_the_mail(desk: Desk, boat: Receipt) -> None:
    desk.create("address", email=BO)
    desk.receive(bounce(BO))
    assert is_defunct(desk, BO)


def test_a_delay_is_stored_and_marks_no_one(desk: Desk, boat: Receipt) -> None:
    received = desk.receive(bounce("ann@kite.example", code="4.4.7"))
    assert received.ticket_id == boat.ticket_id and not is_defunct(desk, "ann@kite.example")
    assert any(name.startswith("delivery_status") for name in desk.files(received))


def test_a_bounce_about_another_address_marks_no_one(desk: Desk, boat: Receipt) -> None:
    desk.create("address", email="cy@kite.example")
    received = desk.receive(bounce("cy@kite.example"))
    assert received.ticket_id == boat.ticket_id and not is_defunct(desk, "cy@kite.example")
    assert desk.message(received)["is_stranger"] == 1


@pytest.mark.parametrize("original", ["<a@kite.example>", "<no@such>"])
def test_a_bounce_of_foreign_mail_marks_no_one(desk: Desk, boat: Receipt, original: str) -> None:
    received = desk.receive(bounce("ann@kite.example", original))
    assert received.is_new_ticket and not is_defunct(desk, "ann@kite.example")


def test_a_bounce_marks_none_of_our_addresses(desk: Desk, boat: Receipt) -> None:
    desk.sent(boat.ticket_id, "<out2@desk.example>", To="sales@desk.example")
    desk.own_address("sales@desk.example")
    desk.receive(bounce("sales@desk.example", "<out2@desk.example>"))
    assert not is_defunct(desk, "sales@desk.example")


def test_the_returned_mail_takes_precedence_over_ids_in_the_headers(desk: Desk, boat: Receipt) -> None:
    desk.receive(mail(From=BO, Message_Id="<b@oak.example>"))
    assert desk.receive(bounce("ann@kite.example", In_Reply_To="<b@oak.example>")).ticket_id == boat.ticket_id


# -- our own addresses, loops ------------------------------------------------------------------------------------------


def test_mail_from_our_own_address_creates_a_ticket_without_requesters(desk: Desk) -> None:
    desk.own_address("help@desk.example")
    received = desk.receive(mail(From="help@desk.example", Message_Id="<own@desk.example>"))
    assert received.is_new_ticket and desk.requesters(received.ticket_id) == []


def test_our_own_mail_that_comes_back_is_ignored(desk: Desk, boat: Receipt) -> None:
    before = desk.counts()
    received = desk.receive(mail(From="help@desk.example", Message_Id="<out@desk.example>"))
    [sent] = desk.all("message", is_outgoing=1)
    assert received == Receipt(boat.ticket_id, boat.mask, sent["id"], False, "ignored")
    assert desk.counts() == before and desk.ticket(boat)["status_id"] == status.CLOSED


def test_an_automatic_mail_of_this_installation_is_ignored(desk: Desk, boat: Receipt) -> None:
    token = {INSTALLATION_HEADER.replace("-", "_"): desk.service.installation, "Auto_Submitted": "auto-replied"}
    before = desk.counts()
    unknown = desk.receive(mail(**token))
    known = desk.receive(mail(In_Reply_To="<a@kite.example>", **token))
    assert desk.counts() == before
    assert unknown == Receipt(0, "", 0, False, "ignored")
    assert (known.ticket_id, known.message_id, known.outcome) == (
        boat.ticket_id, desk.ticket(boat)["latest_message_id"], "ignored",
    )  # fmt: skip


@pytest.mark.parametrize(
    "headers",
    [
        {INSTALLATION_HEADER: "another", "Auto-Submitted": "auto-replied"},
        {INSTALLATION_HEADER: "OURS", "Auto-Submitted": "no"},
        {INSTALLATION_HEADER: "OURS"},
        {"Auto-Submitted": "auto-replied", "Precedence": "bulk", "List-Id": "<l.x>", "Return-Path": "<>"},
    ],
    ids=["another installation", "written by a person", "without a declaration", "mail of a list"],
)
def test_other_automatic_mail_is_accepted(desk: Desk, headers: dict[str, str]) -> None:
    ours = desk.service.installation
    named = {name.replace("-", "_"): value.replace("OURS", ours) for name, value in headers.items()}
    assert desk.receive(mail(**named)).outcome == "stored"


# -- damaged mail ------------------------------------------------------------------------------------------------------

DAMAGED = {
    "mbox line and blank lines first": b"\n\nFrom ann Mon Jan  1 10:00:00 2026\nFrom: a@x.example\n\nhi",
    "no blank line": b"From: a@x.example\nSubject: s\nno header here\nmore",
    "only a header": b"From: a@x.example",
    "mixed line ends": b"From: a@x.example\r\nSubject: s\n\r\nhi\rthere\n",
    "raw 8-bit headers": b"From: J\xf6rg <a@x.example>\nSubject: Gr\xfc\xdfe\n\nhi",
    "NUL everywhere": b"From: a@x.example\nSubject: a\0b\nX: \0\n\nhi\0there\0",
    "missing closing boundary": b"From: a@x.example\nContent-Type: multipart/mixed; boundary=b\n\n--b\n\nhi\n--b\n"
    b"Content-Type: a/b; name=f\n\nx",
    "boundary that never comes": b"From: a@x.example\nContent-Type: multipart/mixed; boundary=b\n\nhi",
    "wrong base64": b"From: a@x.example\nContent-Transfer-Encoding: base64\n\naGVs*bG8=====!",
    "wrong quoted-printable": b"From: a@x.example\nContent-Transfer-Encoding: quoted-printable\n\nca=ZZf=E9=",
    "unknown transfer encoding": b"From: a@x.example\nContent-Transfer-Encoding: x-own\n\nhi",
    "charset of another kind": b"From: a@x.example\nContent-Type: text/plain; charset=zlib\n\nhi\xe9",
    "lone surrogates": b"From: a@x.example\nSubject: =?utf-16?b?2AA=?=\nContent-Type: text/html\n\n"
    b"&#xD800;<p>\xed\xa0\x80",
    "surrogates in utf-7": b"From: a@x.example\nContent-Type: text/plain; charset=utf-7\n\n+2AA-",
    "surrogates in a file name": b"From: a@x.example\nContent-Type: a/b; name*=utf-16''%D8%00x\n\nhi",
    "surrogates in ids": b"From: a@x.example\nMessage-Id: <\xed\xa0\x80@x>\nReferences: <\xff@x>\n\nhi",
    "control characters in names": b'From: "a\x1b[31m" <a@x.example>\nContent-Type: a/b; name="../../\x07e"\n\nhi',
    "a thousand headers": b"From: a@x.example\n" + b"X: y\n" * 3000 + b"\nhi",
    "a very long header": b"From: a@x.example\nSubject: " + b"x" * 300_000 + b"\n\nhi",
    "many recipients": b"From: a@x.example\nTo: " + b", ".join(b"r%d@x.example" % n for n in range(3000)) + b"\n\nhi",
    "many references": b"From: a@x.example\nReferences: " + b" ".join(b"<%d@x>" % n for n in range(5000)) + b"\n\nhi",
    "many masks": b"From: a@x.example\nSubject: " + b"[#a-%d]" % 1 * 5000 + b"\n\nhi",
    "deep parts": b"From: a@x.example\nContent-Type: multipart/mixed; boundary=b0\n\n"
    + b"".join(b"--b%d\nContent-Type: multipart/mixed; boundary=b%d\n\n" % (n, n + 1) for n in range(200)),
    "empty parts": b"From: a@x.example\nContent-Type: multipart/mixed; boundary=b\n\n" + b"--b\n\n" * 3000,
    "parameters without end": b'From: a@x.example\nContent-Type: text/plain; charset="utf-8\n\nhi',
    "emoji": 'From: "🦊" <a@x.example>\nSubject: 🦊\n\n🦊🦊'.encode(),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_mail_is_stored_whole(desk: Desk, name: str) -> None:
    received = desk.receive(DAMAGED[name])
    assert received.outcome == "stored" and desk.raw(received) == DAMAGED[name]
    assert desk.sender(received) == "a@x.example"
    assert "\0" not in desk.message(received)["content"] + desk.message(received)["headers"]
    assert not re.search(r"[\r\n]", desk.ticket(received)["subject"])


def test_repairs_are_recorded(desk: Desk) -> None:
    received = desk.receive(DAMAGED["wrong base64"])
    assert any("base64" in note for note in desk.notes(received))
    assert desk.notes(desk.receive(mail())) == []


def test_a_name_that_contains_another_address_is_recorded(desk: Desk) -> None:
    received = desk.receive(mail(From='"boss@desk.example" <ann@kite.example>'))
    assert any("a different address" in note for note in desk.notes(received))


def test_mail_cut_anywhere_is_stored_or_refused_by_rule(desk: Desk) -> None:
    raw = bounce("ann@kite.example", Message_Id="<long@mx.example>", Cc="=?utf-8?q?=C3=A9?= <cy@kite.example>")
    for end in range(0, len(raw), 7):
        try:
            mailroom.receive(desk.ctx, raw[:end])
        except HelpdeskError as error:
            assert error.message


def test_automatic_mail_of_one_sender_is_counted_for_an_hour(desk: Desk) -> None:
    one, other = (desk.create("address", email=f"{name}@kite.example") for name in ("robot", "monitor"))

    def is_too_much(seconds: int, id: int = one) -> bool:
        return bool(desk.service.store.write(lambda tx: flood.is_too_much(tx, id, NOW + seconds)))

    assert [is_too_much(0) for _ in range(22)] == [False] * 20 + [True] * 2
    assert not is_too_much(10, other)
    assert is_too_much(flood.WINDOW_SECONDS - 1) and not is_too_much(flood.WINDOW_SECONDS)
    flood.forget_over(desk.service, NOW + flood.WINDOW_SECONDS + 10)
    assert [row[0] for row in desk.read(lambda tx: tx.find(flood.AUTOMATIC_MAIL))] == [one]
    flood.forget_over(desk.service, NOW + 2 * flood.WINDOW_SECONDS)
    assert desk.read(lambda tx: tx.find(flood.AUTOMATIC_MAIL)) == []


@pytest.mark.parametrize(
    ("headers", "counts"),
    [({}, 0), ({"Auto_Submitted": "auto-generated"}, 1), ({"List_Id": "<a.b>"}, 1), ({"Return_Path": "<>"}, 1)],
)
def test_mail_of_programs_is_counted(desk: Desk, headers: dict[str, str], counts: int) -> None:
    assert desk.receive(mail(**headers)).outcome == "stored"
    assert len(desk.read(lambda tx: tx.find(flood.AUTOMATIC_MAIL))) == counts


# -- mail without an id ------------------------------------------------------------------------------------------------


def test_equal_bytes_without_an_id_are_the_same_mail(desk: Desk) -> None:
    raw = mail("No id here.\n")
    first = desk.receive(raw)
    again = desk.receive(raw)
    assert (first.outcome, again.outcome) == ("stored", "duplicate")
    assert (again.ticket_id, again.message_id) == (first.ticket_id, first.message_id)
    assert desk.receive(mail("Other words.\n")).outcome == "stored"


def test_headers_added_by_hosts_do_not_make_it_another_mail(desk: Desk) -> None:
    raw = mail("No id, other way.\n")
    first = desk.receive(b"Return-Path: <a@b>\r\nReceived: from x by y;\r\n\tone\r\n" + raw)
    assert desk.receive(b"Delivered-To: c@d\nReceived: from z by y; two\n" + raw).message_id == first.message_id
    assert desk.receive(b"X-Other: 1\n" + raw).outcome == "stored"


def test_after_the_days_of_the_setting_it_is_a_new_mail(desk: Desk) -> None:
    raw = mail("No id, much later.\n")
    desk.receive(raw)
    desk.now += 30 * 86400
    repeats.forget_old(desk.service, desk.now)
    assert desk.read(lambda tx: tx.find(repeats.MAIL_WITHOUT_ID)) == []
    assert desk.receive(raw).outcome == "stored"


def test_a_mail_whose_message_was_deleted_is_a_new_one(desk: Desk) -> None:
    raw = mail("No id, and deleted.\n")
    first = desk.receive(raw)
    desk.write(lambda writing: writing.delete("message", first.message_id))
    assert desk.receive(raw).outcome == "stored"


def test_the_words_of_both_texts_are_found(desk: Desk) -> None:
    received = desk.receive(
        multipart(
            "Content-Type: text/plain\n\nThis message is in HTML. Use another mail program.",
            "Content-Type: text/html\n\n<p>The <b>flowmeter</b> shows kilolitres</p>",
            kind="alternative",
        )
    )
    assert desk.message(received)["content"] == "The flowmeter shows kilolitres"
    assert [found_by(desk, word) for word in ("flowmeter", "kilolitres", "program", "absent")] == [1, 1, 1, 0]
    desk.update("message", received.message_id, content="Removed.")
    assert [found_by(desk, word) for word in ("removed", "flowmeter", "program")] == [1, 0, 0]


def found_by(desk: Desk, word: str) -> int:
    request = SearchRequest(f"text:{word}", 10)
    return len(records.search(desk.ctx, "message", request)["results"])


def test_a_mail_that_an_older_version_read_differently_is_the_same(desk: Desk) -> None:
    raw = mail(Message_Id="<a@kite.example>")
    first = desk.receive(raw)
    desk.change("message", first.message_id, body_digest="of other words", content="Other words")
    again = desk.receive(raw)
    assert (again.outcome, again.message_id) == ("duplicate", first.message_id)
    assert desk.receive(raw + b"More words.\n").outcome == "stored"
