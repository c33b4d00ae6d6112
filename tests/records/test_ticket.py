"""Tickets: their group, consequences of their status, notified workers, and the remains of deleted ones."""

import re

import pytest

from server.errors import BadQuery, Conflict, Forbidden, Invalid, Required
from server.records.writing import RecordWriter
from tests.records.desk import NOW

OPENED = NOW - 1000


@pytest.fixture
def ticket(desk, ids):
    """The id of an open ticket of Support, opened a while ago."""
    made = desk.create("ticket", subject="Pump", group_id=ids["support"], created=OPENED)["id"]
    desk.store.write(lambda tx: tx.update(desk.registry.type("ticket").table, made, {"last_opened_at": OPENED}))
    return made


def by_service(desk, work):
    """Runs `work(writing)` as the service."""
    return desk.store.write(lambda tx: work(RecordWriter(desk.context(), tx)))


def points(desk, start="ticket."):
    return [each["activity_point"] for each in desk.log() if each["activity_point"].startswith(start)]


# -- created -----------------------------------------------------------------------------------------------------------


def test_a_new_ticket_is_open_in_the_default_bucket_with_a_unique_mask(desk, ids):
    shown = desk.create("ticket", subject="Pump", group_id=ids["support"])
    assert shown["status"] == "open" and shown["importance"] == 50 and shown["num_messages"] == 0
    assert shown["bucket_id"] == desk.row("group", ids["support"])["default_bucket_id"]
    assert re.fullmatch(r"[A-NP-Z]{3}-[1-9]{5}-[1-9]{3}", shown["mask"])
    assert shown["_label"] == f"[#{shown['mask']}] Pump"
    assert shown["created"] == shown["updated"] == shown["last_opened_at"] == NOW
    assert points(desk) == []


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"subject": "Pump"}, Required),
        ({"group": "Support"}, Required),
        ({"subject": "Pump", "group": "Nowhere"}, Invalid),
        ({"subject": "Pump", "bucket": "Inbox"}, Required),
        ({"subject": "Pump", "group": "support", "bucket": "Nowhere"}, Invalid),
        ({"subject": "Pump", "group": "support", "bucket_id": 99}, Invalid),
        ({"subject": "Pump", "group": "support", "status": "x"}, Invalid),
        ({"subject": "Pump", "group": "support", "status_id": 4}, Invalid),
        ({"subject": "Pump", "group": "support", "mask": ""}, Required),
        ({"subject": "Pump", "group": "support", "num_messages": 3}, Invalid),
        ({"subject": "Pump", "group": "support", "participant_ids": "99"}, Invalid),
        ({"subject": "Pump", "group": "support", "participant_ids": "ana"}, Invalid),
    ],
)
def test_invalid_tickets_are_refused(desk, ids, fields, error):
    with pytest.raises(error):
        desk.create("ticket", **fields)


def test_names_stand_for_group_bucket_and_organization(desk, ids):
    refunds = desk.create("bucket", name="Refunds", group_id=ids["support"])["id"]
    shown = desk.create("ticket", subject="Pump", group="SUPPORT", bucket="refunds", org="Kite Pumps", status="WAIT")
    assert (shown["group_id"], shown["bucket_id"], shown["status_id"]) == (ids["support"], refunds, 1)
    again = desk.create("ticket", subject="Pump", group="Support", org="kite pumps", status="3")
    assert again["org_id"] == shown["org_id"] > 0 and again["status"] == "deleted"


def test_a_bucket_moves_the_ticket_into_its_group(desk, ids):
    sales = desk.create("group", name="Sales")["id"]
    leads = desk.create("bucket", name="Leads", group_id=sales)["id"]
    shown = desk.create("ticket", subject="Pump", bucket_id=leads)
    assert (shown["group_id"], shown["bucket_id"]) == (sales, leads)
    assert desk.create("ticket", subject="Pump", group_id=ids["support"], bucket_id=leads)["group_id"] == sales


def test_masks_are_unique(desk, ids):
    desk.create("ticket", subject="Pump", group_id=ids["support"], mask="A-1")
    with pytest.raises(Conflict):
        desk.create("ticket", subject="Pump", group_id=ids["support"], mask="a-1")


def test_a_pattern_without_enough_masks_is_reported(desk, ids, monkeypatch):
    monkeypatch.setattr("server.tickets.types.ticket.new_mask", lambda pattern, today: "A-1")
    desk.create("ticket", subject="Pump", group_id=ids["support"])
    with pytest.raises(Conflict, match="mail_mask_pattern"):
        desk.create("ticket", subject="Pump", group_id=ids["support"])


def test_a_worker_assigns_new_tickets_to_members_only(desk, ids):
    with pytest.raises(Invalid, match=r"'Olga'.*'Support'"):
        desk.create("ticket", by=ids["nora"], subject="Pump", group_id=ids["support"], owner_id=ids["olga"])
    assert desk.create("ticket", by=ids["nora"], subject="Pump", group_id=ids["support"], owner_id=ids["milo"])["id"]
    assert desk.create("ticket", subject="Pump", group_id=ids["support"], owner_id=ids["olga"])["id"]


def test_line_ends_in_a_subject_become_spaces(desk, ids):
    shown = desk.create("ticket", subject="Pump\r\nBcc: all@kite.example", group_id=ids["support"])
    assert shown["subject"] == "Pump Bcc: all@kite.example"


def test_the_service_creates_tickets_without_a_group_in_the_default_group(desk, ids):
    id = by_service(desk, lambda writing: writing.create("ticket", {"subject": "Pump"}))
    assert desk.row("ticket", id)["group_id"] == ids["support"]


# -- status ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ({"status": "w"}, {"status_id": 1, "closed": 0, "elapsed_status_open": 1000}),
        ({"status": "c"}, {"status_id": 2, "closed": NOW, "elapsed_resolution_first": 1000}),
        ({"status_id": 2, "closed": NOW - 400}, {"closed": NOW - 400, "elapsed_resolution_first": 600}),
        ({"status": "d"}, {"status_id": 3, "closed": 0, "deleted_at": NOW, "elapsed_status_open": 1000}),
        ({"reopen_at": "+1 day"}, {"status_id": 0, "reopen_date": NOW + 86400}),
        ({"subject": "Other"}, {"updated": NOW, "last_opened_at": OPENED, "elapsed_status_open": 0}),
    ],
)
def test_consequences_of_a_change_of_an_open_ticket(desk, ticket, sent, kept):
    desk.update("ticket", ticket, **sent)
    row = desk.row("ticket", ticket)
    assert {name: row[name] for name in kept} == kept


def test_reopening_preserves_the_first_close_and_schedules_no_reopening(desk, ticket):
    desk.update("ticket", ticket, status="closed", reopen_date=NOW + 60)
    assert desk.row("ticket", ticket)["reopen_date"] == NOW + 60
    shown = desk.update("ticket", ticket, status="open")
    assert (shown["closed"], shown["reopen_date"], shown["last_opened_at"]) == (NOW, 0, NOW)
    desk.update("ticket", ticket, status="waiting")
    desk.update("ticket", ticket, status="closed")
    row = desk.row("ticket", ticket)
    assert (row["closed"], row["elapsed_resolution_first"], row["elapsed_status_open"]) == (NOW, 1000, 1000)


def test_a_spam_verdict_sets_the_score_and_counts_the_sender_once(desk, ticket):
    sender = desk.create("address", email="ana@kite.example")["id"]
    desk.create("message", ticket_id=ticket, sender_id=sender, content="Win", headers="Subject: Win")
    assert desk.update("ticket", ticket, spam_training="S")["spam_score"] == 0.9999
    assert desk.update("ticket", ticket, spam_training="N")["spam_score"] == 0.0001
    assert (desk.row("address", sender)["num_spam"], desk.row("address", sender)["num_nonspam"]) == (1, 0)


def test_counts_of_the_summary_follow_every_change(desk, ids, ticket):
    desk.create("ticket", subject="Other", group_id=ids["support"], owner_id=ids["milo"])
    desk.update("ticket", ticket, status="closed")

    def totals(tx):
        before = tx.statements
        found = [desk.search(tx, "ticket", q).total() for q in ("status:open", "status:closed", "owner.id:milo", "")]
        return found, tx.statements - before

    assert desk.read(totals) == ([1, 1, 1, 2], 4)


# -- entries -----------------------------------------------------------------------------------------------------------


def test_changes_are_entries_with_their_wording(desk, ids, ticket):
    sales = desk.create("group", name="Sales")["id"]
    desk.update("ticket", ticket, by=ids["nora"], status="w", owner_id=ids["milo"], group_id=sales)
    desk.update("ticket", ticket, by=ids["nora"], owner_id=0)
    log = desk.log(target__context="svc.contexts.ticket")
    entries = {each["activity_point"]: each["params"]["variables"] for each in log}
    assert list(entries) == [
        "ticket.moved", "ticket.owner.assigned", "ticket.status.waiting", "ticket.owner.unassigned",
    ]  # fmt: skip
    assert (entries["ticket.moved"]["group"], entries["ticket.moved"]["bucket"]) == ("Sales", "Inbox")
    assert entries["ticket.owner.assigned"]["worker"] == "Milo"
    assert entries["ticket.status.waiting"]["status"] == "waiting"
    assert entries["ticket.status.waiting"]["target"].endswith("] Pump")


def test_an_update_without_a_change_is_not_an_entry(desk, ids, ticket):
    desk.update("ticket", ticket, status="open", owner_id=0, group_id=ids["support"])
    assert points(desk) == []


# -- participants ------------------------------------------------------------------------------------------------------


def requesters(desk, id):
    return desk.record("ticket", id, expand="requester_emails")["requester_emails"]


def test_participants_are_created_found_and_skipped(desk, ids, ticket):
    transport = desk.create("mail_transport", name="T", extension_id="core.mail.transport.null")["id"]
    desk.create("address", email="help@desk.example", mail_transport_id=transport)
    known = desk.create("address", email="ana@kite.example")["id"]
    desk.update("ticket", ticket, participants="Ana <ANA@kite.example>, bob@kite.example; help@desk.example, nonsense")
    assert requesters(desk, ticket) == "ana@kite.example, bob@kite.example"
    desk.update("ticket", ticket, participant_ids=f"-{known}")
    assert requesters(desk, ticket) == "bob@kite.example"
    assert points(desk) == ["ticket.participant.added"] * 2 + ["ticket.participant.removed"]


def test_participants_of_a_new_ticket_are_not_entries(desk, ids):
    made = desk.create("ticket", subject="Pump", group="Support", participants="ana@kite.example")["id"]
    assert requesters(desk, made) == "ana@kite.example"
    assert points(desk) == []


def test_adding_a_participant_twice_is_not_an_entry(desk, ticket):
    desk.update("ticket", ticket, participants="ana@kite.example")
    desk.update("ticket", ticket, participants="ana@kite.example")
    assert points(desk) == ["ticket.participant.added"]


# -- permissions -------------------------------------------------------------------------------------------------------


def test_only_members_change_a_ticket_and_a_private_one_is_hidden(desk, ids, ticket):
    assert desk.update("ticket", ticket, by=ids["milo"], importance=70)["importance"] == 70
    with pytest.raises(Forbidden):
        desk.update("ticket", ticket, by=ids["olga"], importance=10)
    assert desk.found("ticket", "", by=ids["olga"]) == [ticket]
    desk.update("group", ids["support"], is_private=1)
    assert desk.found("ticket", "", by=ids["olga"]) == []
    for uri in ("org", "address"):
        assert desk.found(uri, f"ticket.id:{ticket}", by=ids["olga"]) == []


# -- searches of jobs --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("where", "index"),
    [
        ("status_id IN (1, 2) AND reopen_date > 0 AND reopen_date <= ?", "ticket_by_status_id_reopen_date"),
        ("status_id = 3 AND deleted_at BETWEEN 1 AND ?", "ticket_by_status_id_deleted_at"),
        ('merged_into = ? AND "merged_into" > 0', "ticket_by_merged_into"),
    ],
)
@pytest.mark.sqlite("plans of SQLite")
def test_due_tickets_are_found_by_their_own_index(desk, where, index):
    plan = "EXPLAIN QUERY PLAN SELECT id FROM ticket WHERE "
    found = desk.read(lambda tx: tx.connection.execute(plan + where, (5,)).fetchall())
    assert index in found[0][3]


# -- deleted and purged ------------------------------------------------------------------------------------------------


def test_deleting_only_sets_the_status_deleted(desk, ids, ticket):
    desk.delete("ticket", ticket, by=ids["nora"])
    row = desk.row("ticket", ticket)
    assert (row["status_id"], row["deleted_at"], row["elapsed_status_open"]) == (3, NOW, 1000)
    assert [each["activity_point"] for each in desk.log(is_administrative=0)] == ["record.deleted"]
    assert desk.record("ticket", ticket)["status"] == "deleted"


def test_a_purged_ticket_deletes_its_messages_files_and_comments(desk, ids, ticket):
    other = desk.create("ticket", subject="Merged", group_id=ids["support"])["id"]
    message = desk.create(
        "message", ticket_id=ticket, sender="ana@kite.example", content="Pump", headers="Subject: Pump"
    )["id"]
    desk.create("attachment", name="a.txt", content="a", attach=[f"message:{message}"])
    both = [f"message:{message}", f"ticket:{other}"]
    shared = desk.create("attachment", name="b.txt", content="b", attach=both)["id"]
    desk.create("comment", comment="Pump", target__context="ticket", target_id=ticket, author_id=ids["milo"])
    draft = desk.create("draft", type="ticket.reply", worker_id=ids["milo"], ticket_id=ticket)["id"]
    desk.store.write(lambda tx: tx.update(desk.registry.type("ticket").table, other, {"merged_into": ticket}))
    by_service(desk, lambda writing: writing.delete("ticket", ticket))
    assert desk.found("ticket", "") == [other]
    assert desk.found("message", "") == desk.found("comment", "") == desk.found("message", "pump") == []
    assert desk.found("attachment", "") == [shared]
    assert desk.row("draft", draft)["ticket_id"] == desk.row("ticket", other)["merged_into"] == 0
    assert desk.store.check() == []


def test_a_level_of_responsibility_must_be_a_number(desk, ids):
    with pytest.raises(BadQuery, match="responsibility"):
        desk.found("ticket", "responsibility:high", by=ids["milo"])
