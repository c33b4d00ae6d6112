"""Metrics: their values, samples in bins, and the counts of the service about itself."""

import json

import pytest

from server.access.service_actor import own_context
from server.errors import AdminOnly, HelpdeskError
from server.record_types.metrics import dimensions
from server.record_types.metrics.metric_samples import DAY, FIVE_MINUTES, HOUR, METRIC_SAMPLE
from server.record_types.shared import usage_buffer as notes
from server.record_types.shared.usage_buffer import usage_buffer
from server.records.metrics import builtin, metric_bins, record
from server.records.usage_flush import write_notes
from server.upkeep import gauges
from tests.records.desk import NOW

BIN = NOW - NOW % 300


def samples(desk, name, seconds=FIVE_MINUTES):
    """Returns [(bin, dimensions, count, sum, min, max)] of a metric."""
    id = desk.found("metric", f'name:"{name}"')[0]
    rows = desk.read(lambda tx: tx.find(METRIC_SAMPLE, metric_id=id, seconds=seconds))
    return [(row[2], json.loads(row[3]), *row[4:]) for row in rows]


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"name": ""}, "name"), ({"name": "a b"}, "name"), ({"name": "x" * 129}, "name"), ({"name": "taken"}, "name"),
        ({"type": "blurb"}, "type"), ({"dimensions_kata": "blurb"}, "dimensions_kata: is not KATA at line 1"),
        ({"dimensions_kata": "text/a:\ntext/a:"}, "dimensions_kata: is not KATA at line 2"),
        ({"dimensions_kata": "text/a:\nnumber/a:"}, "dimensions_kata: 'number/a'"),
        ({"dimensions_kata": "record_type: worker"}, "dimensions_kata: 'record_type'"),
        ({"dimensions_kata": "text/a: b"}, "dimensions_kata: 'text/a'"),
        ({"dimensions_kata": "map/a:"}, "dimensions_kata: 'map/a'"),
        ({"dimensions_kata": "\n".join(f"text/d{place}:" for place in range(9))}, "dimensions_kata: at most 8"),
    ],
)  # fmt: skip
def test_invalid_values_are_refused_by_name(desk, fields, name):
    desk.create("metric", name="taken")
    with pytest.raises(HelpdeskError, match=f"^{name}"):
        desk.create("metric", **{"name": "good.one"} | fields)
    made = desk.create("metric", name="good.one")["id"]
    with pytest.raises(HelpdeskError, match=f"^{name}"):
        desk.update("metric", made, **fields)


def test_dimensions_are_shown_as_a_map(desk):
    text = "# who\nrecord/worker_id:\n  record_type: worker\n\ntext/trigger:\n"
    shown = desk.create("metric", name="m", dimensions_kata=text, expand="dimensions")
    assert shown["dimensions"] == {
        "worker_id": {"type": "record", "record_type": "worker"},
        "trigger": {"type": "text"},
    }
    assert dimensions.parse("") == {}


def test_administrators_create_metrics(desk, ids):
    desk.create("role", name="All", privs_mode="all", member_query_worker="isDisabled:no")
    desk.create("metric", by=ids["nora"], name="m")
    assert len(desk.found("metric", "", by=ids["milo"])) == 1
    with pytest.raises(AdminOnly):
        desk.create("metric", by=ids["milo"], name="n")


def test_the_metrics_of_the_service_are_added_once(desk):
    builtin.prepare(own_context(desk.service))
    first = desk.found("metric", "")
    assert len(first) == len(builtin.BUILTIN) == 12
    desk.update("metric", first[0], description="Ours")
    desk.delete("metric", first[1])
    builtin.prepare(own_context(desk.service))
    assert len(desk.found("metric", "")) == 12
    assert desk.row("metric", first[0])["description"] == "Ours"


def test_samples_are_aggregated_in_bins_of_three_sizes(desk):
    desk.create("metric", name="m")
    for value, at in ((2, BIN), (5, BIN + 299), (1, BIN + 300)):
        record(desk.service, "m", value, {"b": 7, "a": "x"}, at)
    record(desk.service, "m", 3, {}, BIN)
    record(desk.service, "unknown", 3, {}, BIN)
    write_notes(desk.service, NOW)
    record(desk.service, "m", 10, {"a": "x", "b": "7"}, BIN)
    write_notes(desk.service, NOW)
    both = {"a": "x", "b": "7"}
    assert samples(desk, "m") == [
        (BIN, both, 3, 17.0, 2.0, 10.0), (BIN, {}, 1, 3.0, 3.0, 3.0), (BIN + 300, both, 1, 1.0, 1.0, 1.0),
    ]  # fmt: skip
    assert samples(desk, "m", HOUR) == [
        (NOW - NOW % HOUR, both, 4, 18.0, 1.0, 10.0),
        (NOW - NOW % HOUR, {}, 1, 3.0, 3.0, 3.0),
    ]
    assert [each[2] for each in samples(desk, "m", DAY)] == [4, 1]


def test_writing_many_samples_costs_a_few_statements(desk):
    desk.create("metric", name="m")
    for place in range(500):
        record(desk.service, "m", 1, {"place": place}, BIN)
    taken = usage_buffer(desk.store).take()

    def write(tx):
        before = tx.statements
        metric_bins.store(tx, taken.samples)
        return tx.statements - before

    assert desk.store.write(write) <= 4
    assert len(samples(desk, "m")) == 500


def test_fine_bins_are_deleted_and_days_are_retained(desk):
    desk.create("metric", name="m")
    record(desk.service, "m", 1, {}, BIN)
    write_notes(desk.service, NOW)
    for later, left in ((DAY + 600, (0, 1, 1)), (14 * DAY + 2 * HOUR, (0, 0, 1)), (4000 * DAY, (0, 0, 1))):
        record(desk.service, "unknown", 1, {}, NOW)
        write_notes(desk.service, NOW + later)
        assert tuple(len(samples(desk, "m", seconds)) for seconds in (FIVE_MINUTES, HOUR, DAY)) == left


def test_samples_are_deleted_with_their_metric(desk):
    id = desk.create("metric", name="m")["id"]
    record(desk.service, "m", 1, {}, BIN)
    write_notes(desk.service, NOW)
    desk.delete("metric", id)
    assert desk.read(lambda tx: tx.find(METRIC_SAMPLE)) == []


def test_samples_beyond_the_limit_are_dropped(desk, monkeypatch):
    monkeypatch.setattr(notes, "MAX_SAMPLES", 2)
    kept = usage_buffer(desk.store)
    for place in range(4):
        kept.sample("m", 1, {"place": place, "long": "x" * 500}, BIN)
    kept.sample("m", 1, {"place": 0, "long": "x" * 500}, BIN)
    taken = kept.take()
    assert (len(taken.samples), taken.dropped, kept.samples) == (2, 2, {})
    assert {len(dict(key[2])["long"]) for key in taken.samples} == {128}
    assert max(each.count for each in taken.samples.values()) == 2


def test_searches_are_counted_by_type_and_worker(desk, ids):
    builtin.prepare(own_context(desk.service))
    usage_buffer(desk.store).take()
    desk.found("task", "", by=ids["milo"])
    desk.found("tasks", "", by=ids["milo"])
    write_notes(desk.service, NOW)
    assert samples(desk, "svc.record.search") == [
        (BIN, {"record_type": "task", "worker_id": str(ids["milo"])}, 2, 2.0, 1.0, 1.0)
    ]


def test_open_tickets_and_active_workers_are_measured_every_five_minutes(desk, ids):
    builtin.prepare(own_context(desk.service))
    inbox = desk.found("bucket", f"group.id:{ids['support']}")[0]
    place = {"group_id": ids["support"], "bucket_id": inbox}
    for status in (0, 0, 2):
        desk.create("ticket", subject="Pump", status_id=status, **place)
    usage_buffer(desk.store).saw(ids["milo"], NOW)
    write_notes(desk.service, NOW)
    assert gauges.measure(desk.service, NOW) == BIN + 300
    gauges.measure(desk.service, NOW + 1)
    write_notes(desk.service, NOW)
    assert samples(desk, "svc.tickets.open") == [
        (BIN, {name: str(id) for name, id in sorted(place.items())}, 1, 2.0, 2.0, 2.0)
    ]
    assert samples(desk, "svc.workers.active") == [(BIN, {"worker_id": str(ids["milo"])}, 1, 1.0, 1.0, 1.0)]
    assert desk.found("worker", "lastActivity:today") == [ids["milo"]]
    gauges.measure(desk.service, BIN + 600)
    write_notes(desk.service, NOW)
    assert len(samples(desk, "svc.workers.active")) == 1 and len(samples(desk, "svc.tickets.open")) == 2
