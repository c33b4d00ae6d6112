"""Time entries and the kinds of work: minutes and seconds, labels, the archive."""

import pytest

from server.errors import Forbidden, Invalid, Required
from server.record_types.shared import entries
from tests.records.desk import NOW


def test_minutes_and_seconds_are_equivalent(desk, ids):
    milo = ids["milo"]
    cases = [({"mins": 90}, (90, 5400)), ({"secs": 61}, (2, 61)), ({"secs": 60}, (1, 60)), ({"mins": 0}, (0, 0)),
             ({"mins": 1, "secs": 50}, (1, 50))]  # fmt: skip
    for sent, stored in cases:
        shown = desk.create("time_entry", worker_id=milo, **sent)
        assert (shown["mins"], shown["secs"]) == stored
    shown = desk.update("time_entry", shown["id"], mins=5)
    assert (shown["mins"], shown["secs"]) == (5, 300)
    shown = desk.update("time_entry", shown["id"], secs=301)
    assert (shown["mins"], shown["secs"]) == (6, 301)
    assert desk.update("time_entry", shown["id"], is_closed=1)["secs"] == 301


@pytest.mark.parametrize(
    ("fields", "error", "field"),
    [
        ({}, Required, "mins"),
        ({"mins": ""}, Invalid, "mins"),
        ({"mins": "-1"}, Invalid, "mins"),
        ({"mins": 71_582_789}, Invalid, "mins"),
        ({"secs": "long"}, Invalid, "secs"),
        ({"mins": 1, "activity_id": 99}, Invalid, "activity_id"),
        ({"mins": 1, "worker_id": 99}, Invalid, "worker_id"),
        ({"mins": 1, "log_date": "blurb"}, Invalid, "log_date"),
    ],
)
def test_invalid_values_are_refused_by_name(desk, ids, fields, error, field):
    with pytest.raises(error, match=field):
        desk.create("time_entry", **{"worker_id": ids["milo"]} | fields)


def test_the_summary_names_worker_duration_and_work(desk, ids):
    activity = desk.create("timetracking_activity", name="Repair")["id"]
    entry = desk.create("time_entry", mins=90, worker_id=ids["nora"], activity_id=activity)
    assert entry["summary"] == entry["_label"] == "Nora Berg: 1 hour 30 minutes on Repair"
    assert (entry["log_date"], entry["worker_id"], entry["activity_id"]) == (NOW, ids["nora"], activity)
    assert desk.create("time_entry", secs=45, worker_id=ids["milo"])["summary"] == "Milo: 45 seconds"


def test_archiving_is_logged_and_creating_is_not(desk, ids):
    entry = desk.create("time_entry", mins=60, worker_id=ids["milo"], is_closed=1)["id"]
    assert desk.log("timetracking.status.closed") == []
    desk.update("time_entry", entry, by=ids["nora"], is_closed=0)
    desk.update("time_entry", entry, by=ids["nora"], is_closed=0, mins=61)
    desk.update("time_entry", entry, by=ids["nora"], is_closed=1)
    (opened,), (closed,) = desk.log("timetracking.status.open"), desk.log("timetracking.status.closed")
    assert entries.plain_text(opened["params"]) == "Nora Berg opened time entry 1 hour"
    assert closed["target_id"] == entry


def test_workers_log_their_own_time(desk, ids):
    desk.create("role", name="All", privs_mode="all", member_query_worker="isDisabled:no")
    milo, olga = ids["milo"], ids["olga"]
    own = desk.create("time_entry", by=milo, mins=5, worker_id=milo)["id"]
    with pytest.raises(Forbidden):
        desk.create("time_entry", by=milo, mins=5, worker_id=olga)
    desk.update("time_entry", own, by=olga, mins=6)
    for by, worker in ((olga, olga), (milo, olga)):
        with pytest.raises(Forbidden, match="worker_id"):
            desk.update("time_entry", own, by=by, worker_id=worker)
    desk.update("time_entry", own, by=olga, worker_id=milo)  # unchanged
    assert desk.update("time_entry", own, by=ids["nora"], worker_id=olga)["worker_id"] == olga


def test_time_stays_when_its_worker_or_kind_of_work_is_deleted(desk, ids):
    activity = desk.create("timetracking_activity", name="Repair")["id"]
    entry = desk.create("time_entry", mins=60, worker_id=ids["milo"], activity_id=activity)["id"]
    desk.delete("timetracking_activity", activity)
    desk.delete("worker", ids["milo"])
    shown = desk.record("time_entry", entry)
    assert (shown["worker_id"], shown["activity_id"], shown["summary"]) == (0, 0, "1 hour")


def test_a_kind_of_work_needs_a_name(desk):
    with pytest.raises(Required, match="name"):
        desk.create("timetracking_activity", name="")
