"""Comments: their author, the notified workers, and their readers."""

import pytest

from server.errors import Forbidden, Invalid, Required
from server.records.writing import RecordWriter


@pytest.fixture
def ticket(desk, ids):
    desk.create("role", name="Everyone", privs_mode="all", member_query_worker="isDisabled:no")
    return desk.create("ticket", subject="Pump", group_id=ids["support"])["id"]


@pytest.fixture
def comment(desk, ticket):
    """Returns a function that writes a comment on the ticket and returns its fields."""

    def create(by, text="Known", **fields):
        values = {"comment": text, "target__context": "ticket", "target_id": ticket}
        return desk.create("comment", by=by, **values | fields)

    return create


def notified_points(desk, id):
    """Returns the points of a worker's notifications."""
    return [desk.row("notification", each)["activity_point"] for each in desk.found("notification", f"worker.id:{id}")]


def test_the_author_is_the_caller(desk, ids, comment):
    shown = comment(ids["milo"])
    assert (shown["author__context"], shown["author_id"]) == ("svc.contexts.worker", ids["milo"])
    assert shown["_label"] == "Milo: Known"
    assert "record_url" not in shown


def test_only_administrators_write_as_others(desk, ids, comment):
    assert comment(ids["nora"], author_id=ids["olga"])["author_id"] == ids["olga"]
    assert comment(ids["nora"], author__context="worker", author_id=ids["olga"])["_label"] == "Olga: Known"
    with pytest.raises(Forbidden):
        comment(ids["milo"], author_id=ids["olga"])
    with pytest.raises(Invalid, match="author_id"):
        comment(ids["nora"], author_id=99)


def test_the_service_can_be_the_author(desk, ticket):
    values = {"comment": "Error", "target__context": "svc.contexts.ticket", "target_id": ticket}
    made = desk.store.write(lambda tx: RecordWriter(desk.context(), tx).create("comment", values))
    shown = desk.record("comment", made)
    assert (shown["author__context"], shown["_label"]) == ("svc.contexts.app", "Helpdesk: Error")


@pytest.mark.parametrize(
    ("fields", "error"),
    [({"comment": ""}, Required), ({"target_id": 99}, Invalid), ({"target__context": "nothing"}, Invalid)],
)
def test_invalid_comments_are_refused(ids, comment, fields, error):
    with pytest.raises(error):
        comment(ids["milo"], **fields)


def test_a_comment_is_an_entry_on_its_record_and_notifies_its_owner(desk, ids, ticket, comment):
    desk.update("ticket", ticket, owner_id=ids["olga"])
    comment(ids["milo"])
    entry = desk.log("comment.create")[-1]
    assert (entry["target__context"], entry["target_id"]) == ("svc.contexts.ticket", ticket)
    assert entry["params"]["variables"]["object"] == "ticket"
    assert entry["params"]["variables"]["target"].endswith("] Pump")
    assert notified_points(desk, ids["olga"]) == ["ticket.owner.assigned", "comment.create"]
    assert notified_points(desk, ids["milo"]) == []


@pytest.mark.parametrize(
    ("text", "is_told"),
    [
        ("@milo look", True), ("ask (@Milo).", True), ("milo look", False), ("ana@milo.example", False),
        ("@milos", False),
    ],
)  # fmt: skip
def test_mentioned_workers_are_notified(desk, ids, comment, text, is_told):
    comment(ids["olga"], text)
    assert notified_points(desk, ids["milo"]) == (["comment.create"] if is_told else [])


def test_workers_who_cannot_read_the_ticket_are_not_notified(desk, ids, comment):
    desk.update("worker", ids["olga"], at_mention_name="olga")
    desk.update("group", ids["support"], is_private=1)
    comment(ids["nora"], "@milo @olga @nora look")
    assert notified_points(desk, ids["milo"]) == ["comment.create"]
    assert notified_points(desk, ids["olga"]) == []


def test_a_comment_is_readable_through_its_record(desk, ids, comment):
    made = comment(ids["nora"])["id"]
    assert desk.found("comment", "known", by=ids["olga"]) == [made]
    desk.update("group", ids["support"], is_private=1)
    assert desk.found("comment", "known", by=ids["olga"]) == []
    with pytest.raises(Invalid, match="there is no ticket"):  # the refusal does not reveal it
        comment(ids["olga"])


def test_only_the_author_changes_a_comment(desk, ids, comment):
    made = comment(ids["milo"])["id"]
    assert desk.update("comment", made, by=ids["milo"], comment="New")["comment"] == "New"
    assert desk.found("comment", "known") == [] and desk.found("comment", "new") == [made]
    with pytest.raises(Forbidden):
        desk.update("comment", made, by=ids["olga"], comment="Newer")
    with pytest.raises(Forbidden):
        desk.delete("comment", made, by=ids["olga"])
    desk.delete("comment", made, by=ids["milo"])


def test_a_long_comment_has_a_short_label_and_a_page(desk, ids, ticket, comment):
    shown = comment(ids["milo"], "long\n" * 100)
    assert len(shown["_label"]) <= 131 and shown["_label"].endswith("...")
    mask = desk.row("ticket", ticket)["mask"]
    url = desk.record("comment", shown["id"], expand="record_url")["record_url"]
    assert url == f"https://desk.example/tickets/{mask}?comment={shown['id']}#comment{shown['id']}"
