"""What a turn to write knows without asking, and that nobody is told by it what is not so any more."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from server.store import schema
from server.store.database import Store
from server.store.postgresql.kept_rows import MAX_KEPT, MAX_SIZE, as_stored
from server.store.statements import slot
from server.store.tables import Column, Table
from server.store.transaction import Row, Transaction
from tests.store.conftest import LETTER, PART, PUMP, opened, path, store
from tests.store.group import write_together

__all__ = ["opened", "path", "store"]

PLACE = PUMP.position["place"]


@contextmanager
def beside(store: Any) -> Iterator[Any]:
    """A connection of somebody who takes no turn."""
    with psycopg.connect(store.address) as connection:
        yield connection


def pump(name: str, **values: Any) -> Callable[[Transaction], int]:
    return lambda tx: tx.insert(PUMP, {"name": name, **values})


def known(store: Store, id: int) -> tuple[Row | None, int]:
    """What a write is told of a pump, and by how many statements."""

    def ask(tx: Transaction) -> tuple[Row | None, int]:
        before = tx.statements
        row = tx.get(PUMP, id)
        tx.set(PUMP, id, {"manual": b"seen"})  # turns that write nothing tell nothing about the next one
        return row, tx.statements - before - 1

    return store.write(ask)


EVERY = Table(
    "every",
    [
        Column("whole"), Column("real", "REAL"), Column("text", "TEXT"), Column("nocase", "TEXT", nocase=True),
        Column("bytes", "BLOB"), Column("any", "ANY"), Column("none", "TEXT", null=True),
        Column("given", "TEXT", default="given"), Column("flag", default=True),
    ],
)  # fmt: skip


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"whole": True, "real": 3, "text": "a\0b", "nocase": "Ab", "bytes": b"\0\xff", "any": "x", "none": "é"},
        {"whole": -(2**63), "real": 0.1 + 0.2, "flag": False, "none": None, "given": ""},
        {"real": 2**60 + 1, "bytes": b""},
    ],
)  # fmt: skip
def test_a_row_is_kept_as_postgresql_has_it(path: Path, values: dict[str, Any]) -> None:
    every = schema.open_store(path, [EVERY], [])
    try:
        kept = every.write(lambda tx: tx.get(EVERY, tx.insert(EVERY, values)))
        assert kept is not None and kept == every.read(lambda tx: tx.get(EVERY, kept[0]))
        assert list(map(type, kept)) == list(map(type, every.read(lambda tx: tx.get(EVERY, kept[0])) or ()))
    finally:
        every.close()


@pytest.mark.parametrize("values", [{"whole": 1.5}, {"text": 3}, {"bytes": "text"}, {"whole": None}, {"any": 3}])
def test_a_value_of_another_kind_is_asked_for(values: dict[str, Any]) -> None:
    assert as_stored(EVERY, {"id": 1, **values}) is None


def test_writes_of_a_turn_share_what_they_read_and_wrote(store: Store) -> None:
    first = store.write(pump("first"))
    asked: list[int] = []

    def look(tx: Transaction) -> list[Row]:
        before = tx.statements
        found = [*tx.find(PUMP, name="first"), tx.get(PUMP, first)]
        asked.append(tx.statements - before)
        return [row for row in found if row is not None]

    answers = write_together(store, look, look, lambda tx: tx.set(PUMP, first, {"place": "roof"}), look)
    assert asked == [2, 0, 1] and [len(each.result) for each in answers[:2]] == [2, 2]
    assert [row[PLACE] for row in answers[3].result] == ["roof", "roof"]


def test_the_next_turn_knows_what_the_last_one_has_left(store: Store) -> None:
    id = store.write(pump("first"))
    assert known(store, id)[1] == 0
    store.write(lambda tx: tx.set(PUMP, id, {"place": "roof"}))
    row, asked = known(store, id)
    assert row is not None and row[PLACE] == "roof" and asked == 0


def test_what_somebody_else_has_written_is_seen(store: Store) -> None:
    id = store.write(pump("first"))
    with beside(store) as other:
        other.execute("UPDATE pump SET place = 'attic' WHERE id = %s", (id,))
    row, _ = known(store, id)
    assert row is not None and row[PLACE] == "attic"


def test_so_is_what_was_begun_before_and_ended_after_the_last_turn(store: Store) -> None:
    id = store.write(lambda tx: tx.insert(LETTER, {"text": b"first"}))
    with beside(store) as other:
        other.execute("UPDATE letter SET text = 'second' WHERE id = %s", (id,))  # has the earlier number
        assert store.write(lambda tx: (tx.insert(PUMP, {"name": "pump"}), tx.get(LETTER, id)))[1] == (id, b"first")
    assert store.write(lambda tx: tx.get(LETTER, id)) == (id, b"second")


def test_ids_that_another_process_has_given_are_not_given_again(opened: Callable[..., Store]) -> None:
    one, two = opened(), opened()
    ids = [each.write(pump("pump")) for each in (one, one, two, two, one, two)]
    assert ids == list(range(ids[0], ids[0] + 6))
    with beside(one) as other:
        [(given,)] = other.execute("INSERT INTO pump (name) VALUES ('by hand') RETURNING id").fetchall()
    assert given == ids[-1] + 1 and two.write(pump("pump")) == given + 1


def _delete(tx: Transaction, id: int) -> None:
    tx.delete(PUMP, id=id)


def _update(tx: Transaction, id: int) -> None:
    tx.update(PUMP, id, {"place": "roof"})


def _put(tx: Transaction, id: int) -> None:
    tx.put(PUMP, {"id": id, "name": "put"})


def _many(tx: Transaction, id: int) -> None:
    tx.run_many(lambda: PUMP.sql.update({PUMP.sql.place: slot(0)}), [("a",), ("b",)])


def _raw(tx: Transaction, id: int) -> None:
    tx.connection.execute("UPDATE pump SET place = 'raw'")


def _whole(tx: Transaction, id: int) -> None:
    tx.delete(PUMP, id=id)
    tx.add_whole(PUMP, [(id, "whole", 1, "yard", b"")])


def _undone(tx: Transaction, id: int) -> None:
    with pytest.raises(ValueError, match="undone"):
        tx.part(lambda inner: (inner.set(PUMP, id, {"place": "undone"}), _fail("undone")))


def _fail(why: str) -> None:
    raise ValueError(why)


@pytest.mark.parametrize("change", [_delete, _update, _put, _many, _raw, _whole, _undone])
def test_a_write_is_told_what_it_has_changed(store: Store, change: Callable[[Transaction, int], None]) -> None:
    id = store.write(pump("first"))
    store.write(lambda tx: tx.insert(PART, {"pump_id": id, "name": "seal"}))

    def write(tx: Transaction) -> tuple[Any, ...]:
        tx.get(PUMP, id), tx.find(PUMP, name="first"), tx.find(PART, pump_id=id)
        change(tx, id)
        return tx.get(PUMP, id), tx.find(PUMP), tx.find(PART, pump_id=id)

    told = store.write(write)
    assert told == store.read(lambda tx: (tx.get(PUMP, id), tx.find(PUMP), tx.find(PART, pump_id=id)))


def test_nothing_is_known_of_a_write_that_failed(store: Store) -> None:
    id = store.write(pump("first"))

    def wrong(tx: Transaction) -> None:
        tx.set(PUMP, id, {"place": "nowhere"})
        tx.insert(PART, {"pump_id": 999})

    failed, seen = write_together(store, wrong, lambda tx: tx.get(PUMP, id))
    assert failed.error is not None and seen.result[PLACE] == "cellar"
    row, _ = known(store, id)
    assert row is not None and row[PLACE] == "cellar"


def test_counts_that_triggers_keep_are_asked_for(store: Store) -> None:
    def write(tx: Transaction) -> list[list[Row]]:
        found = []
        for name in ("first", "second"):
            tx.insert(PUMP, {"name": name})
            found.append(tx.find(PUMP.summary_table))
        return found

    assert [rows[0][-1] for rows in store.write(write)] == [1, 2]


def test_little_is_kept(store: Any) -> None:
    large = "x" * (MAX_SIZE + 1)

    def write(tx: Transaction) -> int:
        ids = [tx.insert(PUMP, {"name": f"pump {number}"}) for number in range(MAX_KEPT + 5)]
        tx.set(PUMP, ids[-1], {"place": large})
        assert tx.get(PUMP, ids[-1]) == tx.find(PUMP, name=f"pump {MAX_KEPT + 4}")[0]
        assert tx.get(PUMP, ids[0]) is not None
        return len(tx.connection.kept.rows(PUMP))

    assert store.write(write) < 10
