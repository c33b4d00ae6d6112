"""Reports: each figure names the search that finds exactly its records, and managers see their groups only."""

from collections import Counter
from dataclasses import replace
from datetime import date, datetime
from functools import partial
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from server.context import Context
from server.errors import BadQuery, Forbidden, Invalid, NotFound
from server.queries.reports import field_values, report
from server.queries.reports.range_count import STEPS, RangeCount
from server.queries.reports.ranges import PRESETS, DayRange, find_range
from server.queries.reports.report import Report, ReportRequest
from server.queries.reports.tables import MEDIAN, REPORTS, ReportCell, ReportColumn, ReportTable
from server.records import records
from server.store.transaction import Transaction
from tests.records.desk import NOW, Desk
from tests.telling import telling

DAY, HOUR = 86_400, 3_600
TODAY = date(2026, 11, 18)  # of NOW in UTC


def figures(table: ReportTable, label: str = "") -> dict[str, int | None]:
    """Returns the figures of the row with this label, of the only row without one."""
    row = next(each for each in table.rows if not label or each.label == label)
    return {column.key: cell.value for column, cell in zip(table.columns, row.cells, strict=True)}


def run(ctx: Context, name: str, **more: Any) -> dict[str, ReportTable]:
    return {each.name: each for each in report.run(ctx, ReportRequest(name, **more)).tables}


@pytest.fixture
def people(desk: Desk) -> dict[str, int]:
    """Two groups with tickets, replies and closed tickets of several days, one of them in the range before."""
    people = desk.people()
    people["sales"] = desk.create("group", name="Sales")["id"]
    for group in ("support", "sales"):
        desk.update("group", people[group], members={"member": f"{people['nora']},{people['olga']}"})
    customer = desk.create("address", email="ines@quill.example")["id"]
    own = desk.create("address", email="support@desk.example")["id"]
    for number, (days, hour, group, owner) in enumerate(
        ((0, 1, "support", "nora"), (1, 9, "support", "olga"), (3, 9, "sales", "olga"), (40, 9, "support", "nora"))
    ):
        at = NOW - days * DAY - hour * HOUR
        ticket = desk.create(
            "ticket", subject=f"Pallet {number}", group_id=people[group], owner_id=0, created=at, tags=f"t{number % 2}"
        )
        desk.create(
            "message", ticket_id=ticket["id"], sender_id=customer, content="?", headers="Subject: ?", created=at
        )
        reply = {
            "is_outgoing": 1,
            "worker_id": people[owner],
            "sender_id": own,
            "headers": "Subject: !",
            "content": "!",
        }
        for minutes in (number + 1, number + 50):
            desk.create("message", ticket_id=ticket["id"], created=at + 60 * minutes, **reply)
        desk.update("ticket", ticket["id"], owner_id=people[owner], closed=at + 2 * HOUR)
        scored = {"score": "bad" if number == 1 else "good", "rated_at": at + 4 * HOUR} if number else {}
        places = {"worker_id": people[owner], "group_id": people[group], "asked_at": at + 3 * HOUR}
        desk.own("rating", ticket_id=ticket["id"], nonce=str(number), **places, **scored)
    return people


@pytest.mark.parametrize("name", REPORTS)
@pytest.mark.parametrize("q", telling(["", "tag:t1 OR tag:t0"], ["tag:t1 OR tag:t0"], "without a search as well"))
def test_each_count_is_that_of_its_search(desk: Desk, people: dict[str, int], name: str, q: str) -> None:
    nora, olga = desk.context(people["nora"]), desk.context(people["olga"])
    manager = replace(olga, actor=replace(olga.actor, manages=frozenset((people["support"],))))
    for ctx, zone in ((desk.context(), "UTC"), (nora, "Asia/Kolkata"), (manager, "America/New_York")):
        kinds = compared(desk, ctx, ReportRequest(name, "90-days", timezone=zone, q=q))
        assert kinds["count"] or name == "targets"  # nobody has a service target
        assert kinds["seconds"] or name in ("targets", "hours", "ratings")


GOOD = {
    "responses_within": "missed.response:no",
    "next_responses_within": "target:met",
    "resolutions_within": "missed.resolution:no",
    "good_share": "score:good",
}
COLUMNS = {"response.first": "elapsed_response_first", "resolution.first": "elapsed_resolution_first"}


def compared(desk: Desk, ctx: Context, request: ReportRequest) -> Counter[str]:
    """Compares each figure of a report with the records of its search; returns the number of each kind."""
    kinds: Counter[str] = Counter()
    for table in report.run(ctx, request).tables:
        for row in table.rows:
            for column, cell in zip(table.columns, row.cells, strict=True):
                if cell.query and cell.value is not None:
                    kinds[column.kind] += 1
                    expected = expected_value(desk, ctx, column, cell)
                    assert cell.value == expected, (table.name, row.label, column, cell)
    return kinds


def expected_value(desk: Desk, ctx: Context, column: ReportColumn, cell: ReportCell) -> int:
    """Returns a figure as it follows from the records that its search finds."""
    count = records.count(ctx, cell.uri, cell.query)
    if column.kind == "count":
        return count
    if column.kind == "percent":
        return round(100 * records.count(ctx, cell.uri, f"{cell.query} {GOOD[column.key]}") / count)
    name = cell.query.partition("sort:")[2].partition(" ")[0]
    found = records.search(ctx, cell.uri, records.SearchRequest(cell.query, limit=500))["results"]
    rank = max(1, round((0.5 if column.share == MEDIAN else 0.9) * count))
    seconds = int(desk.row(cell.uri, found[rank - 1]["id"])[COLUMNS.get(name, name)])
    size = next(size for end, size in STEPS if end is None or seconds < end)
    return seconds // size * size


@pytest.mark.sqlite("PostgreSQL groups records quickly, so that they are not listed there")
@pytest.mark.parametrize("name", REPORTS)
def test_listed_records_have_the_figures_of_grouped_ones(desk: Desk, people: dict[str, int], name: str) -> None:
    options, table = {"options": ["Oak 1", "2"]}, desk.registry.type("ticket").table
    field = desk.create("custom_field", context="ticket", name="Crate", uri="crate", type="D", params=options)["id"]
    for id, crate, seconds in ((1, "Oak 1", 7), (2, "2", 90_000), (3, "Oak 1", 4_000)):
        records.update(desk.context(), "ticket", id, {f"custom_{field}": crate})
        times = {"elapsed_response_first": seconds, "elapsed_resolution_first": seconds * 9}
        desk.store.write(partial(Transaction.update, table=table, id=id, values=times))
    request = ReportRequest(name, "90-days")
    listed = report.as_dictionary(report.run(desk.context(), request))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RangeCount, "_is_listable", lambda self, tx: False)
        assert report.as_dictionary(report.run(desk.context(), request)) == listed


@pytest.mark.parametrize("sparse", [4, -1])
def test_fields_of_every_kind_count_what_their_searches_find(
    desk: Desk, people: dict[str, int], monkeypatch: pytest.MonkeyPatch, sparse: int
) -> None:
    """sparse: -1 for the join that ids far from each other need."""
    monkeypatch.setattr(field_values, "SPARSE", sparse)
    monkeypatch.setattr(field_values, "CHUNK_BITS", 1)  # so that a few tickets have several chunks
    fields = {}
    for kind, options in (("D", ["Oak", "Elm"]), ("X", ["Ash", "Fir", "ash"]), ("C", []), ("W", [])):
        own = {"name": f"F{kind}", "uri": f"f{kind}", "type": kind, "params": {"options": options} if options else {}}
        fields[kind] = desk.create("custom_field", context="ticket", **own)["id"]
    values: dict[int, dict[str, Any]] = {
        1: {"D": "Oak", "X": ["Ash", "Fir"], "C": "1", "W": people["nora"]},
        2: {"D": "Elm", "X": ["Fir"], "C": "0"},
        3: {"X": ["ash"], "W": people["olga"]},
        4: {"D": "Oak", "C": "1"},
    }
    for id, by_kind in values.items():
        records.update(desk.context(), "ticket", id, {f"custom_{fields[kind]}": each for kind, each in by_kind.items()})
        times = {"elapsed_response_first": id * 70, "elapsed_resolution_first": id * 9_000}
        desk.store.write(partial(Transaction.update, table=desk.registry.type("ticket").table, id=id, values=times))
    for q in ("", "tag:t1 OR tag:t0"):
        assert compared(desk, desk.context(), ReportRequest("tags", "30-days", q=q))["count"] >= 20
    tables = run(desk.context(), "tags", range="30-days")
    created = {
        (kind, row.label): (row.cells[0].value, row.cells[0].before)
        for kind, id in fields.items()
        for row in tables[f"custom_{id}"].rows
    }
    assert created["D", "Oak"] == (1, 1) and created["D", "Elm"] == (1, 0) and created["D", "(no data)"] == (1, 0)
    assert created["X", "Fir"] == (2, 0)
    assert sum(count for (kind, label), (count, _) in created.items() if kind == "X" and label.lower() == "ash") == 2
    assert created["C", "Yes"] == (1, 1) and created["C", "No"] == (1, 0)
    assert created["W", "Olga"] == (1, 0)


def test_the_overview_compares_with_the_range_before(desk: Desk, people: dict[str, int]) -> None:
    tables = run(desk.context(), "overview")
    [row] = tables["all"].rows
    cells = dict(zip((each.key for each in tables["all"].columns), row.cells, strict=True))
    assert (cells["created"].value, cells["created"].before) == (3, 1)
    assert (cells["received"].value, cells["replies"].value) == (3, 6)
    assert (cells["first_response_median"].value, cells["first_response_90"].value) == (120, 180)
    assert cells["next_response_median"].value is None  # nobody wrote again
    assert cells["closed"].value == 3 and cells["resolution_median"].value is None  # no status was changed
    assert sum(row.cells[0].value or 0 for row in tables["tickets"].rows) == 3
    assert len(tables["tickets"].rows) == 30
    alone = run(desk.context(), "overview", is_compared=False)["all"].rows[0].cells
    assert alone[0].before is None and alone[0].value == 3


def test_workers_have_what_they_own_and_what_they_sent(desk: Desk, people: dict[str, int]) -> None:
    table = run(desk.context(), "workers")["workers"]
    olga = next(each.label for each in table.rows if each.key == people["olga"])
    expected = {"assigned": 2, "replied": 2, "closed": 2, "first_response_median": 120, "first_response_90": 180}
    assert figures(table, olga) | expected == figures(table, olga)


def test_next_responses_are_within_their_target_or_late(desk: Desk) -> None:
    people = desk.people()
    target = desk.create("service_target", name="Quick", response_minutes=40, next_response_minutes=20)["id"]
    customer = desk.create("address", email="ines@quill.example")["id"]
    for number, minutes in enumerate((5, 15, 25)):
        at = NOW - 30 * DAY
        ticket = desk.create("ticket", subject=f"Crate {number}", group_id=people["support"], created=at)["id"]
        more = {"ticket_id": ticket, "sender_id": customer, "headers": "Subject: x", "content": "x"}
        reply = {"is_outgoing": 1, "worker_id": people["nora"], **more}
        desk.create("message", created=at, **more)
        desk.create("message", created=at + 60, **reply)
        desk.create("message", created=at + 26 * DAY, **more)
        desk.create("message", created=at + 26 * DAY + 60 * minutes, **reply)
    assert compared(desk, desk.context(), ReportRequest("targets", "90-days"))["percent"] == 6
    expected = {"next_responses_due": 3, "next_responses_missed": 1, "next_responses_within": 67, "responses_due": 0}
    tables = run(desk.context(), "targets", range="7-days")
    assert figures(tables["all"]) | expected == figures(tables["all"])
    for name, key in (("targets", target), ("groups", people["support"])):
        [row] = [each for each in tables[name].rows if each.key == key]
        cells = dict(zip((each.key for each in tables[name].columns), row.cells, strict=True))
        assert {each: cells[each].value for each in expected} == expected


def test_days_and_hours_are_those_of_the_zone(desk: Desk, people: dict[str, int]) -> None:
    at = NOW - HOUR
    for zone in ("UTC", "Asia/Kolkata", "Pacific/Auckland"):
        local = datetime.fromtimestamp(at, ZoneInfo(zone))
        heat = run(desk.context(), "hours", timezone=zone)["created"]
        assert (figures(heat, f"{local:%A}")[f"{local:%H}"] or 0) >= 1


def test_managers_see_their_groups_only_and_others_nothing(desk: Desk, people: dict[str, int]) -> None:
    olga = desk.context(people["olga"])
    manages = replace(olga, actor=replace(olga.actor, is_admin=False, manages=frozenset((people["support"],))))
    assert figures(run(manages, "overview")["all"])["created"] == 2
    assert [each.key for each in run(manages, "groups")["groups"].rows] == [people["support"]]
    assert figures(run(manages, "overview", q="NOT tag:t9 OR tag:t9")["all"])["created"] == 2
    with pytest.raises(Forbidden):
        run(replace(manages, actor=replace(manages.actor, manages=frozenset())), "overview")


def test_ranges_are_compared_with_their_like() -> None:
    def days(name: str) -> list[str]:
        return [f"{each.first} {each.last}" for each in find_range(TODAY, name)]

    assert days("30-days") == ["2026-10-20 2026-11-18", "2026-09-20 2026-10-19"]
    assert days("last-week") == ["2026-11-09 2026-11-15", "2026-11-02 2026-11-08"]
    assert days("this-month") == ["2026-11-01 2026-11-18", "2026-10-01 2026-10-18"]
    assert days("last-quarter") == ["2026-07-01 2026-09-30", "2026-04-01 2026-06-30"]
    assert days("last-year") == ["2025-01-01 2025-12-31", "2024-01-01 2024-12-31"]
    assert all(find_range(TODAY, each)[0].days >= 1 for each in PRESETS)
    custom, before = find_range(TODAY, "custom", "2026-03-01", "2026-03-10")
    assert (custom.days, before) == (10, DayRange(date(2026, 2, 19), date(2026, 2, 28)))


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        (ReportRequest("nothing"), NotFound),
        (ReportRequest("overview", "sometimes"), Invalid),
        (ReportRequest("overview", "custom", "2026-03-02", "2026-03-01"), Invalid),
        (ReportRequest("overview", "custom", "x", "2026-03-01"), Invalid),
        (ReportRequest("overview", "custom", "0001-01-01", "2026-03-01"), Invalid),
        (ReportRequest("overview", timezone="Nowhere/Land"), Invalid),
        (ReportRequest("overview", q="nothing:here"), BadQuery),
        (ReportRequest("overview", q=") OR (status:open"), BadQuery),
    ],
)
def test_a_request_that_is_wrong_is_refused(desk: Desk, request_: ReportRequest, error: type[Exception]) -> None:
    with pytest.raises(error):
        report.run(desk.context(), request_)


def test_a_report_is_empty_without_records(desk: Desk) -> None:
    shown: list[Report] = [report.run(desk.context(), ReportRequest(each)) for each in REPORTS]
    assert all(not table.rows for each in shown for table in each.tables if table.chart in ("rows", "heat"))


def test_ratings_by_worker_group_and_tag(desk: Desk, people: dict[str, int]) -> None:
    tables = run(desk.context(), "ratings", range="custom", first="2026-10-01", last="2026-11-20")
    figures = {
        (name, row.label): tuple(cell.value for cell in row.cells) for name in tables for row in tables[name].rows
    }
    assert figures["all", ""] == (4, 3, 2, 1, 67)
    assert figures["workers", "Olga"] == (2, 1, 1, 50) and figures["workers", "Nora Berg"] == (1, 1, 0, 100)
    assert figures["groups", "Support"] == (2, 1, 1, 50) and figures["groups", "Sales"] == (1, 1, 0, 100)
    assert figures["tags", "t1"] == (2, 1, 1, 50) and figures["tags", "t0"] == (1, 1, 0, 100)
    assert sum(row.cells[0].value or 0 for row in tables["ratings"].rows) == 2
    olga = desk.context(people["olga"])
    managed = replace(olga, actor=replace(olga.actor, manages=frozenset((people["sales"],))))
    [row] = run(managed, "ratings", range="custom", first="2026-10-01", last="2026-11-20")["all"].rows
    assert [cell.value for cell in row.cells] == [1, 1, 1, 0, 100]
