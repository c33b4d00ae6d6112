"""`metrics.timeseries`."""

import pytest

from server.errors import BadDataQuery
from server.queries.metrics import splitting
from server.record_types.shared.usage_buffer import usage_buffer
from server.records.metrics import record
from server.records.usage_flush import write_notes
from tests.records.desk import NOW

DAY, HOUR = 86400, 3600
TODAY = NOW // DAY * DAY  # 2026-11-18
SENT = "record/worker_id:\n  record_type: worker\nrecord/group_id:\n  record_type: group\ntext/kind:"


def at(hours: float, days: int = 0) -> int:
    return TODAY + days * DAY + int(hours * HOUR)


@pytest.fixture
def sent(desk, ids):
    """Counts of sent mail: two samples yesterday and three today, by worker, group and kind; and a gauge."""
    usage_buffer(desk.store).take()
    desk.create("metric", name="sent", type="counter", dimensions_kata=SENT)
    desk.create("metric", name="waiting", type="gauge")
    for hours, days, value, worker, kind in (
        (9, -1, 2, "milo", "reply"),
        (10, -1, 4, "olga", "reply"),
        (1, 0, 1, "milo", "new"),
        (2, 0, 5, "milo", "reply"),
        (2.1, 0, 3, "nora", "reply"),
    ):
        dimensions = {"worker_id": ids[worker], "group_id": ids["support"], "kind": kind}
        record(desk.service, "sent", value, dimensions, at(hours, days))
    record(desk.service, "waiting", 7, {}, at(9, -2))
    write_notes(desk.service, at(3))
    return ids


def lines(ask, more="", series="", by=0):
    result = ask(f"type:metrics.timeseries {more} series.a:(metric:sent {series})", by)
    return {name: values for name, values in result["data"].items() if name != "ts"}


def test_a_series_has_a_number_for_each_tick(ask, sent):
    result = ask('type:metrics.timeseries range:"-1 day" series.a:(metric:sent label:Sent function:sum)')
    assert result["data"] == {"ts": ["2026-11-17", "2026-11-18"], "Sent": [6, 9]}
    assert result["_"] == {
        "type": "metrics.timeseries", "format": "timeseries", "groups": [["Sent"]],
        "format_params": {"xaxis_key": "ts", "xaxis_step": "day", "xaxis_format": "%Y-%m-%d"},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("function", "numbers"),
    [
        ("count", [2, 3]), ("samples", [2, 3]), ("sum", [6, 9]), ("avg", [3, 3]), ("average", [3, 3]), ("min", [2, 1]),
        ("max", [4, 5]), ("distinct", [2, 3]),
    ],
)  # fmt: skip
def test_functions(ask, sent, function, numbers):
    assert lines(ask, 'range:"-1 day"', f"function:{function}") == {"a": numbers}


@pytest.mark.parametrize(
    ("period", "within", "ts", "numbers"),
    [
        ("hour", "today 00:00 to today 02:30", ["2026-11-18 00:00", "2026-11-18 01:00", "2026-11-18 02:00"],
         [None, 1, 8]),
        ("minute", "today 02:00 to today 02:09", ["2026-11-18 02:00", "2026-11-18 02:05"], [5, 3]),
        ("week", "today", ["2026-11-16"], [15]),
        ("week-sun", "today", ["2026-11-15"], [15]),
        ("month", "-1 month", ["2026-10", "2026-11"], [None, 15]),
        ("year", "today", ["2026"], [15]),
    ],
)  # fmt: skip
def test_periods(ask, sent, period, within, ts, numbers):
    result = ask(f'type:metrics.timeseries period:{period} range:"{within}" series.a:(metric:sent function:sum)')
    assert result["data"] == {"ts": ts, "a": numbers}


@pytest.mark.parametrize(
    ("missing", "numbers"),
    [("", [None, 7, 7, 7]), ("missing:null", [None, 7, None, None]), ("missing:zero", [0, 7, 0, 0]),
     ("missing:carry", [None, 7, 7, 7])],
)  # fmt: skip
def test_what_is_missing_is_filled_as_asked_and_carried_on_for_gauges(ask, sent, missing, numbers):
    q = f'type:metrics.timeseries range:"-3 days" series.a:(metric:waiting function:max {missing})'
    assert ask(q)["data"]["a"] == numbers


def test_a_series_is_split_by_values(ask, sent):
    split = lines(ask, 'range:"-1 day"', "label:Sent function:sum by:[worker_id]")
    assert split == {"Sent :: Milo": [2, 6], "Sent :: Nora Berg": [None, 3], "Sent :: Olga": [4, None]}
    both = lines(ask, "range:today", "function:sum by:[worker_id,kind]")
    assert both == {"a :: Milo :: new": [1], "a :: Milo :: reply": [5], "a :: Nora Berg :: reply": [3]}
    result = ask("type:metrics.timeseries range:today series.a:(metric:sent by:kind) series.b:(metric:waiting)")
    assert result["_"]["groups"] == [["a :: new", "a :: reply"], ["b"]]


def test_values_have_the_requested_names(ask, sent):
    by_key = "by:[worker_id] by.worker_id:(as:record record_type:worker record_label:at_mention_name)"
    assert lines(ask, "range:today", by_key).keys() == {"a :: milo", f"a :: {sent['nora']}"}
    assert lines(ask, "range:today", "by:[worker_id] by.worker_id:(as:text)").keys() == {
        f"a :: {sent['milo']}",
        f"a :: {sent['nora']}",
    }


def test_two_that_are_called_alike_get_their_ids(ask, desk, sent):
    desk.update("worker", sent["nora"], first_name="Milo", last_name="")
    assert lines(ask, "range:today", "by:[worker_id]").keys() == {
        f"a :: Milo ({sent['milo']})",
        f"a :: Milo ({sent['nora']})",
    }


def test_of_many_values_the_least_are_put_together(ask, sent, monkeypatch):
    monkeypatch.setattr(splitting, "MAX_SPLIT", 2)
    split = lines(ask, 'range:"-1 day"', "function:sum by:[worker_id]")
    assert split == {"a :: Milo": [2, 6], "a :: (other)": [4, 3]}


@pytest.mark.parametrize(
    ("query", "numbers"),
    [
        ("kind:reply", [6, 8]),
        ("kind:!reply", [None, 1]),
        ("kind:[new,other]", [None, 1]),
        ("worker_id:!{milo}", [4, 3]),
        ("worker_id:![{milo},{olga}]", [None, 3]),
        ("worker_id:(firstName:milo)", [2, 6]),
        ("worker_id:!(firstName:milo)", [4, 3]),
        ("kind:new OR worker_id:{olga}", [4, 1]),
        ("(kind:reply worker_id:{milo})", [2, 5]),
        ("kind:null", [None, None]),
    ],
)
def test_only_samples_with_these_values_count(ask, sent, query, numbers):
    chosen = query.format(**{name: sent[name] for name in ("milo", "olga")})
    assert lines(ask, 'range:"-1 day"', f"function:sum query:({chosen})") == {"a": numbers}


def test_samples_of_what_the_caller_may_not_read_do_not_count(ask, desk, sent):
    private = desk.create("group", name="Management", is_private=1, members={"manager": str(sent["nora"])})["id"]
    record(desk.service, "sent", 100, {"worker_id": sent["nora"], "group_id": private, "kind": "reply"}, at(1))
    write_notes(desk.service, at(3))
    assert lines(ask, "range:today", "function:sum", by=sent["nora"]) == {"a": [109]}
    assert lines(ask, "range:today", "function:sum", by=sent["milo"]) == {"a": [9]}
    assert list(lines(ask, "range:today", "by:[group_id]", by=sent["milo"])) == ["a :: Support"]


def test_days_are_those_of_the_zone(ask, sent):
    result = ask("type:metrics.timeseries range:today timezone:America/New_York series.a:(metric:sent function:sum)")
    assert result["data"] == {"ts": ["2026-11-18"], "a": [None]}
    result = ask('type:metrics.timeseries range:"-1 day" timezone:America/New_York series.a:(metric:sent function:sum)')
    assert result["data"]["a"] == [15, None]


def test_a_metric_that_there_is_not_has_no_series(ask, sent):
    result = ask("type:metrics.timeseries range:today series.a:(metric:blurb) series.b:(metric:sent)")
    assert result["data"].keys() == {"ts", "b"} and result["_"]["groups"] == [["b"]]


@pytest.mark.parametrize(
    ("q", "field"),
    [
        ("period:blurb series.a:(metric:sent)", "period"),
        ("series.a:(metric:sent function:blurb)", "function"),
        ("series.a:(metric:sent missing:blurb)", "missing"),
        ("format:table series.a:(metric:sent)", "format"),
        ("range:blurb series.a:(metric:sent)", "range"),
        ("period:minute range:2026-11 series.a:(metric:sent)", "range"),
        ("series.a:(label:x)", "metric"),
        ("", "series.<id>"),
        ("series.a:(metric:sent by:[blurb])", "by"),
        ("series.a:(metric:sent by:[kind] by.blurb:(as:text))", "by"),
        ("series.a:(metric:sent by:[kind] by.kind:(as:record record_type:blurb))", "record_type"),
        ("series.a:(metric:sent query:(blurb:1))", "query"),
        ("series.a:(metric:sent query:(word))", "query"),
        ("series.a:(metric:sent query:(kind:(id:1)))", "query"),
        ("series.a:(metric:sent label:x) series.b:(metric:sent label:x)", "label"),
    ],
)
def test_errors_are_reported(refuse, sent, q, field):
    error = refuse(f"type:metrics.timeseries {q}")
    assert isinstance(error, BadDataQuery) and error.details["field"] == field
