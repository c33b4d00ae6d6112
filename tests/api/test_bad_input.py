"""Searches of every record type with invalid values, unknown names and excessive input: each ends with an error that
names the position and the nearest known name, never with a broken response."""

from collections.abc import Iterator

import pytest

from server.errors import BadQuery, nearest
from server.record_types.record_type import RecordType
from server.record_types.registry import load
from server.search.filters import AppFilter
from server.search.filters.filter import MAX_ITEMS
from server.search.query_parser import MAX_DEPTH, MAX_QUERY_CHARS, MAX_TERMS
from server.store.transaction import Transaction
from tests.records.desk import Desk
from tests.service import Api
from tests.telling import telling_types

REGISTRY = load()
SEARCHED = telling_types({each.uri: each for each in REGISTRY if each.operations["search"]})


def words(count: int) -> str:
    return ",".join(f"w{number}" for number in range(count))


TOO_MANY = f"[{words(MAX_ITEMS + 1)}]"
NO_NUMBERS = (
    "abc", '"1 x"', '""', "(id:1)", "(a b)", "()", "[1,abc]", '">"', ">abc", "1...x", "me", "any", "*", "2024-05-15",
    "yes", "!abc", "![a,b]", "!(id:1)", "all(id:1)", "nan", "inf", "0x10", "1_0", "\N{KITE}", "\u0661", TOO_MANY,
)  # fmt: skip
# Values that each kind of filter refuses, at the position of the value.
REFUSED: dict[str, tuple[str, ...]] = {
    "number": (*NO_NUMBERS, "1.5", "5MB", '"1 hour"', "9" * 25, "+5"),
    "chooser": (*NO_NUMBERS, "1.5", "5MB", '"1 hour"', "9" * 25, "+5"),
    "decimal": (*NO_NUMBERS, "5MB", '"1 hour"', "1e999"),
    "bytes": (*NO_NUMBERS, "-1", '"1 hour"', "9" * 25, '"5 parsecs"'),
    "duration": (*NO_NUMBERS, "-1", "9" * 25, '"5 parsecs"'),
    "bool": ("abc", "2", "-1", "1.5", '""', "(id:1)", "()", ">5", "1...5", "any", "me", "*", "[y,maybe]", "all(id:1)",
             TOO_MANY),
    "date": ("abc", "2024-13-45", '"2024-05-01 to soon"', ">", "1...5", "(nosuch:1)", "(a b)", "any", "*", "!abc", "me",
             "[a,b]", "9" * 30, "nan", "\N{KITE}", f'"{"x" * 300}"'),
    "enum": ("zzz", "-7", "1.5", '""', "(id:1)", "()", ">5", "*", "[zzz]", "all(id:1)", TOO_MANY),
    "links": ("nosuch", "[org,nosuch]", "!nosuch", "(id:1)", "()", "7", ">5", "all(id:1)", "svc.contexts.nosuch",
              TOO_MANY),
    "text": ("(id:1)", "!(id:1)", "all(id:1)", "(nosuch:1)", TOO_MANY),
    "fulltext": ("(id:1)", "!(id:1)", "all(id:1)", TOO_MANY),
    "deep": ("(nosuch:1)", "(id:abc)", TOO_MANY),
    "watchers": ("(nosuch:1)", "(id:abc)", "9" * 25, '">"', "x" * 300, TOO_MANY),
    "worker": ("(id:1)", "()", "9" * 25, '">"', "x" * 300, TOO_MANY),
    "hidden": ("abc", "7", "any"),
}  # fmt: skip
# Values that may be valid or refused, but must not break anything.
ODD = (
    "null", "!null", "[]", "![]", '"\x00"', "[[1],[2]]", "[*,*]", "a*b*c*", "%_\\", "-" + "9" * 25, "1e999", "\u202e",
    "'; DROP TABLE ticket; --", "{{x}}", '"a\'b"', "=", "!=5", "<>", "...", "5...", "...5", ",", ",,a", '"* *"',
    "NEAR(a b)", "([)", "all()", "!all()", "x" * 3000,
)  # fmt: skip


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """An empty helpdesk is enough, since invalid queries match nothing in any."""
    opened = Desk(tmp_path_factory.mktemp("bad"), load())
    opened.people()
    yield opened
    opened.close()


def mistake(desk: Desk, tx: Transaction, uri: str, q: str, runs: bool = False) -> BadQuery | None:
    """Returns the error of a search, None if it is valid. runs: executes it on the database too."""
    try:
        found = desk.search(tx, uri, q)
        if runs:
            found.ids(10)
    except BadQuery as error:
        return error
    return None


@pytest.mark.parametrize("record_type", SEARCHED)
def test_each_kind_of_filter_refuses_invalid_values_at_their_position(record_type: RecordType, desk: Desk) -> None:
    def ask(tx: Transaction) -> None:
        for name, each in record_type.filter_by_name.items():
            if "<" in name or isinstance(each, AppFilter):  # a pattern accepts any word
                continue
            for value in REFUSED.get(each.type, ()):
                error = mistake(desk, tx, record_type.uri, f"{name}:{value}")
                assert error is not None, (name, each.type, value[:80])
                least = 0 if each.type == "hidden" else len(name) + 1
                assert least <= error.details["position"] <= len(name) + 1 + len(value), (name, value[:80], error)

    desk.read(ask)


@pytest.mark.parametrize("record_type", SEARCHED)
def test_odd_values_break_nothing(record_type: RecordType, desk: Desk) -> None:
    """Tests one filter of each kind."""
    first = {(type(each), each.type): name for name, each in reversed(record_type.filter_by_name.items())}

    def ask(tx: Transaction) -> None:
        for name in sorted(set(first.values())):
            for value in (*ODD, *NO_NUMBERS) if "<" not in name else ():
                mistake(desk, tx, record_type.uri, f"{name}:{value}", runs=True)

    desk.read(ask)


def test_every_kind_of_filter_is_in_the_table() -> None:
    kinds = {each.type for record_type in REGISTRY for each in record_type.filter_by_name.values()}
    assert kinds - set(REFUSED) <= {"virtual", "by custom field"}  # one type each; distinguished by name


def nearly(names: list[str]) -> tuple[str, str]:
    """Returns a misspelling of one of these names, and the suggestion that the error should contain."""
    known = max(names, key=len)
    wrong = known[:-2] + known[-1] + known[-2] + "x"
    return wrong, nearest(wrong, names)


@pytest.mark.parametrize("record_type", SEARCHED)
def test_an_unknown_name_gets_the_nearest_one_as_a_suggestion(record_type: RecordType, api: Api) -> None:
    uri = record_type.uri
    filters, sorts = record_type.filter_names(), record_type.sort_names()
    subtotals = list(record_type.subtotals.search)
    wrong, hint = nearly(filters)
    cases = [(api.search(uri, f"id:>0 {wrong}:1"), hint, 6)]
    if len(sorts) > 1:
        wrong, hint = nearly(sorts)
        cases.append((api.search(uri, f"id:>0 sort:-{wrong}"), hint, 11))
    if subtotals:
        wrong, hint = nearly(subtotals)
        cases.append((api.search(uri, subtotals=wrong), hint, None))
    for response, hint, position in cases:
        assert (response.status, response["__error"]) == (422, "ERROR_SEARCH_FILTERS_INVALID"), response
        assert "did you mean '" in hint and hint in response["message"], (hint, response)
        assert position is None or response["position"] == position, response
        assert "results" not in response.json


@pytest.mark.parametrize("record_type", SEARCHED)
def test_an_unknown_type_gets_the_nearest_one_as_a_suggestion(record_type: RecordType, api: Api) -> None:
    wrong = record_type.uri + "q"
    for response in (
        api.search(wrong), api.record(wrong, 1), api.create(wrong, name="x"), api.upsert(wrong, "id:1", name="x"),
    ):  # fmt: skip
        assert (response.status, response["__error"]) == (404, "ERROR_NOT_FOUND")
        assert f"there is no record type '{wrong}'; did you mean '{record_type.uri}'?" in response["message"]


@pytest.mark.parametrize("prefix", ["links", "on", "owner", "author", "target", "actor"])
def test_a_filter_by_linked_records_requires_an_existing_type(prefix: str, api: Api) -> None:
    uri = {"on": "comment", "owner": "asset", "author": "comment", "target": "activity_log", "actor": "activity_log"}
    response = api.search(uri.get(prefix, "ticket"), f"{prefix}.nosuch:(id:1)")
    assert (response.status, response["position"]) == (422, 0)
    assert f"'{prefix}.nosuch' is not a filter" in response["message"]


MANY = 1500  # more than nested expressions could contain
LIMITS = [
    ("characters", "a" * (MAX_QUERY_CHARS + 1), f"{MAX_QUERY_CHARS} are allowed"),
    ("terms", "a " * (MAX_TERMS + 1), f"more than {MAX_TERMS} terms"),
    ("terms at all depths", "org:(id:1) " * (MAX_TERMS // 2) + "last:1", f"more than {MAX_TERMS} terms"),
    ("depth", "org:(" * (MAX_DEPTH + 1) + "a" + ")" * (MAX_DEPTH + 1), f"nested deeper than {MAX_DEPTH}"),
    ("depth of plain brackets", "(" * (MAX_DEPTH + 1) + "a" + ")" * (MAX_DEPTH + 1), f"nested deeper than {MAX_DEPTH}"),
    *((f"values of {name}", f"{name}:[{words(MANY)}]", f"at most {MAX_ITEMS} values")
      for name in ("subject", "text", "org", "watchers", "owner.id", "links", "status", "comments", "participant")),
    *((f"values of {name} by commas", f"{name}:{words(MANY)}", f"at most {MAX_ITEMS} values")
      for name in ("owner.id", "links", "status", "id", "importance")),
    ("days", f"created:(days:{'mon,' * MANY})", "at most 255"),
]  # fmt: skip


@pytest.mark.parametrize(("query", "limit"), [row[1:] for row in LIMITS], ids=[row[0] for row in LIMITS])
def test_an_exceeded_limit_is_reported(query: str, limit: str, api: Api) -> None:
    response = api.call("POST", "/rest/records/ticket/search.json", data={"q": query})
    assert (response.status, response["__error"]) == (422, "ERROR_SEARCH_FILTERS_INVALID"), response
    assert limit in response["message"], response


FULL = f"[{','.join(str(number) for number in range(MAX_ITEMS))}]"
ALLOWED = [
    ("ids", f"id:[{','.join(str(number) for number in range(MANY))}]"),
    ("ids by commas", f"id:{','.join(str(number) for number in range(MANY))}"),
    ("words in one value each", f"subject:{FULL} text:{FULL} org:{FULL} watchers:{FULL} owner.id:{FULL}"),
    ("terms", "id:>1 " * (MAX_TERMS - 1) + f"subject:{FULL}"),
    ("alternatives", " OR ".join(["id:>1"] * (MAX_TERMS - 1)) + f" OR subject:{FULL}"),
    ("denials", "!a " * MAX_TERMS),
    ("chains of links", "links.ticket:(" * 7 + f"subject:{FULL}" + " id:>1" * 90 + ")" * 7),
    ("chains of words", "links.ticket:(pump " * 7 + "pump" + ")" * 7),
    ("chains of records and words", "pump org:(pump email:(pump contact:(pump org:(pump email:(pump)))))"),
    ("chains of records", "org:(email:(contact:(org:(email:(contact:(org:(name:" + FULL + ")))))))" + " id:>1" * 100),
]


@pytest.mark.parametrize("name", ["nora", "milo"])
@pytest.mark.parametrize("query", [row[1] for row in ALLOWED], ids=[row[0] for row in ALLOWED])
def test_queries_within_all_limits_succeed(query: str, name: str, api: Api) -> None:
    assert len(query) <= MAX_QUERY_CHARS
    response = api.as_(name).call("POST", "/rest/records/ticket/search.json", data={"q": query})
    assert response.ok()["count"] >= 0
