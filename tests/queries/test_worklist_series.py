"""`worklist.series`: numbers over the values of a field, one line per search."""

from typing import Any

import pytest

from tests.queries.depot import Depot
from tests.records.desk import Desk

DAYS = ["2026-11-14", "2026-11-15", "2026-11-16", "2026-11-17", "2026-11-18"]
TWO = ("type:worklist.series series.a:(of:ticket label:Opened x:created@day) "
       "series.b:(of:ticket label:Weight x:created@day y:importance function:sum query:(status:open))")  # fmt: skip


def test_a_time_series_has_no_gaps(depot: Depot) -> None:
    result = depot.ask(TWO)
    assert result["data"] == {"ts": DAYS, "Opened": [1, 0, 2, 0, 2], "Weight": [45, 0, 10, 0, 30]}
    assert result["_"] == {
        "type": "worklist.series",
        "format": "timeseries",
        "format_params": {"xaxis_key": "ts", "xaxis_step": "day", "xaxis_format": "%Y-%m-%d"},
    }


def test_only_readable_records_count(depot: Depot) -> None:
    assert depot.data(TWO, "milo") == {"ts": DAYS[:3], "Opened": [1, 0, 2], "Weight": [45, 0, 10]}
    assert depot.data(TWO, "olga") == {"ts": DAYS[:3], "Opened": [1, 0, 2], "Weight": [45, 0, 10]}


def test_other_shapes_list_only_what_there_is(depot: Depot) -> None:
    rows = [{"x": DAYS[0], "a": 1, "b": 45}, {"x": DAYS[2], "a": 2, "b": 10}, {"x": DAYS[4], "a": 2, "b": 30}]
    assert depot.data(f"{TWO} format:dictionaries") == rows
    assert depot.data(f"{TWO} format:table x.label:Day") == {
        "columns": {
            "x": {"label": "Day", "type": "text"},
            "a": {
                "label": "Opened",
                "type": "context",
                "type_options": {"context": "svc.contexts.ticket", "context_id_key": "id"},
            },
            "b": {"label": "Weight", "type": "number"},
        },
        "rows": rows,
    }
    assert depot.data(f"{TWO} format:table")["columns"]["x"]["label"] == "Created"
    assert depot.data(f"{TWO} format:pie") == [["a", 5], ["b", 85]]


@pytest.mark.parametrize(
    ("y", "kind", "options"),
    [
        ("", "context", ("svc.contexts.ticket", "id")),
        ("y:id function:distinct", "context", ("svc.contexts.ticket", "id")),
        ("y:org function:distinct", "context", ("svc.contexts.org", "org.id")),
        ("y:response.first function:avg", "number_seconds", None),
        ("y:response.first", "number", None),
        ('y:response.first function:avg y.metric:"x/60"', "number", None),
        ("y:importance function:sum", "number", None),
    ],
)
def test_table_columns_are_labelled_with_their_metric(
    depot: Depot, y: str, kind: str, options: tuple[str, str] | None
) -> None:
    q = f"type:worklist.series format:table series.n:(of:ticket x:created@day {y})"
    found = {"label": "n", "type": kind}
    if options:
        found |= {"type_options": {"context": options[0], "context_id_key": options[1]}}
    assert depot.data(q)["columns"]["n"] == found


def line(inside: str) -> str:
    return f"type:worklist.series format:dictionaries series.n:(of:ticket {inside})"


@pytest.mark.parametrize(
    ("inside", "expected"),
    [
        ("x:status", {"Open": 3, "Closed": 1, "Waiting": 1}),
        ("x:group", {"Support": 3, "Sales": 2}),
        ("x:status y:id", {"Open": 3, "Closed": 1, "Waiting": 1}),
        ("x:status y:importance function:avg", {"Open": 28.3333, "Closed": 20, "Waiting": 60}),
        ('x:status y:importance function:average y.metric:"x*2"', {"Open": 56.6667, "Closed": 40, "Waiting": 120}),
        ("x:status y:importance function:min", {"Open": 10, "Closed": 20, "Waiting": 60}),
        ("x:group y:price function:sum", {"Support": 3.75, "Sales": 0}),
        ("x:group y:price function:max", {"Support": 2.25}),
        ("x:group y:org function:distinct", {"Support": 1, "Sales": 1}),
        ("x:importance query:(limit:2)", {"10": 1, "20": 1}),
        ("x:status~1", {"Open": 3}),
        ("x:created@month", {"2026-11": 5}),
        ("x:created", {"2026-11": 5}),
        ("x:created@dayofweek", {"Monday": 2, "Wednesday": 2, "Saturday": 1}),
        ("x:created@hour query:(importance:<=20)", {"2026-11-16 08:00": 1, "2026-11-16 20:00": 1}),
        ("x:closed@day", {"2026-11-18": 1}),
        ("x:status query:(importance:99)", {}),
    ],
)
def test_one_line(depot: Depot, inside: str, expected: dict[str, Any]) -> None:
    assert {row["x"]: row["n"] for row in depot.data(line(inside)) if "n" in row} == expected


def test_the_zone_says_which_day_it_is(depot: Depot) -> None:
    q = "type:worklist.series series.n:(of:ticket x:created@day query:(importance:20))"
    assert depot.data(q)["ts"] == ["2026-11-16"]
    assert depot.data(f"{q} timezone:Asia/Tokyo")["ts"] == ["2026-11-17"]


@pytest.mark.parametrize("field", ["created@day", "created@hour"])
def test_bins_of_dates_are_never_cut(depot: Depot, field: str) -> None:
    q = f"type:worklist.series series.n:(of:ticket x:{field} query:(limit:1))"
    assert sum(depot.data(q)["n"]) == 5


def test_what_is_no_date_can_stand_on_the_axis_too(depot: Depot) -> None:
    result = depot.ask(
        "type:worklist.series series.n:(of:ticket x:group) series.m:(of:ticket x:group y:importance "
        "function:max query:(status:closed))"
    )
    assert result["data"] == {"ts": ["Support", "Sales"], "n": [3, 2], "m": [20, 0]}
    assert result["_"]["format_params"] == {"xaxis_key": "ts", "xaxis_step": "", "xaxis_format": ""}


def test_nothing_makes_an_empty_axis(depot: Depot) -> None:
    q = "type:worklist.series series.n:(of:ticket x:created@day query:(importance:99))"
    assert depot.data(q) == {"ts": [], "n": []}
    assert depot.data(f"{q} format:pie") == [["n", 0]]


@pytest.mark.parametrize(
    ("inside", "at", "part"),
    [
        ("y:importance", "(of", "needs 'x:'"),
        ("x:creatd@day", "creatd", "did you mean 'created'"),
        ("x:created@dya", "created@dya", "did you mean 'day'"),
        ("x:status function:avg", "avg", "needs 'y:'"),
        ("x:status function:avg y:subject", "subject", "holds no numbers"),
        ("x:status function:agv y:importance", "agv", "did you mean 'avg'"),
        ("x:status z:1", "z:1", "is not a key"),
        ("x:status query:(nope:1)", "nope", "is not a filter"),
        ('x:status y:importance function:avg y.metric:"x/y"', 'y"', "is not"),
        ("x:created~0", "created~0", "1 to 2000"),
    ],
)
def test_errors_name_their_place(depot: Depot, inside: str, at: str, part: str) -> None:
    q = line(inside)
    error = depot.refused(q)
    assert part in error.message and error.details["position"] == q.index(at)


@pytest.mark.parametrize(
    ("q", "part"),
    [
        ("series.a:(of:ticket x:created@day) series.b:(of:ticket x:created@month)", "do not share an axis"),
        ("series.a:(of:ticket x:created@day) series.b:(of:ticket x:status)", "do not share an axis"),
        ("series.ts:(of:ticket x:created@day)", "name of another series"),
        ("series.x:(of:ticket x:created@day)", "another id"),
        ("series.a:(of:tickt x:created@day)", "did you mean 'ticket'"),
        ("series.a:(of:ticket x:status) format:tree", "not one of timeseries"),
        ("series.a:(of:ticket x:status) timezone:Mars", "Mars"),
        ("", "needs 'series.<id>:'"),
    ],
)
def test_what_makes_no_chart_is_an_error(depot: Depot, q: str, part: str) -> None:
    error = depot.refused(f"type:worklist.series {q}")
    assert part in error.message and "position" in error.details


def test_too_many_steps_are_an_error(desk: Desk, ask, refuse) -> None:
    for due in ("2026-10-01", "2026-11-18"):
        desk.create("task", title="Count", due=due)
    q = "type:worklist.series series.a:(of:task x:due@{})"
    assert len(ask(q.format("hour"))["data"]["ts"]) == 48 * 24 + 1
    error = refuse(q.format("minute"))
    assert "use a larger unit" in error.message and error.details["position"] == q.index("due@")
    assert len(ask(f"{q.format('minute')} format:dictionaries")["data"]) == 2
