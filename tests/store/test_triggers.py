"""Triggers maintain the counts of summary columns, and version numbers that change with the rows."""

import random
from collections import Counter
from collections.abc import Callable

import pytest

from server.store.database import Store
from server.store.schema import VERSION
from server.store.transaction import Transaction
from tests.store.conftest import PUMP, add_pump

PLACES = ("cellar", "roof", "yard")
ROUNDS = 600


def _summary(tx: Transaction) -> dict[tuple[int, str], int]:
    return {(litres, place): count for litres, place, count in tx.find(PUMP.summary_table)}


def _counted(tx: Transaction) -> dict[tuple[int, str], int]:
    return dict(Counter((row[2], row[3]) for row in tx.find(PUMP)))


def _versions(store: Store) -> dict[str, int]:
    return dict(store.read(lambda tx: tx.find(VERSION)))  # type: ignore[arg-type]


def test_a_summary_equals_a_count_after_any_changes(store: Store) -> None:
    chance = random.Random(7)
    ids: list[int] = []

    def change(tx: Transaction) -> None:
        values = {"litres": chance.randrange(3), "place": chance.choice(PLACES)}
        act = chance.choice("iiiuuud")
        if act == "i" or not ids:
            ids.append(tx.insert(PUMP, {"name": "p", **values}))
        elif act == "u":
            name = chance.choice(list(values))
            tx.update(PUMP, chance.choice(ids), {name: values[name], "name": "q"})
        else:
            tx.delete(PUMP, id=ids.pop(chance.randrange(len(ids))))

    for _ in range(ROUNDS):
        store.write(change)
    summary, counted = store.read(lambda tx: (_summary(tx), _counted(tx)))
    assert summary == counted and len(counted) == 9


def test_a_summary_has_no_row_for_what_is_gone(store: Store) -> None:
    id = add_pump(store, "only", litres=5)
    store.write(lambda tx: tx.update(PUMP, id, {"litres": 6}))
    assert store.read(_summary) == {(6, "cellar"): 1}
    store.write(lambda tx: tx.delete(PUMP, id=id))
    assert store.read(_summary) == {}


def test_a_failed_write_does_not_count(store: Store) -> None:
    def failing(tx: Transaction) -> None:
        tx.insert(PUMP, {"name": "p"})
        raise ValueError

    with pytest.raises(ValueError):
        store.write(failing)
    assert store.read(_summary) == {}


def test_a_version_rises_with_the_columns_it_watches(store: Store) -> None:
    before = _versions(store)
    id = add_pump(store, "p")
    added = _versions(store)
    store.write(lambda tx: tx.update(PUMP, id, {"litres": 3}))
    filled = _versions(store)
    store.write(lambda tx: tx.update(PUMP, id, {"name": "q"}))
    named = _versions(store)
    assert [v["pumps"] - before["pumps"] for v in (added, filled, named)] == [1, 2, 3]
    assert [v["pump names"] - before["pump names"] for v in (added, filled, named)] == [1, 1, 2]


def test_a_change_by_another_program_raises_the_version_too(store: Store, opened: Callable[..., Store]) -> None:
    other = opened()
    before = _versions(store)["pumps"]
    add_pump(other, "from the command line")
    assert _versions(store)["pumps"] == before + 1
    add_pump(store, "from here")
    assert _versions(other)["pumps"] == before + 2
