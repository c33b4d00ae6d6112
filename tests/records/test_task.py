"""Tasks and calls: status, completion, and their activity entries."""

import pytest

from server.errors import Invalid
from server.record_types.shared import entries
from tests.records.desk import NOW


@pytest.mark.parametrize(
    ("word", "number"), [("open", 0), ("o", 0), ("Closed", 1), ("C", 1), ("waiting", 2), ("wait and see", 2)]
)
def test_a_status_is_recognized_by_its_first_letter(desk, word, number):
    shown = desk.create("task", title="Count", status=word)
    assert (shown["status_id"], shown["is_completed"]) == (number, number == 1)
    assert shown["status"] == ("open", "closed", "waiting")[number]


@pytest.mark.parametrize("fields", [{"status": "done"}, {"status_id": 3}, {"status_id": -1}, {"importance": 101}])
def test_invalid_values_are_refused(desk, fields):
    with pytest.raises(Invalid):
        desk.create("task", title="Count", **fields)


def test_completion_is_dated_and_undone(desk):
    task = desk.create("task", title="Count")["id"]
    assert desk.update("task", task, status="c")["completed"] == NOW
    assert desk.update("task", task, title="Count again")["completed"] == NOW
    assert desk.update("task", task, status="o")["completed"] == 0
    assert desk.update("task", task, status="c", completed=5)["completed"] == 5
    assert desk.create("task", title="Done", status_id=1)["completed"] == NOW


def test_creation_and_completion_are_logged(desk, ids):
    task = desk.create("task", by=ids["nora"], title="Count <it>")["id"]
    desk.update("task", task, by=ids["nora"], status="c")
    desk.update("task", task, by=ids["nora"], status="c", title="Counted")
    assert [each["target_id"] for each in desk.log("task.created")] == [task]
    (completed,) = desk.log("task.status.completed")
    assert entries.plain_text(completed["params"]) == "Nora Berg completed task Count <it>"


def test_defaults(desk):
    shown = desk.create("task", title="Count")
    assert (shown["importance"], shown["status"], shown["created"], shown["due"]) == (50, "open", NOW, 0)
    shown = desk.create("call", subject="Delivery")
    assert (shown["created"], shown["updated"], shown["is_closed"]) == (NOW, NOW, 0)
    assert len(desk.log("call_entry.created")) == 1


def test_the_owner_is_notified_except_of_their_own_actions(desk, ids):
    task = desk.create("task", by=ids["nora"], title="Count", owner_id=ids["milo"])["id"]
    (told,) = desk.found("notification", "", by=ids["milo"])
    shown = desk.record("notification", told, by=ids["milo"])
    assert (shown["target_id"], shown["message"]) == (task, "Nora Berg created task Count")
    desk.create("task", by=ids["nora"], title="Own", owner_id=ids["nora"])
    assert desk.found("notification", "", by=ids["nora"]) == [told]
