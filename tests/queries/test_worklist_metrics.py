"""`worklist.metrics`: single numbers, each from a separate search."""

from typing import Any

import pytest

from tests.queries.depot import Depot

ONE = "type:worklist.metrics values.n:({})"


def value(depot: Depot, inside: str, by: str = "nora") -> Any:
    rows = depot.data(ONE.format(inside), by)["rows"]
    assert len(rows) == 1
    return rows[0]["value"]


@pytest.mark.parametrize(
    ("inside", "expected"),
    [
        ("of:ticket", 5),
        ("of:tickets function:count", 5),
        ("of:ticket query:(status:open)", 3),
        ("of:ticket query:(status:open) query.required:(importance:>20)", 2),
        ("of:ticket function:avg field:importance", 33),
        ("of:ticket function:average field:importance query:(group:(name:Sales))", 45),
        ("of:ticket function:min field:importance", 10),
        ("of:ticket function:max field:importance", 60),
        ("of:ticket function:sum field:importance", 165),
        ("of:ticket function:distinct field:org", 1),
        ("of:ticket function:count field:org", 5),
        ("of:ticket function:distinct field:org query:(importance:99)", 0),
        ("of:ticket function:sum field:price", 3.75),
        ("of:ticket function:avg field:price_paid", 1.875),
        ("of:ticket function:avg field:importance query:(importance:<30)", 15),
        ("of:ticket function:avg field:importance query:(status:open)", 28.3333),
        ('of:ticket function:sum field:importance metric:"(x/60)|round"', 3),
        ('of:ticket metric:"x*100"', 500),
        ("of:ticket query:(importance:99)", 0),
        ("of:ticket function:sum field:importance query:(importance:99)", 0),
        ("of:ticket function:avg field:importance query:(importance:99)", None),
        ("of:ticket function:min field:importance query:(importance:99)", None),
        ('of:ticket function:max field:importance metric:"x+1" query:(importance:99)', None),
        ("of:ticket function:max field:created", 1_794_996_000),
    ],
)
def test_a_number_of_a_search(depot: Depot, inside: str, expected: Any) -> None:
    assert value(depot, inside) == expected


@pytest.mark.parametrize(
    ("inside", "nora", "milo"),
    [("of:ticket", 5, 3), ("of:ticket function:max field:importance", 60, 45),
     ("of:ticket query:(org:(name:Acme))", 2, 1)],
)  # fmt: skip
def test_only_readable_records_count(depot: Depot, inside: str, nora: int, milo: int) -> None:
    assert value(depot, inside, "nora") == nora
    assert value(depot, inside, "milo") == milo


def test_the_table_labels_each_value(depot: Depot) -> None:
    q = """type:worklist.metrics
        values.open:(of:ticket label:Open query:(status:open))
        values.all:(of:org)
        values.wait:(of:ticket function:avg field:response.first label:Wait)
        values.hours:(of:ticket function:avg field:response.first metric:"x/3600")"""
    result = depot.ask(q)
    ticket, org = "svc.contexts.ticket", "svc.contexts.org"
    search = "(status:open) set.timezone:UTC"
    assert result["data"] == {
        "columns": {"name": {"label": "Metric"}, "value": {"label": "Value"}},
        "rows": [
            {"_types": {"value": {"type": "search", "options": {"context": ticket, "query": search}}},
             "id": "open", "name": "Open", "value": 3},
            {"_types": {"value": {"type": "search", "options": {"context": org, "query": None}}},
             "id": "all", "name": "all", "value": 3},
            {"_types": {"value": {"type": "number_seconds", "options": []}}, "id": "wait", "name": "Wait", "value": 0},
            {"_types": {"value": {"type": "number", "options": []}}, "id": "hours", "name": "hours", "value": 0},
        ],
    }  # fmt: skip
    assert result["_"] == {"type": "worklist.metrics", "format": "table"}


def test_the_pie_labels_each_slice(depot: Depot) -> None:
    result = depot.ask(
        "type:worklist.metrics format:pie values.a:(of:ticket label:All) "
        "values.b:(of:ticket label:Sum function:sum field:importance query:(status:open))"
    )
    assert result["data"] == [["All", 5], ["Sum", 85]]
    assert result["_"]["series"] == {
        "All": {"key": 5, "context": "svc.contexts.ticket", "query": ""},
        "Sum": {"key": 85, "context": "svc.contexts.ticket", "query": "(status:open) set.timezone:UTC"},
    }


def test_several_functions_make_a_value_each_in_one_statement(depot: Depot) -> None:
    q = "type:worklist.metrics values.i:(of:ticket field:importance label:Importance functions:[{}])"
    rows = depot.data(q.format("avg,min,max,sum,count,distinct"))["rows"]
    assert [(each["id"], each["name"], each["value"]) for each in rows] == [
        ("i_avg", "Average Importance", 33), ("i_min", "Minimum Importance", 10), ("i_max", "Maximum Importance", 60),
        ("i_sum", "Total Importance", 165), ("i_count", "Number of Importance", 5),
        ("i_distinct", "Distinct Importance", 5),
    ]  # fmt: skip
    assert depot.statements(q.format("avg,min,max,sum")) == depot.statements(q.format("avg"))


ERRORS = [
    ("of:tickt", "tickt", "did you mean 'ticket'"),
    ("of:ticket functon:avg", "functon", "did you mean 'function'"),
    ("of:ticket function:median field:importance", "median", "is not a function"),
    ("of:ticket functions:[avg,summ] field:importance", "summ", "did you mean 'sum'"),
    ("of:ticket functions:[avg,average] field:importance", "average", "appears twice"),
    ("of:ticket functions:[]", "[]", "at least one function"),
    ("of:ticket function:avg", "avg", "needs 'field:'"),
    ("of:ticket function:avg functions:[avg] field:importance", "[avg]", "write one of"),
    ("of:ticket function:avg field:importanse", "importanse", "did you mean 'importance'"),
    ("of:ticket field:nope", "nope", "cannot be counted by"),
    ("of:ticket function:sum field:subject", "subject", "holds no numbers"),
    ("of:ticket query:(statsu:open)", "statsu", "did you mean 'status'"),
    ('of:ticket metric:"x+"', '"', "ends too early"),
    ("query:(status:open)", "(query", "needs 'of:'"),
]


@pytest.mark.parametrize(("inside", "at", "part"), ERRORS)
def test_errors_name_their_place(depot: Depot, inside: str, at: str, part: str) -> None:
    q = ONE.format(inside)
    error = depot.refused(q)
    assert part in error.message
    place = error.details["position"]
    assert isinstance(place, int) and q.index(at) <= place <= q.index(at) + len(at) + 3


@pytest.mark.parametrize("q", ["type:worklist.metrics", "type:worklist.metrics format:tree values.a:(of:ticket)",
                               "type:worklist.metrics values.a:(of:ticket label:B) values.B:(of:ticket)",
                               "type:worklist.metrics value.a:(of:ticket)"])  # fmt: skip
def test_other_mistakes_are_errors(depot: Depot, q: str) -> None:
    assert "position" in depot.refused(q).details
