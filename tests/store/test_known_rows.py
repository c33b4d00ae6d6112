"""Rows that the writer caches between writes, and rows that it adds late, are indistinguishable from stored rows."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from server.store import schema
from server.store.database import Store
from server.store.statements import slot
from server.store.tables import Column, Table
from server.store.transaction import Row, Transaction
from tests.store.conftest import PUMP
from tests.store.group import write_together

VALVE = Table("valve", [Column("name", "TEXT"), Column("size", "REAL"), Column("turns")], is_settled=True)
VISIT = Table("visit", [Column("note", "TEXT")], is_log=True)
TABLES = [PUMP, VALVE, VISIT]


@pytest.fixture
def valves(path: Path) -> Iterator[Callable[[], Store]]:
    """Opens stores on the same database, which has one valve."""
    stores: list[Store] = []

    def open_one() -> Store:
        stores.append(schema.open_store(path, TABLES, []))
        return stores[-1]

    yield open_one
    for each in stores:
        each.close()


@pytest.fixture
def store(valves: Callable[[], Store]) -> Store:
    store = valves()
    store.write(lambda tx: tx.insert(VALVE, {"name": "inlet"}))
    return store


def _visit() -> Any:
    return VISIT.sql.insert({VISIT.sql.note: slot(0)})


def _visits(tx: Transaction) -> list[str]:
    return [row[1] for row in tx.find(VISIT)]


def _valve(tx: Transaction) -> tuple[Row | None, Row | None]:
    return tx.get(VALVE, 1), tx.first(VALVE, name="inlet")


def _turn(tx: Transaction) -> None:
    tx.update(VALVE, 1, {"turns": 7})


def _put(tx: Transaction) -> None:
    tx.put(VALVE, {"id": 1, "name": "inlet", "turns": 7})


def _delete_pump(tx: Transaction) -> None:
    tx.delete(PUMP, id=99)


def _fail(tx: Transaction) -> None:
    tx.update(VALVE, 1, {"turns": 8})
    _valve(tx)
    raise ZeroDivisionError


def _fail_in_part(tx: Transaction) -> None:
    with pytest.raises(ZeroDivisionError):
        tx.part(_fail)


TURNED = (1, "inlet", 0.0, 7)


@pytest.mark.parametrize(("change", "becomes"), [
    (_turn, TURNED),
    (_put, TURNED),
    (_delete_pump, (1, "inlet", 0.0, 0)),
    (_fail_in_part, (1, "inlet", 0.0, 0)),
    (lambda tx: tx.delete(VALVE, id=1), None),
])  # fmt: skip
def test_what_is_kept_is_what_there_is(
    store: Store, change: Callable[[Transaction], None], becomes: Row | None
) -> None:
    store.write(_valve)
    store.write(change)
    assert store.write(_valve) == (becomes, becomes) == store.read(_valve)


def test_settled_rows_are_read_once_for_all_of_a_group(store: Store) -> None:
    answers = write_together(store, *[_valve] * 4)
    assert [each.result for each in answers] == [((1, "inlet", 0.0, 0), (1, "inlet", 0.0, 0))] * 4
    assert sum(each.statements for each in answers) <= 2


def test_one_that_fails_leaves_nothing_to_those_behind_it(store: Store) -> None:
    answers = write_together(store, _valve, _fail, _valve)
    assert [each.error is None for each in answers] == [True, False, True]
    assert answers[2].result == store.read(_valve)


def test_what_another_process_wrote_is_seen(store: Store, valves: Callable[[], Store]) -> None:
    other = valves()
    store.write(_valve)
    other.write(_turn)
    assert store.write(_valve) == (TURNED, TURNED)


@pytest.mark.parametrize("values", [
    {"name": "drain", "size": 1.5, "turns": 3},
    {"turns": 2},
    {"name": "öl\n", "size": 2},
    {"name": "a\0b"},
    {"turns": True},
])  # fmt: skip
def test_a_row_that_was_just_added_is_as_if_it_were_read(store: Store, values: dict[str, Any]) -> None:
    def write(tx: Transaction) -> tuple[int, Row | None]:
        id = tx.insert(VALVE, values)
        tx.keep_added(VALVE, id, values)
        return id, tx.get(VALVE, id)

    id, row = store.write(write)
    read = store.read(lambda tx: tx.get(VALVE, id))
    assert row == read
    assert row is not None and read is not None
    assert [type(each) for each in row] == [type(each) for each in read]


def test_rows_of_logs_are_there_for_whoever_looks_and_in_their_order(store: Store) -> None:
    def write(tx: Transaction) -> tuple[list[str], bool]:
        tx.append(_visit, ("first",))
        tx.append(_visit, ("second",))
        seen = _visits(tx)
        with pytest.raises(ZeroDivisionError):
            tx.part(lambda inner: (inner.append(_visit, ("undone",)), 1 // 0))
        tx.append(_visit, ("third",))
        next_id = tx.next_ids(VISIT, 1).start
        return seen, tx.find(VISIT)[-1] == (next_id - 1, "third")

    assert store.write(write) == (["first", "second"], True)
    store.write(lambda tx: tx.append(_visit, ("fourth",)))
    assert store.read(_visits) == ["first", "second", "third", "fourth"]


def test_a_write_that_fails_appends_nothing(store: Store) -> None:
    def wrong(tx: Transaction) -> None:
        tx.append(_visit, ("undone",))
        raise ZeroDivisionError

    answers = write_together(store, lambda tx: tx.append(_visit, ("first",)), wrong, lambda tx: _visits(tx))
    assert [each.error is None for each in answers] == [True, False, True]
    assert answers[2].result == store.read(_visits) == ["first"]


def test_the_next_id_is_the_one_that_comes_next(store: Store) -> None:
    def write(tx: Transaction) -> bool:
        told = [tx.next_ids(PUMP, 1).start]
        got = [tx.insert(PUMP, {"name": "first"})]
        told.append(tx.next_ids(PUMP, 1).start)
        got.append(tx.insert(PUMP, {"name": "second"}))
        tx.run(lambda: PUMP.sql.insert({PUMP.sql.name: "third"}))
        tx.reserve(PUMP, 3)
        told.append(tx.next_ids(PUMP, 1).start)
        got.append(tx.insert(PUMP, {"name": "fourth"}))
        tx.insert(PUMP, {"id": 50, "name": "fifth"})
        tx.delete(PUMP, id=50)
        told.append(tx.next_ids(PUMP, 1).start)
        got.append(tx.insert(PUMP, {"name": "sixth"}))
        return told == got

    answers = write_together(store, write, _fail, write)
    assert [each.result for each in answers] == [True, None, True]
