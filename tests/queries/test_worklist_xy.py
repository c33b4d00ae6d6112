"""`worklist.xy`: two fields of each record as a point."""

from typing import Any

import pytest

from tests.queries.depot import Depot
from tests.records.desk import Desk

PUMP, VALVE, MOTOR, BELT, CHAIN = range(1, 6)


def one(inside: str, format: str = "") -> str:
    return f"type:worklist.xy {f'format:{format} ' if format else ''}series.t:(of:ticket label:T {inside})"


@pytest.mark.parametrize(
    ("inside", "x", "y"),
    [
        ("x:id y:importance", [1, 2, 3, 4, 5], [10, 20, 30, 60, 45]),
        ("x:id y:importance query:(limit:2)", [1, 2], [10, 20]),
        ("x:id y:importance query:(sort:-importance limit:3)", [4, 5, 3], [60, 45, 30]),
        ("x:id y:importance query:(status:open)", [1, 3, 5], [10, 30, 45]),
        ('x:id x.metric:"x*10" y:importance y.metric:"x/10|round"', [10, 20, 30, 40, 50], [1, 2, 3, 6, 5]),
        ("x:importance y:price", [10, 20], [1.5, 2.25]),
        ("x:status y:importance query:(limit:2)", [0, 2], [10, 20]),
        ("x:org y:id", [2, 0, 2, 0, 0], [1, 2, 3, 4, 5]),
        ("x:created y:importance query:(limit:1)", [1_794_816_000], [10]),
        ("x:created@day y:importance", ["2026-11-14", "2026-11-16", "2026-11-18"], [45, 15, 45]),
        ("x:created@day y:importance query:(limit:2)", ["2026-11-14", "2026-11-16"], [45, 15]),
        ("x:created@month y:price", ["2026-11"], [1.875]),
        ("x:id y:importance query:(importance:99)", [], []),
        ("x:closed@day y:id", ["2026-11-18"], [2]),
        ("x:closed y:id", [1_795_000_000], [2]),
    ],
)
def test_each_record_is_a_point(depot: Depot, inside: str, x: list[Any], y: list[Any]) -> None:
    result = depot.ask(one(inside))
    rows = result["data"]
    assert [row[0] for row in rows] == ["T_x", "T"]
    pairs = list(zip(rows[0][1:], rows[1][1:], strict=True))
    expected = list(zip(x, y, strict=True))
    assert pairs == expected
    assert result["_"] == {"type": "worklist.xy", "format": "scatterplot"}


def test_only_readable_records_are_points(depot: Depot) -> None:
    assert depot.data(one("x:id y:importance"), "milo") == [["T_x", 1, 2, 5], ["T", 10, 20, 45]]


def test_ten_are_shown_unless_the_query_says_more(desk: Desk, ask) -> None:
    for number in range(13):
        desk.create("org", name=f"Shop {number}")
    q = "type:worklist.xy series.t:(of:org x:id y:id{})"
    assert ask(q.format(""))["data"][0] == ["t_x", *range(1, 11)]
    assert ask(q.format(" query:(limit:12)"))["data"][0] == ["t_x", *range(1, 13)]


def labels(depot: Depot) -> list[str]:
    return [depot.desk.record("ticket", id)["_label"] for id in (PUMP, VALVE)]


def test_the_other_shapes_have_labels(depot: Depot) -> None:
    pump, valve = labels(depot)
    inside = "x:id y:importance query:(limit:2)"
    assert depot.data(one(inside, "table")) == {
        "columns": {"x_label": {"label": "Id", "type": "text"}, "y_label": {"label": "Importance", "type": "text"}},
        "rows": [
            {"x_label": pump, "x": 1, "y_label": "10", "y": 10},
            {"x_label": valve, "x": 2, "y_label": "20", "y": 20},
        ],
    }
    assert depot.data(one(inside, "pie")) == [[pump, 10], [valve, 20]]
    result = depot.ask(one(inside, "categories"))
    assert result["data"] == [["label", pump, valve], ["hits", 10, 20]]
    assert result["_"]["format_params"] == {"xaxis_key": "label"}
    rows = depot.data(one("x:status y:org query:(limit:2)", "table"))["rows"]
    assert rows == [
        {"x_label": "Open", "x": 0, "y_label": "Acme", "y": 2},
        {"x_label": "Closed", "x": 2, "y_label": "(none)", "y": 0},
    ]


def test_several_series_keep_apart(depot: Depot) -> None:
    q = ("type:worklist.xy {} series.a:(of:ticket x:status y:importance query:(limit:2)) "
         "series.b:(of:org label:Orgs x:name y:floors)")  # fmt: skip
    assert depot.data(q.format("")) == [
        ["a_x", 0, 2],
        ["a", 10, 20],
        ["Orgs_x", "Larch Foods", "Nowhere"],
        ["Orgs", 3, 7],
    ]
    assert depot.data(q.format("format:categories")) == [
        ["label", "Open", "Closed", "Larch Foods", "Nowhere"],
        ["a", 10, 20, 0, 0],
        ["Orgs", 0, 0, 3, 7],
    ]
    rows = depot.data(q.format("format:table"))["rows"]
    assert [row["series"] for row in rows] == ["a", "a", "Orgs", "Orgs"]


def test_the_number_of_statements_does_not_grow_with_the_points(depot: Depot) -> None:
    q = "x:org y:importance query:(limit:{})"
    depot.data(one(q.format(1)))
    assert depot.statements(one(q.format(1))) == depot.statements(one(q.format(5)))


@pytest.mark.parametrize(
    ("inside", "at", "part"),
    [
        ("x:id", "(of", "needs 'y:'"),
        ("x:idd y:importance", "idd", "did you mean 'id'"),
        ("x:id y:importanse", "importanse", "did you mean 'importance'"),
        ('x:subject y:id x.metric:"x*2"', '"x*2', "holds no numbers"),
        ("x:created@dy y:id", "created@dy", "did you mean 'day'"),
        ("x:created@day y:subject", "subject", "holds no numbers"),
        ('x:created@day y:id x.metric:"x*2"', '"x*2', "are no numbers"),
        ("x:id y:id query:(sort:nope)", "nope", "cannot be sorted"),
        ("x:id y:id function:sum", "function", "is not a key"),
    ],
)
def test_errors_name_their_place(depot: Depot, inside: str, at: str, part: str) -> None:
    q = one(inside)
    error = depot.refused(q)
    assert part in error.message and error.details["position"] == q.index(at)
