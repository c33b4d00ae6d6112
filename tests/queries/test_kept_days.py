"""Counts by dates, assembled from days and cached counts, equal counts second by second: around clock changes, in all
zones, for workers with limited access, after every kind of change."""

import json
import random
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from server.counting.bins import UNITS, TimeScale
from server.counting.combinations import Combinations
from server.queries import query_run
from server.store.recounting import recounted
from tests.queries.test_bins import ZONES, instants
from tests.records.desk import NOW, Desk
from tests.telling import telling

EVERY = 11  # one of this many instants of the zones
LONG = ("week", "week-sun", "month", "quarter", "year", "weekofyear", "monthofyear", "quarterofyear")
COUNTED = (
    "by:[created@{unit}~2000]",
    "by:[created@{unit}~2000,status]",
    "by:[status,created@{unit}~-3]",
    "by:[created@{unit}~2000,group] query:(status:[o,w])",
    "by:[created@{unit}~2000,created@dayofmonth~2000]",
    "by:[created@{unit}~2000,closed@month~2000]",
    "by:[created@{unit}~2000,importance]",
    'by:[created@{unit}~2000] query:(created:"1989-01-01 to 2026-12-31")',
    'by:[created@{unit}~2000,status] query:(created:"2010-01-01 to 2012-12-31" OR status:closed)',
    "by.avg:[created@{unit}~2000,importance]",
    "by.distinct:[created@{unit}~2000,status]",
    "by:[closed@{unit}~2000,status]",
)


class Clocks:
    """Tickets around the clock changes of all zones, in three groups. milo sees two of the groups; one ticket was
    deleted for good, and some are in the trash."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        people = desk.people()
        self.nora, self.milo = people["nora"], people["milo"]
        hidden = desk.create("group", name="Board", is_private=1)["id"]
        sales = desk.create("group", name="Sales")["id"]
        self.table, self.chance = desk.registry.type("ticket").table, random.Random(5)
        ats = sorted({at for zone in ZONES for at in instants(zone)[::EVERY]})
        ats += [0, 1, 86_399, 86_400, NOW, NOW, NOW]
        self.chance.shuffle(ats)
        groups = (people["support"], sales, hidden)
        rows = [self._row(place, at, groups) for place, at in enumerate(ats)]
        desk.store.write(lambda tx: [tx.insert(self.table, row) for row in rows])

    def _row(self, place: int, at: int, groups: tuple[int, ...]) -> dict[str, Any]:
        return {
            "subject": "Tick", "mask": f"T-{place}", "group_id": self.chance.choice(groups), "created": at,
            "status_id": self.chance.randrange(4), "importance": self.chance.randrange(3),
            "closed": self.chance.choice((0, at + 1)),
        }  # fmt: skip

    def ask(self, q: str, by: int) -> str:
        return json.dumps(query_run.evaluate(self.desk.context(by), f"type:worklist.subtotals of:ticket timeout:0 {q}"))


@pytest.fixture(scope="module")
def clocks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clocks]:
    desk = Desk(tmp_path_factory.mktemp("clocks"))
    yield Clocks(desk)
    desk.close()


@contextmanager
def second_by_second() -> Iterator[None]:
    """Counts dates by single seconds of the tickets themselves."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TimeScale, "sizes", property(lambda self: [1]))
        patch.setattr(Combinations, "_counts", lambda self: None)
        yield


@pytest.mark.parametrize("zone", telling(ZONES, ("Australia/Lord_Howe",), "every kind of clock"))
def test_counts_by_dates_are_those_of_every_second(clocks: Clocks, zone: str) -> None:
    wrong = []
    for place, unit in enumerate(each.name for each in UNITS):
        some = COUNTED if unit in LONG else COUNTED[place % 4 :: len(COUNTED)]
        for q in some:
            asked = f"{q.format(unit=unit)} timezone:{zone}"
            for by in (clocks.nora, clocks.milo):
                with second_by_second():
                    slowly = clocks.ask(asked, by)
                if clocks.ask(asked, by) != slowly:
                    wrong.append((asked, by))
    assert wrong == []


def test_who_does_not_see_a_group_does_not_see_it_counted(clocks: Clocks) -> None:
    asked = "by:[created@year~2000,group] format:dictionaries"
    all_of_them, seen = (json.loads(clocks.ask(asked, by))["data"] for by in (clocks.nora, clocks.milo))
    assert {each["group__label"] for each in all_of_them} == {"Support", "Sales", "Board"}
    assert [each for each in all_of_them if each["group__label"] != "Board"] == seen


def test_months_are_read_from_the_kept_counts(clocks: Clocks) -> None:
    desk, days = clocks.desk, clocks.table.days_table
    right = clocks.ask("by:[created@month]", clocks.nora)
    row = dict(zip(days.names, desk.read(lambda tx: tx.find(days))[-1], strict=True))
    desk.store.write(lambda tx: tx.put(days, row | {"n": row["n"] + 5000}))
    wrong = clocks.ask("by:[created@month]", clocks.nora)
    assert recounted(desk.store, [clocks.table]) == ["ticket_days did not match the rows of ticket; counted again"]
    assert wrong != right == clocks.ask("by:[created@month]", clocks.nora)


def test_the_kept_counts_follow_any_change(desk: Desk, ids: dict[str, int]) -> None:
    table, chance, known = desk.registry.type("ticket").table, random.Random(2), [0]
    groups = [ids["support"], desk.create("group", name="Sales")["id"]]
    days = [0, 1, 40_000, 86_399, 86_400, NOW, NOW + 3600, NOW + 90_000, 253402300799]

    def change(tx: Any) -> None:
        values = {
            "created": chance.choice(days), "status_id": chance.randrange(4), "group_id": chance.choice(groups),
        }  # fmt: skip
        act = chance.choice("iiuuud")
        if act == "i" or len(known) == 1:
            known.append(tx.insert(table, {"subject": "s", "mask": f"M-{chance.random()}", **values}))
        elif act == "u":
            name = chance.choice(list(values))
            tx.update(table, known[chance.randrange(1, len(known))], {name: values[name], "subject": "t"})
        else:
            tx.delete(table, id=known.pop(chance.randrange(1, len(known))))

    for _ in range(300):
        desk.store.write(change)
    found = desk.read(lambda tx: {row[:3]: row[3] for row in tx.find(table.days_table)})
    rows = desk.read(lambda tx: [table_row(table, row) for row in tx.find(table)])
    assert found == dict(Counter((day(row["created"]), row["status_id"], row["group_id"]) for row in rows))
    assert len(found) > 20


def table_row(table: Any, row: tuple[Any, ...]) -> dict[str, Any]:
    return dict(zip(table.names, row, strict=True))


def day(at: int) -> int:
    """The first second of a day; 1 for 1970-01-01, since 0 means no date."""
    return at - at % 86_400 or min(at, 1)
