"""worklist.subtotals on a small desk with known numbers: every shape, functions, groups, formulas, limits."""

from collections.abc import Iterator
from typing import Any

import pytest

from server.errors import BadDataQuery
from server.queries import query_run
from tests.records.desk import Desk

NOVEMBER = 1_794_708_351  # 2026-11-15 02:05:51 UTC, a Sunday
DAY = 86_400
TYPE = "type:worklist.subtotals of:ticket"


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Iterator["Known"]:
    made = Known(Desk(tmp_path_factory.mktemp("known")))
    yield made
    made.desk.close()


class Known:
    """Depot has 9 open and 2 closed tickets, Sales 4 open ones; on three days, from three organizations."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.nora = desk.worker("Nora", is_superuser=1)
        self.depot = int(desk.create("group", name="Depot")["id"])
        self.sales = int(desk.create("group", name="Sales")["id"])
        orgs = [int(desk.create("org", name=name)["id"]) for name in ("Acme", "Larch", "Pine")]
        for number in range(15):
            group = self.depot if number < 11 else self.sales
            made = desk.create(
                "ticket", subject=f"T{number}", group_id=group, status_id=2 if number in (9, 10) else 0,
                created=NOVEMBER + (0, DAY, 3 * DAY)[number % 3], org_id=([*orgs, 0])[number % 4],
            )  # fmt: skip
            desk.store.write(
                lambda tx, id=made["id"], number=number: tx.update(
                    desk.registry.type("ticket").table, id, {"elapsed_response_first": number * 100}
                )
            )

    def ask(self, q: str) -> dict[str, Any]:
        return query_run.evaluate(self.desk.context(self.nora), q)

    def data(self, q: str) -> Any:
        return self.ask(f"{TYPE} {q}")["data"]


def test_a_tree_has_one_branch_for_each_value(known: Known) -> None:
    found = known.ask(f"{TYPE} by:[group,status]")
    assert found["_"] == {"type": "worklist.subtotals", "context": "svc.contexts.ticket", "format": "tree"}
    depot_id, sales_id = known.depot, known.sales
    assert found["data"] == {"children": [
        {"name": "Depot", "value": depot_id, "hits": 11, "query": f"group.id:{depot_id} set.timezone:UTC", "children": [
            {"name": "Open", "value": 0, "hits": 9, "query": f"group.id:{depot_id} status:o set.timezone:UTC"},
            {"name": "Closed", "value": 2, "hits": 2, "query": f"group.id:{depot_id} status:c set.timezone:UTC"},
        ]},
        {"name": "Sales", "value": sales_id, "hits": 4, "query": f"group.id:{sales_id} set.timezone:UTC", "children": [
            {"name": "Open", "value": 0, "hits": 4, "query": f"group.id:{sales_id} status:o set.timezone:UTC"},
        ]},
    ]}  # fmt: skip


def test_one_level_of_a_tree_has_no_children(known: Known) -> None:
    nodes = known.data("by:status")["children"]
    assert [(node["name"], node["hits"], "children" in node) for node in nodes] == [
        ("Open", 13, False),
        ("Closed", 2, False),
    ]


def test_dictionaries(known: Known) -> None:
    assert known.data("by:[group,status] format:dictionaries")[0] == {
        "group_id": known.depot, "group__context": "svc.contexts.group", "group__label": "Depot", "status": 0,
        "status_label": "Open", "count": 9, "count_query_context": "svc.contexts.ticket",
        "count_query": f"group.id:{known.depot} status:o set.timezone:UTC",
    }  # fmt: skip
    assert known.data("by.avg:[group,response.first] format:dictionaries") == [
        {"group_id": known.sales, "group__context": "svc.contexts.group", "group__label": "Sales",
         "response_first": 1250, "response_first_func": "avg"},
        {"group_id": known.depot, "group__context": "svc.contexts.group", "group__label": "Depot",
         "response_first": 500, "response_first_func": "avg"},
    ]  # fmt: skip


def test_a_table_has_columns_and_rows(known: Known) -> None:
    found = known.data("by:[group,status] format:table")
    assert found["columns"] == {
        "group.id_label": {
            "label": "Group",
            "type": "context",
            "type_options": {"context": "svc.contexts.group", "context_id_key": "group.id"},
        },
        "status": {"label": "Status", "type": "text"},
        "count": {"label": "Count", "type": "number"},
    }
    assert found["rows"][0] == {
        "group.id": known.depot, "group.id_label": "Depot", "status": "Open", "count": 9,
        "_types": {"count": {"type": "search", "options": {
            "context": "svc.contexts.ticket", "query": f"group.id:{known.depot} status:o set.timezone:UTC",
        }}},
    }  # fmt: skip
    measured = known.data("by.avg:[group,response.first] format:table")
    assert measured["columns"]["response.first"] == {"label": "Average response first", "type": "number_seconds"}


def test_a_table_of_different_values_keeps_their_number(known: Known) -> None:
    rows = known.data("by.distinct:[group,org] format:table")["rows"]
    assert [(row["group.id_label"], row["org"]) for row in rows] == [("Depot", 3), ("Sales", 3)]


def test_categories_are_crossed(known: Known) -> None:
    found = known.ask(f"{TYPE} by:[group,status] format:categories")
    assert found["data"] == [["label", "Depot", "Sales"], ["Open", 9, 4], ["Closed", 2, 0]]
    assert found["_"]["stacked"] is True and found["_"]["format_params"] == {"xaxis_key": "label"}
    assert found["_"]["series"]["Depot"] == {
        "_key": known.depot,
        "_query": f"group.id:{known.depot} set.timezone:UTC",
        "Open": {"key": 0, "query": f"group.id:{known.depot} status:o set.timezone:UTC"},
        "Closed": {"key": 2, "query": f"group.id:{known.depot} status:c set.timezone:UTC"},
    }
    one = known.ask(f"{TYPE} by:[status] format:categories")
    assert one["data"] == [["label", "Open", "Closed"], ["hits", 13, 2]] and one["_"]["stacked"] is False
    assert list(one["_"]["series"]["hits"]) == ["Open", "Closed"]


def test_a_pie_adds_up_by_the_first_field(known: Known) -> None:
    found = known.ask(f"{TYPE} by:[group,status] format:pie")
    assert found["data"] == [["Depot", 11], ["Sales", 4]]
    assert found["_"]["series"]["Sales"] == {"key": known.sales, "query": f"group.id:{known.sales} set.timezone:UTC"}


def test_a_time_series_has_no_gaps(known: Known) -> None:
    found = known.ask(f"{TYPE} by:[created@day,group] format:timeseries")
    assert found["data"] == {
        "ts": ["2026-11-15", "2026-11-16", "2026-11-17", "2026-11-18"], "Depot": [4, 4, 0, 3], "Sales": [1, 1, 0, 2],
    }  # fmt: skip
    assert found["_"]["format_params"] == {"xaxis_key": "ts", "xaxis_step": "day", "xaxis_format": "%Y-%m-%d"}
    assert found["_"]["series"]["Depot"]["2026-11-15"] == {
        "key": known.depot,
        "query": f'created:"2026-11-15 to 2026-11-15 23:59:59" group.id:{known.depot} set.timezone:UTC',
    }
    assert "2026-11-17" not in found["_"]["series"]["Depot"]
    assert known.data("by:[created@day] format:timeseries")["count"] == [5, 5, 0, 5]


def test_a_time_series_shows_all_bins_unless_limited(known: Known) -> None:
    assert known.data("by:[created@day~2] format:timeseries")["count"] == [5, 5]
    assert sum(known.data("by:[created@minute] format:timeseries")["count"]) == 15


@pytest.mark.parametrize(
    ("unit", "label"),
    [
        ("minute", "2026-11-15 02:05"), ("minute/5", "2026-11-15 02:05"), ("minutes/15", "2026-11-15 02:00"),
        ("minutes/30", "2026-11-15 02:00"), ("hour", "2026-11-15 02:00"), ("hourofday", "02:00"),
        ("hourofdayofweek", "Sunday 02:00"), ("day", "2026-11-15"), ("dayofmonth", "15"), ("dayofweek", "Sunday"),
        ("week", "2026-11-09"), ("week-mon", "2026-11-09"), ("week-monday", "2026-11-09"), ("week-sun", "2026-11-15"),
        ("week-sunday", "2026-11-15"), ("weekofyear", "46"), ("month", "2026-11"), ("monthofyear", "November"),
        ("quarter", "2026-Q4"), ("quarterofyear", "Q4"), ("year", "2026"), ("unix", NOVEMBER), ("ts", NOVEMBER),
        ("secs", NOVEMBER), ("", "2026-11"),
    ],
)  # fmt: skip
def test_every_unit_labels_its_bins(known: Known, unit: str, label: Any) -> None:
    at = f"@{unit}" if unit else ""
    rows = known.data(f'by:[created{at}] format:dictionaries query:(created:"{NOVEMBER} to {NOVEMBER}")')
    key = {"": "month", "ts": "seconds", "secs": "seconds", "unix": "seconds"}.get(unit, unit).removesuffix("-sun")
    key = key.removesuffix("-sunday").removesuffix("-mon").removesuffix("-monday").replace("minutes", "minute")
    assert [(row[f"created_{key}"], row["count"]) for row in rows] == [(label, 5)]


@pytest.mark.parametrize(
    ("q", "expected"),
    [
        ("by:[group~1] format:pie", [["Depot", 11]]),
        ("by:[group~-1] format:pie", [["Sales", 4]]),
        ("by:[group] metric:\"x*100\" format:pie", [["Depot", 1100], ["Sales", 400]]),
        ("by:[group] metric:\"(x/60)|round(2)\" format:pie", [["Depot", 0.18], ["Sales", 0.07]]),
        ("by:[group,created@day] group.avg:[group] format:pie", [["Depot", 3.6667], ["Sales", 1.3333]]),
        ("by:[group,created@day] group:[group] format:pie", [["Depot", 11], ["Sales", 4]]),
        ("by:[group,created@day] group.max:[group] format:pie", [["Depot", 4], ["Sales", 2]]),
        ("by:[group,created@day] group.min:group format:pie", [["Depot", 3], ["Sales", 1]]),
        ("by:[group,created@day] group.count:[group] format:pie", [["Depot", 3], ["Sales", 3]]),
        ("by.sum:[group,response.first] format:pie", [["Depot", 5500], ["Sales", 5000]]),
        ("by.min:[group,response.first] format:pie", [["Sales", 1100], ["Depot", 0]]),
        ("by.max:[group,response.first] format:pie", [["Sales", 1400], ["Depot", 1000]]),
        ("by:[group,response.first] function:average format:pie", [["Sales", 1250], ["Depot", 500]]),
        ("by.avg:[response.first] format:pie", [["Average response first", 700]]),
        ("by.avg:[response.first] format:dictionaries", [{"response_first": 700, "response_first_func": "avg"}]),
        ("by.avg:[response.first] query:(id:0) format:dictionaries",
         [{"response_first": None, "response_first_func": "avg"}]),
        ("by.sum:[response.first] query:(id:0) format:pie", [["Total response first", 0]]),
        ("by:[status] query:(id:0) format:pie", []),
        ("by.distinct:[org] format:pie", [["Distinct org", 3]]),
        ("by.distinct:[created@day] format:pie", [["Distinct created", 3]]),
        ("by.max:[created] format:pie", [["Maximum created", NOVEMBER + 3 * DAY]]),
        ("by:[status] query:(sort:-id limit:1) format:pie", [["Open", 13], ["Closed", 2]]),
        ("by:[status] query.require:(group:(name:Sales)) format:pie", [["Open", 4]]),
    ],
)  # fmt: skip
def test_functions_groups_formulas_and_limits(known: Known, q: str, expected: Any) -> None:
    assert known.data(q) == expected


def test_branches_of_averages_are_averages(known: Known) -> None:
    nodes = known.data("by.avg:[group,status,response.first]")["children"]
    assert [(node["name"], node["hits"]) for node in nodes] == [("Sales", 1250), ("Depot", 500)]
    assert [(node["name"], node["hits"]) for node in nodes[1]["children"]] == [("Closed", 950), ("Open", 400)]


def test_expand_opens_the_records_of_dictionaries(known: Known) -> None:
    row = known.data("by:[group] expand:[group_] format:dictionaries")[0]
    assert row["group_name"] == "Depot" and row["group__label"] == "Depot" and row["count"] == 11


def test_the_zone_moves_bins_and_date_filters(known: Known) -> None:
    found = known.data("by:[created@day] timezone:America/Chicago format:dictionaries")
    assert found[0]["created_day"] == "2026-11-14" and found[0]["count_query"].endswith("set.timezone:America/Chicago")
    inside = known.data('by:[status] query:(created:"2026-11-14") timezone:America/Chicago format:pie')
    assert inside == known.data("by:[status] query:(created:2026-11-14 set.timezone:America/Chicago) format:pie")


def test_duplicate_names_are_distinguished(known: Known) -> None:
    made = known.desk.create("group", name="Depot")
    ticket = known.desk.create("ticket", subject="Twin", group_id=made["id"])
    names = [name for name, _ in known.data("by:[group] format:pie")]
    known.desk.store.write(lambda tx: tx.delete(known.desk.registry.type("ticket").table, id=ticket["id"]))
    assert names == [f"Depot ({known.depot})", "Sales", f"Depot ({made['id']})"]


def test_status_and_group_come_from_the_kept_counts(known: Known) -> None:
    summary = known.desk.registry.type("ticket").table.summary_table
    kept = known.desk.read(lambda tx: tx.find(summary, status_id=2))
    row = dict(zip(summary.names, kept[0], strict=True))

    def change(by: int) -> None:
        row["n"] += by
        known.desk.store.write(lambda tx: tx.put(summary, row))

    change(1000)
    found = known.data("by:[group,status] query:(status:c) format:pie"), known.data("by:[status,org] format:pie")
    change(-1000)
    assert found == ([["Depot", 1002]], [["Open", 13], ["Closed", 2]])


@pytest.mark.parametrize(
    ("q", "at", "part"),
    [
        ("by:[nope]", "nope", "cannot be counted by 'nope'"),
        ("by:[stats]", "stats", "did you mean 'status'"),
        ("", None, "needs 'by:'"),
        ("by:[]", "[", "at least one field"),
        ("by:[status,org,group,owner,bucket,id]", "id]", "at most 5 fields"),
        ("by:[status,status]", "status]", "appears twice"),
        ("by:[status~0]", "status", "1 to 2000"),
        ("by:[status~2001]", "status", "1 to 2000"),
        ("by:[status~x]", "status", "1 to 2000"),
        ("by:[created@fortnight]", "created", "'fortnight' is not a unit"),
        ("by:[created@mont]", "created", "did you mean 'month'"),
        ("by:[@day]", "@day", "is not a field"),
        ("by.median:[status]", "by.median", "'median' is not a function"),
        ("by:[status] function:sums", "sums", "did you mean 'sum'"),
        ("by.avg:[status] function:sum", "sum", "stands in the name"),
        ("by:[status] by.avg:[id]", "by.avg", "write one of"),
        ("by.avg:[group,subject]", "subject", "holds no numbers"),
        ("by:[status] group:[org]", "org", "not one of the fields"),
        ("by:[status,org] group.median:[org]", "group.median", "is not a function"),
        ("by:[status] format:timeseries", "status", "needs a date"),
        ("by:[status] format:zzz", "zzz", "not one of tree"),
        ("by:[status] zzz:1", "zzz", "not a key"),
        ("by:[status] timezone:Mars/Olympus", "Mars", "not a time zone"),
        ("by:[status] timeout:60001", "60001", "from 0 to 60000"),
        ("by:[status] timeout:soon", "soon", "from 0 to 60000"),
        ('by:[status] metric:"x*"', '"', "ends too early"),
        ('by:[status] metric:"y"', "y", "not expected"),
        ('by:[status] metric:"x^2"', "^", "not known"),
        ('by:[status] metric:"x|sqrt"', "sqrt", "not a filter"),
        ("by:[status] metric:(x)", "(x", "takes one value"),
    ],
)
def test_errors_name_their_place(known: Known, q: str, at: str | None, part: str) -> None:
    text = f"{TYPE} {q}"
    with pytest.raises(BadDataQuery) as caught:
        known.ask(text)
    assert part in caught.value.message
    position = caught.value.details["position"]
    if at == '"':
        assert position == len(text) - 1
    elif at is not None:
        assert text[position : position + len(at)] == at, (position, text[position:])


def test_an_axis_that_is_too_long_is_refused(known: Known, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("server.counting.bins.MAX_AXIS_BINS", 10)
    with pytest.raises(BadDataQuery, match="larger unit"):
        known.data("by:[created@hour] format:timeseries")


def test_too_many_combinations_are_refused(known: Known, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("server.counting.combinations.MAX_ROWS", 14)
    with pytest.raises(BadDataQuery, match="more than 14 combinations"):
        known.data("by:[subject~100,status] query:(id:>0)")


def test_searches_that_no_cell_could_hold_are_refused(known: Known) -> None:
    with pytest.raises(BadDataQuery, match="6144 are allowed"):
        known.data(f"by:[status] query:(subject:{'x' * 6200})")
