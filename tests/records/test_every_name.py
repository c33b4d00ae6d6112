"""Every filter, order, subtotal, key and expand of every record type runs on a real database."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from server.counting.subtotals import subtotals
from server.errors import BadQuery
from server.record_types.describe import describe
from server.record_types.registry import load
from server.records import records
from server.store.transaction import Transaction
from tests.records.desk import Desk
from tests.records.filled import FAMILIES

pytestmark = pytest.mark.exhaustive("every name that a search or an expand can use")

Families = Callable[[str], tuple[Desk, dict[str, int]]]
REGISTRY = load()
TYPES = [(family, uri) for family, each in FAMILIES.items() for uri in each.TYPES]
WITHOUT_SEARCH = {"automation_resource"}  # other types search it
WITHOUT_RECORD = {"automation_log"}  # its records cannot be read individually
OF_CUSTOMERS = {"rating"}  # tests/desk/test_ratings.py
VALUES = {
    "fulltext": ("pump", '"pump leaks"', "pu*"),
    "text": ("pump*", "pump", '"Pump leak"', "null", "é"),
    "number": ("[1,2]", ">0", "0", "3", "0...5", "1...5", "!=3", "null"),
    "chooser": (">0", "5", "[1,2]", "1...3", "null"),
    "decimal": (">1", "0.5"),
    "bool": ("yes", "no"),
    "date": ('"-1 week"', "never", "(since:today until:tomorrow days:weekdays)"),
    "worker": ("me", "any", "none", "milo", "2"),
    "watchers": ("any", "me", "(firstName:olga)"),
    "links": ("ticket", "any", "none", "[org,task]"),
    "deep": ("(id:>0)", "pump"),
    "duration": ('">1 hour"', "60"),
    "bytes": (">1kb", "1kb...2MiB"),
    "virtual": ("current", "me", "milo", "2", "5"),
    "hidden": ("x",),
}
OWN_VALUES = {
    ("behavior", "usableBy.bot"): ("1", "99"),
    ("snippet", "myUses"): (">0", "0", "1...5", "[1,2]", '(hits:>0 date:"-30 days")', "(hits:0)"),
    ("ticket", "tag"): ("pump", "any", "none", "(id:>0)"),
    ("snippet", "type"): ("plaintext", "ticket", "svc.contexts.ticket", "tick", "[plaintext,task]"),
}
# Subtotals that count other records, of which a record may have several or none.
OF_OTHERS = {"fieldset", "links", "watchers", "category.id", "participant", "tag"}
OWN_OF_OTHERS = {("worker", "group")}
# Keys of expands whose name differs from their key.
SHOWN_ELSEWHERE = {
    "calendar": {"events_occluded", "weeks_events", "weeks_events_occluded"},
    "workspace_page": {"widgets", "widgets_data", "worklists"},
    "workspace_tab": {"widgets_data"},
    "workspace_widget": {"widgets_data"},
}


def every_filter() -> Iterator[tuple[str, str, str]]:
    for family, uri in [*TYPES, ("automation", "automation_log")]:
        for name in REGISTRY.type(uri).filter_by_name:
            yield family, uri, name


def values(uri: str, name: str) -> tuple[str, ...]:
    found = REGISTRY.type(uri).filter_by_name[name]
    if found.type == "enum":
        return tuple(f'"{each}"' for each in found.describe()["values"])
    return OWN_VALUES.get((uri, name)) or VALUES[found.type]


def test_every_type_is_in_a_family() -> None:
    listed = [uri for _, uri in TYPES]
    assert len(listed) == len(set(listed)) and {*listed, *WITHOUT_RECORD, *OF_CUSTOMERS} >= set(REGISTRY.uris())


@pytest.mark.parametrize(("family", "uri", "name"), [*every_filter()])
def test_every_filter_runs(families: Families, family: str, uri: str, name: str) -> None:
    desk, _ = families(family)

    def run(tx: Transaction) -> None:
        for value in values(uri, name):
            term = value if name == "text" else f"{name}:{value}"
            for q in (term, f"{name}:!{value}", f"({term} OR id:1)"):
                search = desk.search(tx, uri, q)
                assert len(search.rows(500)) == search.total() == len(search.ids(500)), q

    if REGISTRY.type(uri).filter_by_name[name].type == "hidden":
        with pytest.raises(BadQuery, match="can only be used for counting"):
            desk.read(run)
    else:
        desk.read(run)


@pytest.mark.parametrize(("family", "uri"), TYPES)
def test_every_order_finds_the_record(families: Families, family: str, uri: str) -> None:
    desk, made = families(family)

    def run(tx: Transaction) -> None:
        for name in REGISTRY.type(uri).sort_names():
            for order in (name, f"-{name}"):
                assert made[uri] in desk.search(tx, uri, f"sort:{order}").ids(500), order

    desk.read(run)


@pytest.mark.parametrize(("family", "uri"), TYPES)
def test_every_order_continues_after_each_record(families: Families, family: str, uri: str) -> None:
    desk, _ = families(family)

    def run(tx: Transaction) -> None:
        for name in ("", *REGISTRY.type(uri).sort_names()):
            for order in (name, f"-{name}", f"-{name},id") if name else ("",):
                found = desk.search(tx, uri, f"sort:{order}" if order else "")
                ids = found.ids(500)
                for place, row in enumerate(found.rows(500)):
                    assert found.after(found.position(row)).ids(500) == ids[place + 1 :], (order, row[0])

    desk.read(run)


@pytest.mark.parametrize(("family", "uri"), TYPES)
def test_every_subtotal_counts(families: Families, family: str, uri: str) -> None:
    desk, _ = families(family)
    names = REGISTRY.type(uri).subtotals.search
    total, counted = counts(desk, uri, names)
    assert list(counted) == list(names)
    for name, listed in counted.items():
        is_of_others = name in OF_OTHERS or (uri, name) in OWN_OF_OTHERS
        assert is_of_others or sum(each["hits"] for each in listed) == total, name


def counts(desk: Desk, uri: str, names: tuple[str, ...]) -> tuple[int, dict[str, Any]]:
    """Returns the number of records of a type, and its subtotals."""
    if uri in WITHOUT_SEARCH:
        return desk.read(lambda tx: (
            desk.search(tx, uri, "").total(),
            {name: subtotals(desk.search(tx, uri, ""), name, desk.shown(tx)) for name in names},
        ))  # fmt: skip
    result = records.search(desk.context(), uri, records.SearchRequest("", subtotals=names))
    return result["total"], result["subtotals"]


@pytest.mark.parametrize(("family", "uri"), TYPES)
def test_every_key_and_expand_exists(families: Families, family: str, uri: str) -> None:
    desk, made = families(family)
    described = describe(REGISTRY.type(uri))
    expands = {each["key"]: each for each in described["expand"]}
    # The service itself has no names for a signature; a worker does.
    shown = desk.record(uri, made[uri], by=made["nora"], expand=",".join([*expands, "_label"]))
    wanted = {each["key"] for each in described["keys"] if each["returned"] == "default"}
    wanted |= {
        f"{name}_id" if each["type"] == "record" else name for name, each in expands.items() if not name.endswith("_")
    } - SHOWN_ELSEWHERE.get(uri, set())
    assert wanted - shown.keys() == set() and shown["_label"]


# A search for records that refer to few types: each type of target takes one statement.
OF_FEW_TYPES = {"activity_log": "administrative:no"}


@pytest.mark.parametrize(("family", "uri"), TYPES)
def test_expanding_costs_the_same_for_many_records(families: Families, family: str, uri: str) -> None:
    desk, _ = families(family)
    record_type = REGISTRY.type(uri)
    names = [each["key"] for each in describe(record_type)["expand"]]

    def statements(tx: Transaction, count: int) -> tuple[int, int]:
        """Returns the number of records, and the statements for `count` of them; records are repeated as needed."""
        found = [record_type.record(row) for row in desk.search(tx, uri, OF_FEW_TYPES.get(uri, "")).rows(count)]
        listed = (found * count)[:count]
        desk.shown(tx).show(record_type, listed, names)  # fills the cache that records share
        before = tx.statements
        desk.shown(tx).show(record_type, listed, names)
        return len(found), tx.statements - before

    one, alone = desk.read(lambda tx: statements(tx, 1))
    several, together = desk.read(lambda tx: statements(tx, 50))
    assert one == 1
    assert together == alone or (several > 1 and together <= alone + 2 * len(names))
