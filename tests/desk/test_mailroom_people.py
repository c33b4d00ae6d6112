"""Senders as lists, forms, phones and servers write them: names, authors, notices, routes to a group."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import count

import pytest

from server import mailroom
from server.access import actor
from server.errors import Invalid
from server.mail import display_names
from server.mailroom import Receipt
from server.record_types.record_type import Record
from server.records import records
from server.tickets import original_sender
from server.tickets.types.ticket_parts import status
from tests.desk.mailroom import NOW, Desk, mail, multipart

HELP = "help@desk.example"
names = pytest.mark.parametrize
_numbers = count(1)


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """A desk that sends from help@desk.example, and whose group Billing sends from billing@desk.example."""
    desk = Desk(tmp_path_factory.mktemp("desk") / "desk")
    desk.own_address(HELP)
    billing = desk.own_address("billing@desk.example")
    desk.create("group", name="Billing", reply_address_id=billing)
    desk.change("address", billing, mail_transport_id=0)  # so that it uses the default transport
    yield desk
    desk.close()


@pytest.fixture
def desk(opened: Desk) -> Desk:
    opened.now = NOW
    return opened


def someone() -> str:
    """Returns an address that has not written before."""
    return f"ann{next(_numbers)}@kite.example"


def address_of(desk: Desk, email: str) -> Record:
    return desk.one("address", email=email)


def contacts_of(desk: Desk, email: str) -> list[tuple[str, str]]:
    found = desk.all("contact", email_id=address_of(desk, email)["id"])
    return [(each["first_name"], each["last_name"]) for each in found]


def label_of(desk: Desk, email: str) -> str:
    return str(records.retrieve(desk.ctx, "address", address_of(desk, email)["id"], "_label")["_label"])


# -- display names -----------------------------------------------------------------------------------------------------

NAMES = [
    ("Ann Kite", "Ann Kite", ("Ann", "Kite")),
    ('"Kite, Ann"', "Kite, Ann", ("Ann", "Kite")),
    ("'Ann Kite'", "Ann Kite", ("Ann", "Kite")),
    ("=?utf-8?q?J=C3=B6rg_von_der_Au?=", "Jörg von der Au", ("Jörg", "von der Au")),
    ("=?utf-8?b?5bGx55SwIOWkqumDjg==?=", "山田 太郎", ("山田", "太郎")),
    ('"Ann Kite (Kite Ltd)"', "Ann Kite (Kite Ltd)", ("Ann", "Kite")),
    ('"Acme Pumps, Inc."', "Acme Pumps, Inc.", ("Acme Pumps, Inc.", "")),
    ("Ann", "Ann", ("Ann", "")),
    ("=?utf-8?q?Ann=E2=80=AE_Kite=E2=80=AC?=", "Ann Kite", ("Ann", "Kite")),
    ("=?utf-8?q?Ann=0D=0ABcc=3A?=", "Ann Bcc:", ("Ann", "Bcc:")),
    ("=?utf-8?q?=E2=80=8BAnn=EF=BB=BF_Kite?=", "Ann Kite", ("Ann", "Kite")),
    ("x" * 300, "x" * display_names.CHARACTERS, ("x" * display_names.CHARACTERS, "")),
]


@names("written, shown, split", NAMES)
def test_a_name_is_on_the_message_the_address_and_a_contact(
    desk: Desk, written: str, shown: str, split: tuple[str, str]
) -> None:
    email = someone()
    received = desk.receive(mail(From=f"{written} <{email}>"))
    assert desk.message(received)["from_name"] == address_of(desk, email)["display_name"] == shown
    assert contacts_of(desk, email) == [split]
    assert label_of(desk, email) == f"{' '.join(filter(None, split))} <{email}>"


def test_the_log_names_the_author(desk: Desk) -> None:
    email = someone()
    received = desk.receive(mail(From=f"Ann Kite <{email}>"))
    [entry] = desk.all("activity_log", target_id=received.ticket_id, activity_point="ticket.message.inbound")
    assert entry["params"]["variables"]["actor"] == f"Ann Kite <{email}>"


@names("written", [
    '"boss@company.example"', '"Boss boss@company.example"', "=?utf-8?q?boss=EF=BC=A0company.example?=", '"..."', "",
    '"https://evil.example"', "=?utf-8?q?=E2=80=AE=E2=80=AC?=",
])  # fmt: skip
def test_text_that_is_not_a_name_is_ignored(desk: Desk, written: str) -> None:
    email = someone()
    received = desk.receive(mail(From=f"{written} <{email}>"))
    assert desk.message(received)["from_name"] == address_of(desk, email)["display_name"] == ""
    assert contacts_of(desk, email) == [] and label_of(desk, email) == email


def test_a_name_is_completed_and_never_changed(desk: Desk) -> None:
    email, other = someone(), someone()
    for written in ("Ann", "Ann Kite", "Evil Eve", "Ann Eve"):
        received = desk.receive(mail(From=f"{written} <{email}>"))
        assert desk.message(received)["from_name"] == written
    assert address_of(desk, email)["display_name"] == "Ann" and contacts_of(desk, email) == [("Ann", "Kite")]
    known = desk.create("address", email=other)
    desk.create("contact", first_name="Bo", last_name="Oak", email_id=known)
    desk.receive(mail(From=f"Evil Eve <{other}>"))
    assert contacts_of(desk, other) == [("Bo", "Oak")] and label_of(desk, other) == f"Bo Oak <{other}>"


@names("headers", [
    {"Auto_Submitted": "auto-generated"}, {"Return_Path": "<>"}, {"Subject": "Automatic reply: Boat"},
])  # fmt: skip
def test_a_program_gets_no_contact(desk: Desk, headers: dict[str, str]) -> None:
    email = someone()
    desk.receive(mail(From=f"Shop Robot <{email}>", **headers))
    assert contacts_of(desk, email) == [] and label_of(desk, email) == f"Shop Robot <{email}>"


def test_a_name_in_a_private_group_stays_on_its_message(desk: Desk) -> None:
    email = someone()
    sender = desk.own_address("secrets@desk.example")
    group = desk.create("group", name="Secrets", is_private=1, reply_address_id=sender)
    received = desk.receive(mail(From=f"Ann Kite <{email}>", To="secrets@desk.example"))
    assert desk.ticket(received)["group_id"] == group and desk.message(received)["from_name"] == "Ann Kite"
    assert address_of(desk, email)["display_name"] == "" and contacts_of(desk, email) == []


def test_submitting_mail_creates_no_contact_without_the_right_to(desk: Desk) -> None:
    email = someone()
    worker = desk.worker("tina@desk.example")
    by = desk.read(lambda tx: actor.worker(tx, worker))
    assert by is not None
    ctx = replace(desk.ctx, actor=replace(by, privileges=frozenset()))
    mailroom.receive(ctx, mail(From=f"Ann Kite <{email}>"))
    assert contacts_of(desk, email) == [] and address_of(desk, email)["display_name"] == "Ann Kite"
    mailroom.receive(replace(ctx, actor=by), mail(From=f"Ann Kite <{email}>", Subject="Shed"))
    assert contacts_of(desk, email) == ([("Ann", "Kite")] if by.may("contexts.svc.contexts.contact.create") else [])


def test_workers_have_the_name_of_their_account(desk: Desk) -> None:
    desk.worker("max@desk.example")
    desk.receive(mail(From="The Boss <max@desk.example>"))
    assert address_of(desk, "max@desk.example")["display_name"] == "" and contacts_of(desk, "max@desk.example") == []


# -- our own address as the sender -------------------------------------------------------------------------------------

AUTHORS = [
    {"Reply_To": HELP, "X_Original_Sender": "EMAIL", "X_Original_From": "Ann Kite <EMAIL>", "Precedence": "list"},
    {"Reply_To": HELP, "X_Original_Sender": "EMAIL"},
    {"X_Original_From": "Ann Kite <EMAIL>"},
    {"Reply_To": "Ann Kite <EMAIL>"},
    {"Reply_To": f"{HELP}, Ann Kite <EMAIL>"},
    {"From": "Ann Kite <EMAIL>", "Reply_To": HELP, "List_Id": "<help.desk.example>"},
    {"From": "Ann Kite <EMAIL>", "Reply_To": "help+list@desk.example"},
    {"From": "billing@desk.example", "Reply_To": "Ann Kite <EMAIL>"},
    {"From": "'Ann Kite' via Billing <billing@desk.example>", "X_Original_Sender": "EMAIL"},
    {"Author": "Ann Kite <EMAIL>"},
    {"X_Google_Original_From": "Ann Kite <EMAIL>"},
]


@names("headers", AUTHORS)
def test_our_own_address_is_skipped_as_the_sender(desk: Desk, headers: dict[str, str]) -> None:
    email = someone()
    named = {"From": f"'Ann Kite' via Support <{HELP}>", "To": HELP} | headers
    received = desk.receive(mail(**{name: value.replace("EMAIL", email) for name, value in named.items()}))
    assert (desk.sender(received), desk.requesters(received.ticket_id)) == (email, [email])
    assert desk.message(received)["from_name"] == "Ann Kite" and contacts_of(desk, email) == [("Ann", "Kite")]


def test_mail_with_only_our_addresses_has_no_requester(desk: Desk) -> None:
    received = desk.receive(mail(From=HELP, To=HELP, Reply_To="billing@desk.example", X_Original_Sender=HELP))
    assert desk.requesters(received.ticket_id) == []


def test_other_headers_do_not_replace_a_foreign_sender(desk: Desk) -> None:
    email = someone()
    received = desk.receive(mail(From=email, X_Original_Sender="eve@evil.example", Author="eve@evil.example"))
    assert desk.sender(received) == email


def test_a_worker_named_by_another_header_is_not_trusted(desk: Desk) -> None:
    desk.worker("vera@desk.example")
    received = desk.receive(mail(From=HELP, X_Original_Sender="vera@desk.example"))
    assert desk.message(received)["worker_id"] == 0 and "another header" in " ".join(desk.notes(received))


# -- routes of new tickets ---------------------------------------------------------------------------------------------

BILLING = "billing@desk.example"
WAYS = [
    *({name: BILLING} for name in (
        "To", "Cc", "Delivered_To", "Envelope_To", "X_Envelope_To", "X_Original_To", "X_Forwarded_To",
        "X_Delivered_To", "Resent_To", "Resent_Cc", "Apparently_To", "X_Apparently_To", "X_Rcpt_To", "X_Receiver",
        "X_Real_To", "X_MDRcpt_To", "X_Gm_Original_To",
    )),
    {"To": "billing+vip@desk.example"},
    {"X_Original_To": "Billing+VIP@Desk.example"},
    {"To": '"Pumps, Billing" <billing@desk.example>'},
    {"X_Original_To": BILLING, "Delivered_To": "box17@host.example", "To": "friends@lists.example"},
    {"X_Forwarded_For": f"ann@other.example {BILLING}"},
    {"Original_Recipient": f"rfc822;{BILLING}"},
    {"Received": f"from a.example by b.example for <{BILLING}>; Tue, 24 Nov 2026 10:00:00 +0000"},
    {"To": "undisclosed-recipients:;", "X_Original_To": BILLING},
]  # fmt: skip


@names("headers", WAYS, ids=lambda headers: " ".join(headers))
def test_a_mail_is_routed_by_any_header_with_its_recipient(desk: Desk, headers: dict[str, str]) -> None:
    received = desk.receive(mail(**({"From": someone(), "To": "x@y.example"} | headers)))
    assert desk.ticket(received)["group_id"] == desk.one("group", name="Billing")["id"]


def test_to_takes_precedence_over_headers_of_servers(desk: Desk) -> None:
    desk.create("group", name="Sales", reply_address_id=desk.own_address("sales@desk.example"))
    received = desk.receive(mail(From=someone(), To="sales@desk.example", X_Original_To=BILLING))
    assert desk.ticket(received)["group_id"] == desk.one("group", name="Sales")["id"]


def test_headers_of_servers_add_no_requesters(desk: Desk) -> None:
    desk.set(mail_add_recipients=True)
    email = someone()
    raw = mail(From=email, To="help+shop@desk.example, bo@oak.example", X_Original_To="box17@host.example")
    received = desk.receive(raw)
    desk.set(mail_add_recipients=False)
    assert desk.requesters(received.ticket_id) == sorted([email, "bo@oak.example"])


# -- mail of programs --------------------------------------------------------------------------------------------------


def report(kind: str, *parts: str, **headers: str) -> bytes:
    return multipart("Content-Type: text/plain\n\nSee below.", *parts, kind=f"report; report-type={kind}", **headers)


DELAYED = "Content-Type: message/delivery-status\n\nReporting-MTA: dns; mx.example\n\nFinal-Recipient: rfc822; TO\n"
NOTICES: dict[str, tuple[dict[str, str], str]] = {
    "RFC 3834": ({"Auto_Submitted": "auto-replied"}, ""),
    "Exchange": ({"Auto_Submitted": "auto-generated", "X_Auto_Response_Suppress": "All"}, ""),
    "with a comment": ({"Auto_Submitted": "auto-replied (vacation)"}, ""),
    "Precedence": ({"Precedence": "auto_reply"}, ""),
    "cPanel, Roundcube": ({"X_Autoreply": "yes"}, ""),
    "old Exchange": ({"Subject": "Automatic reply: Boat"}, ""),
    "Outlook in German": ({"Subject": "Automatische Antwort: Boat"}, ""),
    "Outlook in French": ({"Subject": "=?utf-8?q?R=C3=A9ponse_automatique_=3A_Boat?="}, ""),
    "rules of Exchange": ({"X_MS_Exchange_Generated_Message_Source": "Mailbox Rules Agent"}, ""),
    "null return path": ({"Return_Path": "<>"}, ""),
    "read receipt": ({"Subject": "Read: Boat"}, "disposition-notification"),
    "delay": ({"From": "MAILER-DAEMON@mx.example"}, "delayed"),
    "delay by another address": ({"From": "noreply@mx.example", "Return_Path": "<>"}, "delayed"),
    "delivered": ({"From": "postmaster@mx.example"}, "delivered"),
    "Exim's delay": ({"From": "Mail Delivery System <Mailer-Daemon@mx.example>",
                      "Subject": "Warning: message 1aB delayed 24 hours"}, ""),
    "sendmail's delay": ({"From": "MAILER-DAEMON@mx.example",
                          "Subject": "Warning: could not send message for past 4 hours"}, ""),
}  # fmt: skip


def automatic(kind: str, **headers: str) -> bytes:
    if kind == "disposition-notification":
        return report(kind, "Content-Type: message/disposition-notification\n\nDisposition: manual-action; displayed",
                      **headers)  # fmt: skip
    if kind:
        state = "4.4.1" if kind == "delayed" else "2.0.0"
        part = f"{DELAYED}Action: {kind}\nStatus: {state}"
        return report("delivery-status", part, **headers)
    return mail("I am away until Monday.", **headers)


def waiting_ticket(desk: Desk, email: str) -> tuple[Receipt, Record]:
    """Creates a ticket that waits for three days; returns it with its values."""
    id = f"<b{next(_numbers)}@kite.example>"
    boat = desk.receive(mail(From=f"Ann Kite <{email}>", Message_Id=id))
    desk.update("ticket", boat.ticket_id, status_id=status.WAITING, reopen_date=NOW + 3 * 86400)
    return replace(boat, mask=id), desk.ticket(boat)


@names("name", list(NOTICES))
def test_a_notice_is_stored_and_changes_neither_status_nor_times(desk: Desk, name: str) -> None:
    email = someone()
    boat, before = waiting_ticket(desk, email)
    headers, kind = NOTICES[name]
    desk.now += 60
    received = desk.receive(automatic(kind, **({"From": f"Ann Kite <{email}>", "In_Reply_To": boat.mask} | headers)))
    after = desk.ticket(boat)
    assert received.ticket_id == boat.ticket_id and desk.message(received)["is_notice"] == 1
    changed = {key for key in before if before[key] != after[key]}
    assert changed <= {"changed_at", "num_messages", "num_messages_in"} and after["num_messages"] == 2


def test_a_receipt_finds_its_ticket_only_by_the_id_that_it_names(desk: Desk) -> None:
    email = someone()
    boat, before = waiting_ticket(desk, email)
    told = f"Original-Message-ID: {boat.mask}\nDisposition: manual-action; displayed"
    part = f"Content-Type: message/disposition-notification\n\n{told}"
    received = desk.receive(report("disposition-notification", part, From=email, Subject="Read: Boat"))
    assert received.ticket_id == boat.ticket_id and desk.ticket(boat)["status_id"] == before["status_id"]


REOPENING: dict[str, tuple[dict[str, str], str]] = {
    "a person": ({}, ""),
    "a person on a list": ({"Precedence": "list", "List_Id": "<a.example>"}, ""),
    "no": ({"Auto_Submitted": "no"}, ""),
    "X-Autoreply: no": ({"X_Autoreply": "no"}, ""),
    "a person who writes about a reply": ({"Subject": "Re: your automatic reply"}, ""),
    "failed": ({"From": "MAILER-DAEMON@mx.example"}, "failed"),
    "given up": ({"From": "MAILER-DAEMON@mx.example", "Subject": "Warning: message delayed",
                  "BODY": "Delivery has failed permanently; giving up after 4 days."}, ""),
    "words of a server that nobody understands": ({"From": "postmaster@mx.example", "BODY": "Mailbox moved."}, ""),
}  # fmt: skip


@names("name", list(REOPENING))
def test_people_and_failures_reopen_a_ticket(desk: Desk, name: str) -> None:
    email = someone()
    boat, _before = waiting_ticket(desk, email)
    headers, kind = REOPENING[name]
    named = {"From": f"Ann Kite <{email}>", "In_Reply_To": boat.mask} | headers
    body = named.pop("BODY", "")
    desk.receive(mail(body, **named) if body else automatic(kind, **named))
    ticket = desk.ticket(boat)
    assert (ticket["status_id"], ticket["reopen_date"], ticket["num_messages"]) == (status.OPEN, 0, 2)


def test_a_notice_that_begins_a_ticket_is_an_ordinary_message(desk: Desk) -> None:
    received = desk.receive(mail(From=someone(), Auto_Submitted="auto-generated"))
    assert (desk.message(received)["is_notice"], desk.ticket(received)["latest_message_id"]) == (0, received.message_id)


# -- strangers ---------------------------------------------------------------------------------------------------------


@names("headers, opens", [({}, False), ({"From": "PARTICIPANT"}, True)])
@names("way", ["mask", "id"])
def test_a_stranger_does_not_restore_a_deleted_ticket(
    desk: Desk, headers: dict[str, str], opens: bool, way: str
) -> None:
    email, id = someone(), f"<d{next(_numbers)}@kite.example>"
    boat = desk.receive(mail(From=email, Message_Id=id))
    desk.update("ticket", boat.ticket_id, status_id=status.DELETED)
    known = {"Subject": f"[#{boat.mask}]"} if way == "mask" else {"In_Reply_To": id}
    sender = headers.get("From", someone()).replace("PARTICIPANT", email)
    received = desk.receive(mail(From=sender, **known))
    assert received.ticket_id == boat.ticket_id
    assert desk.ticket(boat)["status_id"] == (status.OPEN if opens else status.DELETED)
    assert desk.message(received)["is_stranger"] == int(not opens)


# -- mail that a worker forwards ---------------------------------------------------------------------------------------

FORWARD = """please handle

---------- Forwarded message ---------
From: Carl Customer <AUTHOR>
Date: Tue, 24 Nov 2026 at 09:00
Subject: Pump broken
To: <zoe@desk.example>

The pump is broken.
"""


def test_the_author_of_a_forwarded_mail_can_replace_the_worker(desk: Desk) -> None:
    worker, email = f"zoe{next(_numbers)}@desk.example", someone()
    desk.worker(worker)
    received = desk.receive(mail(FORWARD.replace("AUTHOR", email), From=f"Zoe <{worker}>", Subject="Fwd: Pump broken"))
    assert desk.message(received)["forwarded_from"] == f'"Carl Customer" <{email}>'
    assert desk.requesters(received.ticket_id) == [worker]
    for _ in range(2):  # a second click changes nothing more
        assert original_sender.replace_sender(desk.ctx, received.ticket_id, received.message_id)[0] == email
        assert desk.requesters(received.ticket_id) == [email]
    assert label_of(desk, email) == f"Carl Customer <{email}>"
    assert desk.activity(received.ticket_id)[-2:] == ["ticket.participant.added", "ticket.participant.removed"]


@names("headers", [{"From": "ANN"}, {"From": "ANN", "Subject": "Fwd: Pump broken"}])
def test_forwards_of_others_offer_no_author(desk: Desk, headers: dict[str, str]) -> None:
    email = someone()
    named = {name: value.replace("ANN", email) for name, value in headers.items()}
    received = desk.receive(mail(FORWARD.replace("AUTHOR", someone()), **named))
    assert desk.message(received)["forwarded_from"] == ""
    with pytest.raises(Invalid, match="has no original sender"):
        original_sender.replace_sender(desk.ctx, received.ticket_id, received.message_id)


@names("author", [HELP, "billing@desk.example", "help+x@desk.example"])
def test_a_forward_of_our_own_mail_offers_no_author(desk: Desk, author: str) -> None:
    worker = f"zoe{next(_numbers)}@desk.example"
    desk.worker(worker)
    received = desk.receive(mail(FORWARD.replace("AUTHOR", author), From=worker, Subject="Fwd: Pump broken"))
    assert desk.message(received)["forwarded_from"] == ""
