"""Deferred statements: a failure is raised in the write that issued the statement, and the whole write is rolled
back."""

import threading
from collections.abc import Callable

import pytest

from server.store.database import Store
from server.store.transaction import Transaction
from tests.store.conftest import PART, PUMP, names
from tests.store.group import write_together

LONG = "x" * 100_000


def _wrong(tx: Transaction) -> None:
    """A reference to a missing pump."""
    tx.later(lambda: PART.sql.insert({PART.sql.pump_id: 999, PART.sql.name: "seal"}))


def _pump(name: str) -> Callable[[Transaction], int]:
    return lambda tx: tx.insert(PUMP, {"name": name})


def test_a_late_error_fails_its_own_write_only(store: Store) -> None:
    def wrong_last(tx: Transaction) -> None:
        tx.insert(PUMP, {"name": "half"})
        _wrong(tx)

    def wrong_first(tx: Transaction) -> None:
        _wrong(tx)
        tx.insert(PUMP, {"name": "half"})

    answers = write_together(store, _pump("first"), wrong_last, wrong_first, _pump("last"))
    assert [each.error is None for each in answers] == [True, False, False, True]
    assert names(store) == ["first", "last"]


def test_who_goes_on_after_a_late_error_keeps_nothing_of_its_part(store: Store) -> None:
    def write(tx: Transaction) -> bool:
        tx.insert(PUMP, {"name": "before"})
        try:
            tx.part(lambda inner: (inner.insert(PUMP, {"name": "half"}), _wrong(inner)))
        except store.fault:
            tx.insert(PUMP, {"name": "after"})
            return True
        return False

    assert store.write(write)
    assert names(store) == ["before", "after"]


@pytest.mark.parametrize("number", [1, 99, 100, 101, 1000])
def test_as_many_as_one_likes_are_in_their_order(store: Store, number: int) -> None:
    def write(tx: Transaction) -> None:
        id = tx.insert(PUMP, {"name": "pump"})
        for count in range(number):
            tx.set(PUMP, id, {"litres": count})

    store.write(write)
    assert store.read(lambda tx: [row[PUMP.position["litres"]] for row in tx.find(PUMP)]) == [number - 1]


def test_large_values_fit(store: Store) -> None:
    def write(tx: Transaction) -> None:
        for number in range(50):
            tx.set(PUMP, tx.insert(PUMP, {"name": f"pump {number}"}), {"place": f"{number} {LONG}"})

    store.write(write)
    places = store.read(lambda tx: [row[PUMP.position["place"]] for row in tx.find(PUMP)])
    assert places == [f"{number} {LONG}" for number in range(50)]


def test_a_write_reads_what_it_has_not_waited_for(store: Store) -> None:
    def write(tx: Transaction) -> list[str]:
        tx.insert(PUMP, {"name": "first"})
        tx.add_later(PUMP, {"name": "second"})
        return [row[1] for row in tx.find(PUMP)]

    assert store.write(write) == ["first", "second"]


def test_ids_that_the_database_gives_are_behind_those_that_were_given(store: Store) -> None:
    def write(tx: Transaction) -> list[int]:
        first = tx.insert(PUMP, {"name": "first"})
        tx.run(lambda: PUMP.sql.insert({PUMP.sql.name: "second"}))
        third = tx.insert(PUMP, {"name": "third"})
        tx.add_later(PUMP, {"name": "fourth"})
        return [first, third, tx.insert(PUMP, {"name": "fifth"})]

    assert store.write(write) == [1, 3, 5]
    assert names(store) == ["first", "second", "third", "fourth", "fifth"]


def test_versions_in_a_write_rise_with_what_it_changes_and_fall_with_what_is_undone(store: Store) -> None:
    def versions(tx: Transaction) -> tuple[int, int]:
        return tx.version("pumps"), tx.version("pump names")

    def write(tx: Transaction) -> list[tuple[int, int]]:
        seen = [versions(tx)]
        id = tx.insert(PUMP, {"name": "pump"})
        seen.append(versions(tx))
        tx.set(PUMP, id, {"litres": 7})
        seen.append(versions(tx))
        tx.insert(PART, {"pump_id": id, "name": "seal"})
        seen.append(versions(tx))
        with pytest.raises(ZeroDivisionError):
            tx.part(lambda inner: (inner.set(PUMP, id, {"name": "other"}), versions(inner), 1 // 0))
        seen.append(versions(tx))
        tx.delete(PUMP, id=id)
        return [*seen, versions(tx)]

    pumps, pump_names = store.read(versions)
    rises = [(0, 0), (1, 1), (2, 1), (2, 1), (2, 1), (3, 2)]
    assert store.write(write) == [(pumps + more, pump_names + names) for more, names in rises]
    assert store.read(versions) == (pumps + 3, pump_names + 2)


def test_ids_go_on_without_a_gap_whoever_adds_rows(store: Store, opened: Callable[..., Store]) -> None:
    others = [store, opened()] if store.is_shared else [store]
    found: list[int] = []
    for number in range(6):
        each = others[number % len(others)]
        found += [answer.result for answer in write_together(each, *[_pump("pump")] * 3)]
        found += each.write(lambda tx: list(tx.reserve(PUMP, 2)))
        found += each.write(lambda tx: [tx.insert(PUMP, {"name": "pump"}), *tx.reserve(PUMP, 1), *tx.next_ids(PUMP, 1)])
        each.write(lambda tx: tx.set_next_id(PUMP, tx.next_ids(PUMP, 1)[0] + 1))
    assert found == list(range(1, len(found) + 1))


def test_rows_of_a_write_that_failed_take_no_id_from_others(store: Store) -> None:
    def reserved_and_wrong(tx: Transaction) -> None:
        tx.reserve(PUMP, 10)
        tx.insert(PUMP, {"name": "half"})
        _wrong(tx)

    answers = write_together(store, _pump("first"), reserved_and_wrong, _pump("last"))
    ids = [each.result for each in answers if each.error is None]
    assert ids[0] == 1 and ids[1] > 1
    assert store.write(_pump("next")) == ids[1] + 1


def test_two_stores_at_once_give_each_row_its_own_id(store: Store, opened: Callable[..., Store]) -> None:
    stores = [store, opened()] if store.is_shared else [store]
    found: list[int] = []

    def add(one: Store) -> None:
        for _ in range(30):
            found.append(one.write(lambda tx: (tx.insert(PUMP, {"name": "a"}), tx.insert(PUMP, {"name": "b"}))[1]))

    threads = [threading.Thread(target=add, args=(one,)) for one in stores for _ in range(2)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(set(found)) == len(found) == 60 * len(stores)
    assert len(names(store)) == 2 * len(found)
