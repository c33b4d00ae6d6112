"""Messages: values read from their headers, and the counts of their ticket."""

import hashlib

import pytest

from server.errors import Forbidden, Invalid, Required
from server.records.writing import RecordWriter
from server.store import blobs
from tests.records.desk import NOW

ID = "<Pump-1@kite.example>"
HEADERS = f"Message-Id: {ID}\nIn-Reply-To: Your mail <first@kite.example>\nSubject: Pump"


@pytest.fixture
def ticket(desk, ids):
    """The id of a ticket of Support, opened 1,000 seconds ago."""
    return desk.create("ticket", subject="Pump", group_id=ids["support"], created=NOW - 1000, updated=NOW - 1000)["id"]


@pytest.fixture
def write(desk, ticket):
    """Returns a function that creates a message and returns its id."""

    def create(**fields):
        values = {"ticket_id": ticket, "sender": "ana@kite.example", "content": "The pump leaks", "headers": HEADERS}
        return desk.create("message", **values | fields)["id"]

    return create


def counters(desk, id):
    row = desk.row("ticket", id)
    return {name: row[name] for name in (
        "num_messages", "num_messages_in", "num_messages_out", "initial_message_id", "initial_response_message_id",
        "latest_message_id", "elapsed_response_first",
    )}  # fmt: skip


def test_ids_are_read_from_the_headers(desk, write):
    row = desk.row("message", write())
    assert row["message_id"] == ID and row["in_reply_to"] == "<first@kite.example>"
    assert row["hash_header_message_id"] == hashlib.sha1(ID.encode()).hexdigest()
    assert row["storage_size"] == len("The pump leaks")
    assert len(row["token"]) == 10


def test_sent_values_take_precedence_over_those_in_headers(desk, write):
    row = desk.row("message", write(hash_header_message_id="abc", storage_size=7, token="tok"))
    assert (row["hash_header_message_id"], row["storage_size"], row["token"]) == ("abc", 7, "tok")


def test_headers_without_an_id_have_no_hash(desk, write):
    row = desk.row("message", write(headers="Subject: Pump", content=""))
    assert row["message_id"] == row["hash_header_message_id"] == ""


def test_new_headers_set_a_new_id_and_new_words(desk, write):
    made = write()
    desk.update("message", made, headers="Message-Id: <b@x>\nTo: zoe@kite.example", content="Dry now")
    assert desk.row("message", made)["message_id"] == "<b@x>"
    assert desk.found("message", "header.to:zoe@kite.example dry") == [made]
    assert desk.found("message", "leaks") == []


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"ticket_id": 99}, Invalid),
        ({"sender": "nonsense"}, Invalid),
        ({"sender": ""}, Required),
        ({"headers": ""}, Required),
        ({"worker": "Nobody"}, Invalid),
        ({"signed_at": 5}, Invalid),
    ],
)
def test_invalid_messages_are_refused(write, fields, error):
    with pytest.raises(error):
        write(**fields)


def test_a_ticket_is_found_by_its_mask_and_a_merged_one_by_its_successor(desk, ids, ticket):
    old = desk.create("ticket", subject="Old", group_id=ids["support"], mask="OLD-1")["id"]
    desk.store.write(lambda tx: tx.update(desk.registry.type("ticket").table, old, {"merged_into": ticket}))
    made = desk.create("message", ticket_mask="old-1", sender="ana@kite.example", content="", headers="Subject: x")
    assert made["ticket_id"] == ticket
    with pytest.raises(Invalid, match="ticket_mask"):
        desk.create("message", ticket_mask="NO-1", sender="ana@kite.example", content="", headers="Subject: x")


def test_a_worker_is_found_by_an_unambiguous_name_or_address(desk, ids, write):
    for name in ("nora berg", "NORA@desk.example"):
        assert desk.row("message", write(worker=name))["worker_id"] == ids["nora"]
    desk.worker("Nora", last_name="Berg", email="second@desk.example")
    with pytest.raises(Invalid, match="several"):
        write(worker="Nora Berg")


def test_the_ticket_counts_its_messages(desk, ids, ticket, write):
    desk.update("ticket", ticket, status="waiting")
    first = write()
    result = write(sender="help@desk.example", is_outgoing=1, worker_id=ids["milo"], created=NOW - 400)
    last = write()
    assert counters(desk, ticket) == {
        "num_messages": 3, "num_messages_in": 2, "num_messages_out": 1, "initial_message_id": first,
        "initial_response_message_id": result, "latest_message_id": last, "elapsed_response_first": 600,
    }  # fmt: skip
    row = desk.row("ticket", ticket)
    assert (row["updated"], row["status_id"]) == (NOW, 1)
    assert row["first_wrote_address_id"] == row["last_wrote_address_id"] == desk.row("message", first)["sender_id"]


def test_a_composed_message_is_not_a_reply(desk, ids, ticket, write):
    write(sender="help@desk.example", is_outgoing=1, worker_id=ids["milo"])
    assert counters(desk, ticket)["initial_response_message_id"] == 0
    result = write(sender="help@desk.example", is_outgoing=1, worker_id=ids["milo"])
    assert counters(desk, ticket)["initial_response_message_id"] == result


def test_counters_follow_deleted_changed_and_moved_messages(desk, ids, ticket, write):
    other = desk.create("ticket", subject="Other", group_id=ids["support"])["id"]
    first, second = write(), write(is_outgoing=1, worker_id=ids["milo"])
    desk.update("message", second, is_outgoing=0)
    assert counters(desk, ticket)["num_messages_in"] == 2
    assert counters(desk, ticket)["initial_response_message_id"] == 0
    desk.update("message", first, ticket_id=other)
    assert counters(desk, ticket)["initial_message_id"] == second
    assert counters(desk, other)["num_messages"] == 1
    desk.delete("message", second)
    assert set(counters(desk, ticket).values()) == {0}


def test_permissions_on_a_message_follow_its_ticket(desk, ids, ticket, write):
    made = write()
    desk.update("group", ids["support"], is_private=1)
    assert desk.found("message", "", by=ids["milo"]) == [made]
    assert desk.found("message", "", by=ids["olga"]) == []
    assert desk.update("message", made, by=ids["milo"], content="Dry")["id"] == made
    with pytest.raises(Forbidden):
        desk.update("message", made, by=ids["olga"], content="Dry")


def test_the_html_of_a_message_is_attached_to_it_and_must_be_readable(desk, ids, write):
    file = desk.create("attachment", by=ids["nora"], name="a.html", mime_type="text/html", content="<p>Hi</p>")["id"]
    made = write()
    with pytest.raises(Invalid, match="there is no attachment"):  # the refusal does not reveal it
        desk.update("message", made, by=ids["milo"], html_attachment_id=file)
    desk.update("message", made, html_attachment_id=file)
    shown = desk.record("message", made, by=ids["milo"], expand="content_html,attachments")
    assert shown["content_html"] == "<p>Hi</p>"
    assert list(shown["attachments"]) == [str(file)]
    desk.delete("attachment", file)
    assert desk.row("message", made)["html_attachment_id"] == 0


def test_the_raw_mail_is_deleted_with_its_message(desk, ticket, write):
    sender = desk.row("message", write())["sender_id"]

    def make(tx):
        raw = blobs.keep(tx, b"From: ana@kite.example\n\nPump")
        values = {"ticket_id": ticket, "sender_id": sender, "content": "", "headers": "", "raw_blob_id": raw}
        return raw, RecordWriter(desk.context(), tx).create("message", values)

    raw, made = desk.store.write(make)
    desk.delete("message", made)
    assert desk.read(lambda tx: tx.get(blobs.BLOB, raw)) is None
