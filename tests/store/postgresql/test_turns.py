"""A turn to write reuses the rows of the previous turn, and never uses one that is out of date."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from server.store import schema
from server.store.database import Store
from server.store.postgresql.connection import MAX_HELD
from server.store.tables import Column, Table
from server.store.transaction import Transaction
from tests.store.conftest import path
from tests.store.group import write_together

__all__ = ["path"]

VALVE = Table("valve", [Column("name", "TEXT"), Column("place", "TEXT", default="cellar")], is_settled=True)
TURNS = 1000  # repeated until no other transaction interferes
NOTE = Table("note", [Column("valve_id", references="valve(id)")])


@pytest.fixture
def opened(path: Path) -> Iterator[Callable[[], Any]]:
    """Opens stores on one database."""
    stores: list[Store] = []

    def open_one() -> Store:
        stores.append(schema.open_store(path, [VALVE, NOTE], []))
        return stores[-1]

    yield open_one
    for each in stores:
        each.close()


@pytest.fixture
def store(opened: Callable[[], Any]) -> Any:
    return opened()


@contextmanager
def beside(store: Any) -> Iterator[Any]:
    """A connection that claims no turn; its writes are committed at the end."""
    with psycopg.connect(store.address) as connection:
        yield connection


def added(store: Store) -> int:
    return store.write(lambda tx: tx.insert(VALVE, {"name": "valve"}))


def place(store: Store, id: int) -> tuple[str, int]:
    """The place of a valve as a write reads it, and the number of statements that this took."""

    def ask(tx: Transaction) -> tuple[str, int]:
        tx.insert(NOTE, {"valve_id": id})
        before = tx.statements
        row = tx.get(VALVE, id)
        assert row is not None
        return row[2], tx.statements - before

    return store.write(ask)


def known_place(store: Store, id: int) -> str:
    """The place of a valve that a turn knows without a statement. A transaction of any other database on the server
    makes it read again, so several turns may be necessary."""
    places = (place(store, id) for _ in range(TURNS))
    return next(text for text, statements in places if statements == 0)


def test_a_turn_knows_what_the_last_one_has_read_and_written(store: Store) -> None:
    id = added(store)
    assert place(store, id) == ("cellar", 1)
    assert known_place(store, id) == "cellar"
    store.write(lambda tx: tx.set(VALVE, id, {"place": "roof"}))
    assert place(store, id) == ("roof", 1)
    assert known_place(store, id) == "roof"


def test_it_knows_nothing_after_somebody_else_has_written(store: Store) -> None:
    id = added(store)
    place(store, id)
    with beside(store) as other:
        other.execute("UPDATE valve SET place = 'attic'")
    assert place(store, id) == ("attic", 1)
    assert known_place(store, id) == "attic"


def test_nor_where_somebody_has_begun_before_the_last_turn_and_ended_after_it(store: Store) -> None:
    id = added(store)
    with beside(store) as other:
        other.execute("UPDATE valve SET place = 'attic' WHERE id = %s", (id,))  # has the lower transaction number
        assert store.write(lambda tx: (tx.insert(VALVE, {"name": "next"}), (tx.get(VALVE, id) or "")[2]))[1] == "cellar"
    assert place(store, id) == ("attic", 1)


def test_what_somebody_begins_meanwhile_is_seen_when_it_has_ended(store: Store) -> None:
    id = added(store)
    with beside(store) as other:

        def write(tx: Transaction) -> None:
            tx.update(VALVE, tx.insert(VALVE, {"name": "next"}), {"place": "yard"})  # has the lower transaction number
            other.execute("UPDATE valve SET place = 'attic' WHERE id = %s", (id,))
            tx.get(VALVE, id)

        store.write(write)
    assert place(store, id) == ("attic", 1)


def test_nothing_is_known_of_a_turn_that_failed(store: Store) -> None:
    id = added(store)

    def wrong(tx: Transaction) -> None:
        tx.set(VALVE, id, {"place": "nowhere"})
        assert (tx.get(VALVE, id) or "")[2] == "nowhere"
        tx.insert(NOTE, {"valve_id": 999})

    failed, seen = write_together(store, wrong, lambda tx: (tx.get(VALVE, id) or "")[2])
    assert failed.error is not None and seen.result == "cellar"
    assert place(store, id)[0] == "cellar"


def test_ids_that_another_has_given_are_not_given_again(opened: Callable[[], Any]) -> None:
    one, two = opened(), opened()
    ids = [added(each) for each in (one, one, two, two, one, two)]
    assert ids == list(range(ids[0], ids[0] + 6))
    with beside(one) as other:
        [(given,)] = other.execute("INSERT INTO valve (name) VALUES ('by hand') RETURNING id").fetchall()
    assert given == ids[-1] + 1 and added(two) == given + 1


def test_an_id_that_was_set_is_the_next_one(store: Store) -> None:
    id = added(store)
    store.write(lambda tx: (tx.insert(NOTE, {"valve_id": id}), tx.set_next_id(VALVE, 77)))
    assert [added(store), added(store)] == [77, 78]


def test_a_turn_that_changes_tables_leaves_nothing_that_is_known(store: Store) -> None:
    id = added(store)
    place(store, id)

    def define(tx: Transaction) -> None:
        tx.connection.execute("ALTER TABLE valve ALTER COLUMN place SET DEFAULT 'yard'")
        tx.connection.execute("UPDATE valve SET place = 'yard'")
        tx.insert(NOTE, {"valve_id": id})

    store.write(define)
    assert place(store, id) == ("yard", 1)


@pytest.mark.parametrize("number", [MAX_HELD, 3 * MAX_HELD])
def test_a_turn_is_idle_when_what_it_has_sent_is_done(store: Any, number: int) -> None:
    """PostgreSQL can then end the session of a process that hangs."""

    def write(tx: Transaction) -> None:
        id = tx.connection.execute("SELECT pg_backend_pid()")[0][0]
        for _ in range(number):
            tx.add_later(VALVE, {"name": "valve"})
        with beside(store) as other:
            other.autocommit = True
            while other.execute(
                "SELECT state FROM pg_stat_activity WHERE pid = %s AND query LIKE 'INSERT%%'", (id,)
            ).fetchall() != [("idle in transaction",)]:
                pass

    store.write(write)
    assert store.read(lambda tx: len(tx.find(VALVE))) == number
