"""Rules for data queries of every type: parsing, checks, time limits; and worklist.records."""

from dataclasses import replace
from typing import Any

import pytest

from server.errors import BadDataQuery, BadQuery, HelpdeskError, Required, TimedOut
from server.jobs.job_queue import JOB
from server.queries import query_run
from server.queries.data_query import DataQuery
from server.queries.paging import page_of, paging
from server.queries.query_type import TIMEOUT, QueryKey, QueryResult, QueryType
from server.queries.query_values import MAX_KEYS, read_keys, source_of, terms_of
from server.record_types.record_type import RecordType
from server.search.query_parser import MAX_DEPTH, MAX_QUERY_CHARS
from server.store.database import OutOfSteps
from tests.records.desk import Desk

SERIES = (
    QueryKey("of", "text", "What.", required=True),
    QueryKey("kind", "text", "Which.", choices=("one", "two")),
    QueryKey("number", "number", "How many.", low=2, high=5),
    QueryKey(
        "series.<id>",
        "group",
        "One.",
        keys=(QueryKey("label", "text", "Name.", required=True), QueryKey("x", "list", "X.")),
    ),
    QueryKey("inputs", "group", "Anything.", keys=(QueryKey("<name>", "any", "One."),)),
)


@pytest.mark.parametrize(
    ("q", "position", "part"),
    [
        ("of:ticket", 0, "'type:' is missing"),
        ("type:", 0, "has no value"),
        ("type:[a]", 5, "takes one value"),
        ("type:worklist.recods", 5, "did you mean 'worklist.records'"),
        ("type:worklist.records", 5, "needs 'of:'"),
        ("type:worklist.records of:tiket", 25, "did you mean 'ticket'"),
        ("type:worklist.records of:[task]", 25, "takes one value"),
        ("type:worklist.records of:(task)", 25, "takes one value"),
        ("type:worklist.records of:!task", 22, "takes no '!'"),
        ("type:worklist.records of:task of:task", 30, "appears twice"),
        ("type:worklist.records of:task query:(a) query:(b)", 40, "appears twice"),
        ("type:worklist.records of:task query.require:() query.required:()", 47, "appears twice"),
        ("type:worklist.records of:task zzz:1", 30, "'zzz:' is not a key"),
        ("type:worklist.records of:task expnd:[a]", 30, "did you mean 'expand'"),
        ("type:worklist.records of:task sort:id", 30, "'sort:' is not a key"),
        ("type:worklist.records of:task limit:5", 30, "'limit:' is not a key"),
        ("type:worklist.records of:task word", 30, "not a key with a value"),
        ("type:worklist.records of:task (expand:a)", 30, "not a key with a value"),
        ("type:worklist.records OR of:task", 0, "OR"),
        ("type:worklist.records of:task query:open", 36, "a search in parentheses"),
        ("type:worklist.records of:task query:all(open)", 36, "a search in parentheses"),
        ("type:worklist.records of:task query:status:open", 30, "has no value"),
        ("type:worklist.records of:task query:(title:a", 36, "is not closed"),
        ('type:worklist.records of:task query:(title:"a)', 43, "is not closed"),
        ("type:worklist.records of:task query:(nope:1)", 37, "'nope' is not a filter"),
        ("type:worklist.records of:task query:(sort:nope)", 42, "cannot be sorted"),
        ("type:worklist.records of:task query:(set.timezone:Mars)", 50, "not a time zone"),
        ("type:worklist.records of:task page:-1", 35, "from 0 to"),
        ("type:worklist.records of:task page:[1]", 35, "a whole number"),
        ("type:worklist.records of:task format:table", 37, "not one of dictionaries"),
        ("type:worklist.records of:task timezone:Mars", 39, "not a time zone"),
        ("type:worklist.records of:task timeout:60001", 38, "from 0 to 60000"),
        ("type:worklist.records of:package_x", 25, "not a record type"),
        ("x" * (MAX_QUERY_CHARS + 1), MAX_QUERY_CHARS, "8192 are allowed"),
        ("type:x query:" + "(" * (MAX_DEPTH + 1), 13 + MAX_DEPTH, "nested deeper"),
    ],
)
def test_errors_name_their_place(desk: Desk, q: str, position: int, part: str) -> None:
    with pytest.raises(BadQuery) as caught:
        query_run.evaluate(desk.context(), q)
    assert part in caught.value.message and caught.value.details["position"] == position


def test_types_without_a_search_are_refused(desk: Desk) -> None:
    closed: list[RecordType] = [each for each in desk.registry if "search" not in each.features]
    for each in closed:
        with pytest.raises(BadDataQuery, match="cannot be searched"):
            query_run.evaluate(desk.context(), f"type:worklist.records of:{each.context}")


@pytest.mark.parametrize("q", ["", "  \n "])
def test_nothing_is_no_query(desk: Desk, q: str) -> None:
    with pytest.raises(Required, match="q is required"):
        query_run.evaluate(desk.context(), q)


def test_groups_hold_their_own_keys() -> None:
    terms = terms_of('of:a series.one:(label:"x y" x:[1,2]) series.two:(label:b) inputs:(a:1 b:[2])')
    found = read_keys(terms, SERIES, "test")
    assert list(found) == ["of", "series.one", "series.two", "inputs"]
    assert [found[name].id for name in found] == ["", "one", "two", ""]
    assert [text.value for text in found["series.one"].inner["x"].texts] == ["1", "2"]
    assert list(found["inputs"].inner) == ["a", "b"]


@pytest.mark.parametrize(
    ("q", "position", "part"),
    [
        ("series.one:(x:1)", 11, "needs 'label:'"),
        ("series.one:(label:a labl:b)", 20, "did you mean 'label'"),
        ("series.one:(label:a label:b)", 20, "appears twice"),
        ("series.one:label", 11, "keys in parentheses"),
        ("series.one:(label:a) series.one:(label:b)", 21, "appears twice"),
        ("series:(label:a)", 0, "'series:' is not a key"),
        ("series.one:(label:a OR x:b)", 11, "OR"),
        ("inputs:(a:(b:1))", 10, "a list in square brackets"),
        ("series.one:(label:a x:(b))", 22, "a list in square brackets"),
    ],
)
def test_mistakes_inside_of_groups(q: str, position: int, part: str) -> None:
    with pytest.raises(BadDataQuery) as caught:
        read_keys(terms_of(q), SERIES, "test")
    assert part in caught.value.message and caught.value.details["position"] == position


def test_there_is_a_limit_of_keys() -> None:
    many = " ".join(f"k{number}:1" for number in range(MAX_KEYS + 1))
    with pytest.raises(BadDataQuery, match=f"more than {MAX_KEYS} keys"):
        read_keys(terms_of(f"inputs:({many})"), SERIES, "test")


def test_the_text_of_a_search_is_cut_at_its_own_bracket() -> None:
    q = 'query:(a:(b) "c)" !(d)) by:x'
    assert source_of(q, 6) == '(a:(b) "c)" !(d))'


class Slow(QueryType):
    """Runs until it is interrupted."""

    name = "test.slow"
    formats = ("one", "two")

    def run(self, asked: DataQuery) -> QueryResult:
        while True:
            asked.tx.find(JOB, kind="none")


class Known(QueryType):
    """Returns its own request."""

    name = "test.known"
    keys = SERIES[1:3]
    is_quick = True

    def run(self, asked: DataQuery) -> QueryResult:
        values = asked.values
        return QueryResult([values.text("kind", "none"), values.number("number", 0), str(asked.scope.tz)], {"extra": 1})


@pytest.fixture
def more_types(monkeypatch: pytest.MonkeyPatch) -> None:
    known = query_run.query_types() | {"test.slow": Slow(), "test.known": Known()}
    monkeypatch.setattr(query_run, "query_types", lambda: known)


def test_a_slow_query_reports_its_time_limit(desk: Desk, more_types: None) -> None:
    with pytest.raises(BadDataQuery, match="took longer than 30 ms") as caught:
        query_run.evaluate(desk.context(), "type:test.slow timeout:30")
    assert not isinstance(caught.value, TimedOut) and caught.value.details["timeout"] == 30


def test_the_limit_of_a_query_is_its_own_and_not_that_of_reads(desk: Desk, more_types: None) -> None:
    desk.store.read_seconds = 0.001
    with pytest.raises(BadDataQuery, match="took longer than 60 ms"):
        query_run.evaluate(desk.context(), "type:test.slow timeout:60")
    assert TIMEOUT.high == query_run.MAX_TIMEOUT_MS and TIMEOUT.default == str(query_run.DEFAULT_TIMEOUT_MS)


@pytest.mark.sqlite("what runs on the event loop")
def test_only_quick_types_are_answered_on_the_event_loop(desk: Desk, more_types: None) -> None:
    loop = replace(desk.context(), steps=20_000)
    assert query_run.evaluate(loop, "type:test.known kind:two number:5 timezone:europe/berlin") == {
        "data": ["two", 5, "Europe/Berlin"],
        "_": {"type": "test.known", "format": "dictionaries", "extra": 1},
    }
    with pytest.raises(OutOfSteps):
        query_run.evaluate(loop, "type:worklist.subtotals of:task by:[status]")


@pytest.mark.parametrize(
    ("q", "part"),
    [
        ("kind:three", "not one of one, two"),
        ("number:1", "2 to 5"),
        ("number:6", "2 to 5"),
        ("number:9999999999999999999999", "2 to 5"),
    ],
)
def test_values_are_checked_against_their_declaration(desk: Desk, more_types: None, q: str, part: str) -> None:
    with pytest.raises(HelpdeskError, match=part) as caught:
        query_run.evaluate(desk.context(), f"type:test.known {q}")
    assert caught.value.details["position"] == len("type:test.known ") + q.index(":") + 1


def test_every_type_describes_itself() -> None:
    for name, each in query_run.query_types().items():
        shown = each.describe()
        assert shown["name"] == name and shown["description"].endswith(".") and shown["formats"]
        assert all(key["note"].endswith(".") for key in shown["keys"])


def first(found: dict[str, Any]) -> str:
    return str(next(iter(found["data"])))


def records(desk: Desk, q: str, by: int = 0) -> dict[str, Any]:
    return query_run.evaluate(desk.context(by), f"type:worklist.records {q}")


def test_records_are_a_map_in_the_order_of_the_search(desk: Desk) -> None:
    made = [desk.create("task", title=title)["id"] for title in ("Beta", "Alpha", "Gamma")]
    found = records(desk, "of:tasks query:(sort:-title)")
    assert list(found["data"]) == [str(made[place]) for place in (2, 0, 1)]
    assert (
        found["data"][str(made[1])] | {"_loaded": True, "_type": "task", "_label": "Alpha", "title": "Alpha"}
        == (found["data"][str(made[1])])
    )
    assert list(records(desk, "of:svc.contexts.task")["data"]) == [str(id) for id in made]


def test_pages_of_records(desk: Desk) -> None:
    for number in range(77):
        desk.create("task", title=f"Count {number}")
    found = records(desk, "of:task query:(limit:10) page:1")
    assert found["_"]["paging"] == {"page": {
        "of": 8, "rows": {"of": 77, "count": 10, "limit": 10, "from": 11, "to": 20}, "index": 1, "prev": 0, "first": 0,
        "next": 2, "last": 7,
    }}  # fmt: skip
    assert first(found) == "11"
    assert first(records(desk, "of:task query:(limit:10 page:3)")) == "21"
    assert first(records(desk, "of:task query:(limit:10 page:3) page:0")) == "1"
    assert len(records(desk, "of:task")["data"]) == 25
    beyond = records(desk, "of:task page:9")
    assert beyond["data"] == {} and beyond["_"]["paging"]["page"]["rows"]["from"] == 0
    assert len(records(desk, "of:task query:(limit:9999)")["data"]) == 77


def test_records_are_expanded_and_only_those_that_the_caller_may_read(desk: Desk, ids: dict[str, int]) -> None:
    hidden = desk.create("group", name="Board", is_private=1)["id"]
    desk.create("ticket", subject="Open to all", group_id=ids["support"], updated=1_790_000_000)
    desk.create("ticket", subject="Not for olga", group_id=hidden, updated=1_790_000_001)
    everything = records(desk, "of:ticket expand:[group_,custom_]")["data"]
    assert [each["group_name"] for each in everything.values()] == ["Board", "Support"]
    assert [each["subject"] for each in records(desk, "of:ticket", ids["olga"])["data"].values()] == ["Open to all"]


def test_both_searches_must_hold(desk: Desk) -> None:
    for title in ("Pump", "Pump house", "House"):
        desk.create("task", title=title)
    found = records(desk, "of:task query:(title:pump OR title:house) query.required:(title:house sort:-id limit:1)")
    assert [each["title"] for each in found["data"].values()] == ["Pump house", "House"]


@pytest.mark.parametrize(
    ("total", "count", "limit", "index", "expected"),
    [
        (0, 0, 10, 0, {"of": 0, "index": 0, "from": 0, "to": 0}),
        (10, 10, 10, 0, {"of": 1, "index": 0, "from": 1, "to": 10}),
        (11, 1, 10, 1, {"of": 2, "index": 1, "prev": 0, "first": 0, "from": 11, "to": 11}),
        (30, 10, 10, 1, {"of": 3, "index": 1, "prev": 0, "first": 0, "next": 2, "last": 2, "from": 11, "to": 20}),
    ],
)
def test_paging(total: int, count: int, limit: int, index: int, expected: dict[str, int]) -> None:
    page = paging(total, count, limit, index)["page"]
    rows = page.pop("rows")
    assert page | {"from": rows["from"], "to": rows["to"]} == expected
    shown, told = page_of(range(total), limit, index)
    assert len(shown) == count and told["page"]["rows"] == rows
