"""The ticket that a mail belongs to, and the changes that a reply makes there."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from server.mailroom import Receipt
from server.record_types.shared.relation_tables import LINK
from server.records.writing import RecordWriter
from server.tickets import latest_words, requesters
from server.tickets.types.ticket_parts import status
from tests.desk.mailroom import NOW, Desk, mail, multipart

ANN, BO = "ann@kite.example", "Bo <bo@oak.example>"


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    opened = Desk(tmp_path)
    yield opened
    opened.close()


@pytest.fixture
def boat(desk: Desk) -> Receipt:
    """Ann's ticket, with the message <a@kite.example>."""
    return desk.receive(mail(Message_Id="<a@kite.example>"))


@pytest.fixture
def shed(desk: Desk, boat: Receipt) -> Receipt:
    """Bo's ticket, with the message <b@oak.example>."""
    return desk.receive(mail(From=BO, Subject="Shed", Message_Id="<b@oak.example>"))


# -- by ids ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("headers", "found"),
    [
        ({"In_Reply_To": "<b@oak.example>"}, "shed"),
        ({"In_Reply_To": "<b@oak.example>", "Subject": "Re: [#MASK]"}, "shed"),
        ({"In_Reply_To": "<no@such>", "References": "<a@kite.example> <b@oak.example> <zz@y>"}, "shed"),
        ({"In_Reply_To": 'Your mail of <a@kite.example> "x"'}, "boat"),
        ({"In_Reply_To": "<a@kite.example> <b@oak.example>"}, "boat"),
        ({"References": "<b@oak.example>,<a@kite.example>,<q@x>"}, "boat"),
        ({"In_Reply_To": "<A@KITE.example>"}, "boat"),
        ({"In_Reply_To": "a@kite.example"}, "new"),
        ({"In_Reply_To": "<no@such>"}, "new"),
        ({"Subject": "Boat", "Thread_Topic": "Boat"}, "new"),
    ],
)
def test_the_ticket_is_found_by_ids(
    desk: Desk, boat: Receipt, shed: Receipt, headers: dict[str, str], found: str
) -> None:
    tickets = {"boat": boat.ticket_id, "shed": shed.ticket_id}
    headers = {name: value.replace("MASK", boat.mask) for name, value in headers.items()}
    received = desk.receive(mail(**headers))
    assert received.is_new_ticket == (found == "new")
    assert found == "new" or received.ticket_id == tickets[found]


def test_an_id_in_the_same_case_takes_precedence(desk: Desk, boat: Receipt) -> None:
    other = desk.receive(mail(From=BO, Message_Id="<A@kite.example>"))
    assert desk.receive(mail(In_Reply_To="<A@kite.example>")).ticket_id == other.ticket_id
    assert desk.receive(mail(In_Reply_To="<a@kite.example>")).ticket_id == boat.ticket_id


def test_mail_that_references_itself_is_new(desk: Desk, boat: Receipt) -> None:
    received = desk.receive(mail(From=BO, Message_Id="<a@kite.example>", References="<a@kite.example>"))
    assert received.is_new_ticket


# -- by masks ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("subject", "is_found"),
    [
        ("Re: [#MASK] Boat", True),
        ("[Desk #MASK] x", True),
        ("Boat [#mask]", True),
        ("AW: [Foo Bar #MASK] y", True),
        ("[#MASK ] z", True),
        ("[ #MASK] z", True),
        ("[a #nosuch] [b #MASK]", True),
        ("[b #MASK] [a #nosuch]", True),
        ("[#1 #MASK]", False),
        ("[MASK] z", False),
        ("#MASK z", False),
        ("(#MASK)", False),
        ("Ticket MASK", False),
    ],
)
def test_the_ticket_is_found_by_its_mask(desk: Desk, boat: Receipt, subject: str, is_found: bool) -> None:
    subject = subject.replace("MASK", boat.mask).replace("mask", boat.mask.lower())
    received = desk.receive(mail(Subject=subject))
    assert received.is_new_ticket != is_found
    assert not is_found or received.ticket_id == boat.ticket_id


def test_the_rightmost_mask_takes_precedence(desk: Desk, boat: Receipt, shed: Receipt) -> None:
    assert desk.receive(mail(Subject=f"[#{shed.mask}] [#{boat.mask}]")).ticket_id == boat.ticket_id


# -- merged tickets ----------------------------------------------------------------------------------------------------


def test_mail_for_a_merged_ticket_goes_to_its_successor(desk: Desk, boat: Receipt, shed: Receipt) -> None:
    last = desk.receive(mail(Subject="Last"))
    desk.change("ticket", boat.ticket_id, merged_into=shed.ticket_id, status_id=status.DELETED)
    desk.change("ticket", shed.ticket_id, merged_into=last.ticket_id, status_id=status.DELETED)
    for headers in ({"In_Reply_To": "<a@kite.example>"}, {"Subject": f"Re: [#{boat.mask}]"}):
        received = desk.receive(mail(**headers))
        assert (received.ticket_id, received.mask) == (last.ticket_id, last.mask)
    assert desk.one("ticket", id=boat.ticket_id)["status_id"] == status.DELETED


def test_a_circle_of_merged_tickets_ends_in_a_new_ticket(desk: Desk, boat: Receipt, shed: Receipt) -> None:
    desk.change("ticket", boat.ticket_id, merged_into=shed.ticket_id)
    desk.change("ticket", shed.ticket_id, merged_into=boat.ticket_id)
    assert desk.receive(mail(Subject=f"[#{boat.mask}]", In_Reply_To="<a@kite.example>")).is_new_ticket


def test_at_most_ten_merges_are_followed(desk: Desk) -> None:
    chain = [desk.receive(mail(Subject=str(number))) for number in range(12)]
    for here, there in pairwise(chain):
        desk.change("ticket", here.ticket_id, merged_into=there.ticket_id)
    assert desk.receive(mail(Subject=f"[#{chain[1].mask}]")).ticket_id == chain[-1].ticket_id
    assert desk.receive(mail(Subject=f"[#{chain[0].mask}]")).is_new_ticket


# -- effects of a reply ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("before", [status.OPEN, status.WAITING, status.CLOSED, status.DELETED])
def test_a_reply_opens_the_ticket_from_any_status(desk: Desk, boat: Receipt, before: int) -> None:
    desk.update("ticket", boat.ticket_id, status_id=before, owner_id=0, importance=80)
    desk.change("ticket", boat.ticket_id, reopen_date=NOW + 9999)
    was = desk.ticket(boat)
    desk.now += 100
    received = desk.receive(mail("More.", Subject="Re: other words", In_Reply_To="<a@kite.example>"))
    ticket = desk.ticket(received)
    assert (ticket["status_id"], ticket["reopen_date"], ticket["updated"]) == (status.OPEN, 0, desk.now)
    assert (ticket["num_messages"], ticket["num_messages_in"]) == (2, 2)
    assert (ticket["initial_message_id"], ticket["latest_message_id"]) == (boat.message_id, received.message_id)
    kept = ("subject", "owner_id", "group_id", "bucket_id", "importance", "created", "closed", "mask", "spam_score")
    assert [ticket[name] for name in kept] == [was[name] for name in kept]
    assert not received.is_new_ticket and received.mask == boat.mask
    assert desk.message(received)["in_reply_to"] == "<a@kite.example>"
    assert desk.activity(boat.ticket_id)[-1] == "ticket.message.inbound"


def test_a_reply_to_a_waiting_ticket_notifies_its_owner_once(desk: Desk) -> None:
    boat = desk.receive(mail(Message_ID="<boat@kite.example>"))
    owner = desk.worker("milo@desk.example")
    desk.update("worker", owner, is_superuser=1)  # may read it
    desk.update("ticket", boat.ticket_id, status_id=status.WAITING, owner_id=owner)
    before = len(desk.all("notification", worker_id=owner))
    desk.receive(mail("More.", In_Reply_To="<boat@kite.example>"))
    told = [each["activity_point"] for each in desk.all("notification", worker_id=owner)[before:]]
    assert told == ["ticket.message.inbound"]
    assert desk.activity(boat.ticket_id)[-2:] == ["ticket.status.open", "ticket.message.inbound"]


def test_a_reply_notifies_the_owner_and_the_watchers(desk: Desk, boat: Receipt) -> None:
    milo, olga = desk.worker("milo@desk.example"), desk.worker("olga@desk.example")
    desk.change("ticket", boat.ticket_id, owner_id=milo)
    link = {"from_context": "svc.contexts.ticket", "from_id": boat.ticket_id}
    desk.write(lambda writing: writing.tx.insert(LINK, link | {"to_context": "svc.contexts.worker", "to_id": olga}))
    desk.receive(mail(In_Reply_To="<a@kite.example>"))
    told = [(each["worker_id"], each["activity_point"]) for each in desk.all("notification")]
    assert told == [(milo, "ticket.message.inbound"), (olga, "ticket.message.inbound")]


def test_replying_makes_no_one_a_requester(desk: Desk, boat: Receipt) -> None:
    desk.set(mail_add_recipients=True)
    desk.receive(mail(From=BO, Cc="cy@kite.example", In_Reply_To="<a@kite.example>"))
    assert desk.requesters(boat.ticket_id) == [ANN]


# -- strangers ---------------------------------------------------------------------------------------------------------


def test_mail_of_a_stranger_is_filed_and_marked(desk: Desk, boat: Receipt) -> None:
    received = desk.receive(mail(From=BO, Subject=f"[#{boat.mask}]"))
    assert received.ticket_id == boat.ticket_id
    assert desk.message(received)["is_stranger"] == 1
    assert desk.requesters(boat.ticket_id) == [ANN]
    again = desk.receive(mail(From=BO, Subject=f"[#{boat.mask}] and more"))
    assert desk.message(again)["is_stranger"] == 1


def test_a_requester_and_a_verified_worker_are_not_strangers(desk: Desk, boat: Receipt) -> None:
    desk.worker("milo@desk.example")
    desk.set(mail_authserv_ids=(HOST,))
    for sender in (ANN, "milo@desk.example"):
        raw = mail(From=sender, In_Reply_To="<a@kite.example>", Authentication_Results=PASS)
        message = desk.message(desk.receive(raw))
        assert (message["is_stranger"], message["is_outgoing"]) == (0, 0)


@pytest.mark.parametrize("header", ["To", "Cc", "Bcc"])
def test_a_recipient_of_mail_of_the_ticket_is_not_a_stranger(desk: Desk, boat: Receipt, header: str) -> None:
    desk.sent(boat.ticket_id, "<c@desk.example>", **{header: "x@y.example, Bo <BO@oak.example>"})
    received = desk.receive(mail(From=BO, In_Reply_To="<c@desk.example>"))
    assert (received.ticket_id, desk.message(received)["is_stranger"]) == (boat.ticket_id, 0)


def test_a_former_requester_who_wrote_is_not_a_stranger(desk: Desk, boat: Receipt) -> None:
    address = desk.message(boat)["sender_id"]
    desk.write(lambda writing: requesters.remove(writing, boat.ticket_id, [address]))
    assert desk.message(desk.receive(mail(In_Reply_To="<a@kite.example>")))["is_stranger"] == 0


def test_mail_in_the_name_of_the_desk_is_from_a_stranger(desk: Desk, boat: Receipt) -> None:
    desk.sent(boat.ticket_id, "<c@desk.example>", To=ANN)
    received = desk.receive(mail(From="help@desk.example", In_Reply_To="<a@kite.example>"))
    assert (received.ticket_id, desk.message(received)["is_stranger"]) == (boat.ticket_id, 1)


UNPROVEN = "is a worker's, and nothing proves that the worker wrote this"
HOST, MILO = "mx.desk.example", "milo@desk.example"
FAIL, PASS = f"{HOST}; dmarc=fail (p=none) header.from=desk.example", f"{HOST}; dkim=pass; dmarc=pass"


@pytest.mark.parametrize(
    ("headers", "noted"),
    [
        ({"Authentication-Results": FAIL}, f"{MILO} is a worker's, but the email failed DMARC at {HOST}"),
        ({"Authentication-Results": "MX.Desk.Example 1 (x); spf=pass; DMARC = Fail"}, "failed DMARC"),
        ({"Authentication-Results": f"{PASS}\nAuthentication-Results: {FAIL}"}, ""),
        ({"Authentication-Results": f"{FAIL}\nAuthentication-Results: {PASS}"}, "failed DMARC"),
        ({"Authentication-Results": f"mx.evil.example; dmarc=fail\nAuthentication-Results: {PASS}"}, ""),
        ({"Authentication-Results": "mx.evil.example; dmarc=pass"}, UNPROVEN),
        ({"Authentication-Results": f"{HOST}; dmarc=none"}, UNPROVEN),
        ({"Authentication-Results": f"{HOST}; none"}, UNPROVEN),
        ({"Authentication-Results": f'{HOST}; spf=pass smtp.mailfrom="a; dmarc=pass"@x; dmarc=none'}, UNPROVEN),
        ({}, UNPROVEN),
        ({"Authentication-Results": PASS, "From": BO, "Reply-To": MILO}, "another header than From names it"),
        ({"Authentication-Results": PASS, "From": "Milo <milo@home.example>", "Reply-To": MILO}, ""),
        ({"Authentication-Results": PASS, "From": f"{MILO}, {BO}"}, "From names more than one address"),
        ({"Authentication-Results": PASS, "From": f"{MILO}\nFrom: {BO}"}, "From names more than one address"),
        ({"Authentication-Results": PASS, "From": f"{MILO}\nFrom: nobody"}, "From names more than one address"),
    ],
)
def test_forged_mail_of_a_worker_is_from_a_stranger(
    desk: Desk, boat: Receipt, headers: dict[str, str], noted: str
) -> None:
    worker = desk.worker(MILO)
    desk.create("address", email="milo@home.example", worker_id=worker)
    desk.set(mail_authserv_ids=("MX.desk.example",))
    named = {"From": MILO, "In-Reply-To": "<a@kite.example>"} | headers
    received = desk.receive("".join(f"{name}: {value}\n" for name, value in named.items()).encode() + b"\nHello\n")
    message = desk.message(received)
    assert (message["worker_id"], message["is_stranger"]) == ((0, 1) if noted else (worker, 0))
    assert received.ticket_id == boat.ticket_id and desk.requesters(boat.ticket_id) == [ANN]
    notes = [note for note in desk.notes(received) if note != "From names more than one address"]
    assert noted in " ".join(notes) and bool(notes) == bool(noted)


def test_forged_mail_of_a_worker_is_listed_by_its_address(desk: Desk, boat: Receipt) -> None:
    worker = desk.worker(MILO)
    desk.set(mail_authserv_ids=("MX.desk.example",))
    for number, (verdict, shown) in enumerate(((FAIL, (0, MILO)), (PASS, (worker, "milo")))):
        received = desk.receive(
            mail(
                f"Hello {number}", From=f"Ann <{MILO}>", In_Reply_To="<a@kite.example>", Authentication_Results=verdict
            )
        )
        listed = latest_words.read(desk.ctx, [desk.message(received)["id"]])[boat.ticket_id]
        assert (listed.worker_id, listed.who) == shown


def test_authentication_results_are_ignored_unless_the_host_is_set(desk: Desk) -> None:
    worker = desk.worker(MILO)
    received = desk.receive(f"Authentication-Results: {FAIL}\nFrom: {MILO}\n\nHello\n".encode())
    message = desk.message(received)
    assert worker and (message["worker_id"], message["is_stranger"]) == (
        0,
        0,
    )  # the sender of a new ticket is not a stranger
    assert desk.notes(received) == [f"{MILO} {UNPROVEN}"]


# -- requesters, for incoming and outgoing mail ------------------------------------------------------------------------


def test_added_and_removed_requesters_are_entries_on_the_ticket(desk: Desk, boat: Receipt) -> None:
    def work(writing: RecordWriter) -> tuple[int, list[int]]:
        bo, ann = (requesters.address_of(writing, email)["id"] for email in ("BO@oak.example", ANN))
        assert requesters.add(writing, boat.ticket_id, [bo, ann, bo]) == [bo]
        assert requesters.is_requester(writing.tx, boat.ticket_id, bo)
        assert requesters.remove(writing, boat.ticket_id, [ann, ann]) == [ann]
        return bo, requesters.ids_of(writing.tx, boat.ticket_id)

    bo, left = desk.write(work)
    assert left == [bo] and desk.requesters(boat.ticket_id) == ["bo@oak.example"]
    assert desk.activity(boat.ticket_id)[1:] == ["ticket.participant.added", "ticket.participant.removed"]


@pytest.mark.parametrize(
    ("address", "may"),
    [
        ({"email": "ann@kite.example", "mail_transport_id": 0}, True),
        ({"email": "ann@kite.example", "mail_transport_id": 3}, False),
        ({"email": "no-reply@kite.example", "mail_transport_id": 0}, False),
    ],
)
def test_who_may_become_a_requester(address: dict[str, object], may: bool) -> None:
    assert requesters.may_request(address, ("no-reply@*",)) is may


# -- duplicates --------------------------------------------------------------------------------------------------------


def test_the_same_mail_twice_is_stored_once(desk: Desk) -> None:
    raw = multipart("Content-Type: text/plain\n\nHi", "Content-Type: a/b; name=c\n\nd", Message_Id="<a@kite.example>")
    first = desk.receive(raw)
    desk.update("ticket", first.ticket_id, status_id=status.CLOSED)
    before = desk.counts()
    second = desk.receive(raw)
    assert desk.counts() == before
    assert second == Receipt(first.ticket_id, first.mask, first.message_id, False, "duplicate")
    assert desk.ticket(first)["status_id"] == status.CLOSED


def test_a_copy_of_a_mail_on_a_merged_ticket_returns_its_successor(desk: Desk, boat: Receipt, shed: Receipt) -> None:
    desk.change("ticket", boat.ticket_id, merged_into=shed.ticket_id)
    second = desk.receive(mail(Message_Id="<a@kite.example>"))
    assert (second.outcome, second.ticket_id, second.message_id) == ("duplicate", shed.ticket_id, boat.message_id)


def test_the_same_id_from_another_sender_is_another_mail(desk: Desk, boat: Receipt) -> None:
    received = desk.receive(mail(From=BO, Message_Id="<a@kite.example>"))
    assert received.outcome == "stored" and received.is_new_ticket
    assert desk.notes(received) == [SAME_ID.format(boat.message_id)]


SAME_ID = "the same Message-Id has arrived before, from another sender or with different text: message {}"
FILE = "Content-Type: a/b; name=c\nContent-Transfer-Encoding: base64\n\n{}"


@pytest.mark.parametrize(
    ("first", "second", "outcome"),
    [
        ("The pump leaks.\n", "The pump  leaks.\r\n\r\n", "duplicate"),
        ("The pump leaks.\n", "The pump does not leak.\n", "stored"),
        ("Scan\n" + FILE.format("ZDE="), "Scan\n" + FILE.format("ZDE=\n"), "duplicate"),
        ("Scan\n" + FILE.format("ZDE="), "Scan\n" + FILE.format("ZDI="), "stored"),
    ],
)
def test_the_same_id_and_sender_with_other_words_or_files_is_another_mail(
    desk: Desk, first: str, second: str, outcome: str
) -> None:
    mails = []
    for said in (first, second):
        words, _, file = said.partition("Content-Type")
        parts = [f"Content-Type: text/plain\n\n{words}"] + ([f"Content-Type{file}"] if file else [])
        mails.append(desk.receive(multipart(*parts, From="scanner@kite.example", Message_Id="<1@scanner>")))
    assert [each.outcome for each in mails] == ["stored", outcome]
    if outcome == "stored":
        assert mails[0].message_id != mails[1].message_id and mails[1].is_new_ticket
        assert desk.notes(mails[1]) == [SAME_ID.format(mails[0].message_id)]
        desk.change("message", mails[0].message_id, content="corrected by a worker")
        again = desk.receive(multipart(*parts, From="scanner@kite.example", Message_Id="<1@scanner>"))
        assert (again.outcome, again.message_id) == ("duplicate", mails[1].message_id)


def test_the_same_words_with_other_html_are_another_mail(desk: Desk) -> None:
    """Forms write "see the HTML" into the text of every mail."""

    def receive(html: str) -> Receipt:
        parts = ("Content-Type: text/plain\n\nSee the HTML.", f"Content-Type: text/html\n\n{html}")
        return desk.receive(multipart(*parts, kind="alternative", Message_Id="<1@form>"))

    first = receive("<p>Order  1</p>")
    assert [receive(html).outcome for html in ("<p>Order 1</p>\n", "<p>Order 2</p>")] == ["duplicate", "stored"]
    assert first.outcome == "stored"


def test_for_mail_stored_before_the_words_are_compared(desk: Desk, boat: Receipt) -> None:
    desk.change("message", boat.message_id, body_digest="")
    assert desk.receive(mail(Message_Id="<a@kite.example>")).outcome == "duplicate"
    assert desk.receive(mail("Other words.\n", Message_Id="<a@kite.example>")).outcome == "stored"


def test_mails_without_an_id_are_copies_only_if_their_bytes_are_equal(desk: Desk) -> None:
    first, second = desk.receive(mail()), desk.receive(mail("Other words.\n"))
    assert first.ticket_id != second.ticket_id
    desk.set(mail_repeat_days=0)
    third = desk.receive(mail())
    assert third.ticket_id != first.ticket_id
    assert desk.message(first)["raw_blob_id"] == desk.message(third)["raw_blob_id"]


@pytest.mark.parametrize(
    "headers",
    [
        {"In_Reply_To": "<gone@other.example> <a@kite.example>"},
        {"In_Reply_To": "<gone@other.example>,\n <a@kite.example>"},
        {"In_Reply_To": "<gone@other.example>", "References": "<a@kite.example> <gone@other.example>"},
    ],
)
def test_any_referenced_id_of_a_mail_finds_the_ticket(desk: Desk, headers: dict[str, str]) -> None:
    first = desk.receive(mail(Message_Id="<a@kite.example>"))
    assert desk.receive(mail(Message_Id="<b@kite.example>", **headers)).ticket_id == first.ticket_id


@pytest.mark.parametrize("cut", ["\n ", "\r\n\t", " \n  "])
def test_a_mask_folded_in_the_middle_finds_the_ticket(desk: Desk, cut: str) -> None:
    mask = desk.receive(mail(Message_Id="<a@kite.example>")).mask
    response = mail(Message_Id="<b@kite.example>", Subject=f"AW: [Desk #{mask[:6]}{cut}{mask[6:]}] Boat")
    assert desk.receive(response).mask == mask
