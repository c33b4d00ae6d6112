"""A full database: the write that needs room fails cleanly, other writes and all reads succeed, and the service
recovers once there is room."""

import contextlib
from collections.abc import Callable
from typing import Any

import pytest

from server.errors import Full
from server.store.database import Store
from server.store.transaction import Transaction
from tests.store.conftest import LETTER, PART, PUMP, add_pump, names
from tests.store.group import write_together

pytestmark = pytest.mark.sqlite("no room for the file")

ROOM_PAGES = 60
BIG = bytes(2 * ROOM_PAGES * 4096)


@pytest.fixture
def small(opened: Callable[..., Store]) -> Store:
    """A store with room for some pumps, not for BIG."""
    opened().close()
    store = opened()
    pages = store.read(lambda tx: tx.connection.execute("PRAGMA page_count").fetchone()[0])
    store.close()
    return opened(max_pages=pages + ROOM_PAGES)


class Counted:
    """A write that counts its runs."""

    def __init__(self, write: Callable[[Transaction], Any]) -> None:
        self.write, self.runs = write, 0

    def __call__(self, tx: Transaction) -> Any:
        self.runs += 1
        return self.write(tx)


def test_the_write_without_room_fails_alone(small: Store) -> None:
    first = Counted(lambda tx: tx.insert(PUMP, {"name": "first"}))
    big = Counted(lambda tx: tx.insert(PUMP, {"name": "big", "manual": BIG}))
    last = Counted(lambda tx: tx.insert(PUMP, {"name": "last"}))
    answers = write_together(small, first, big, last)
    assert [type(each.error) for each in answers] == [type(None), Full, type(None)]
    assert names(small) == ["first", "last"]
    assert [answers[0].result, answers[2].result] == [1, 2]


def test_the_others_are_run_again_when_the_whole_group_is_dropped(small: Store) -> None:
    # For a statement that changes one row of one table SQLite writes no statement journal and drops the whole
    # transaction.
    first = Counted(lambda tx: tx.insert(LETTER, {"text": b"first"}))
    big = Counted(lambda tx: tx.insert(LETTER, {"text": BIG}))
    last = Counted(lambda tx: tx.insert(LETTER, {"text": b"last"}))
    answers = write_together(small, first, big, last)
    assert [type(each.error) for each in answers] == [type(None), Full, type(None)]
    assert [row[1] for row in small.read(lambda tx: tx.find(LETTER))] == [b"first", b"last"]
    # Without savepoints, with them, and alone; only then is the last write reached.
    assert [first.runs, big.runs, last.runs] == [3, 3, 1]
    assert [answers[0].result, answers[2].result] == [1, 2]


def test_a_write_is_run_once_when_nothing_goes_wrong(small: Store) -> None:
    writes = [Counted(lambda tx: tx.insert(PUMP, {"name": "a"})) for _ in range(8)]
    write_together(small, *writes)
    assert [each.runs for each in writes] == [1] * 8


def test_a_write_that_fails_before_it_changed_anything_makes_nobody_run_again(small: Store) -> None:
    def refused(tx: Transaction) -> None:
        tx.find(PUMP, name="a")
        raise ValueError("refused")

    before, bad, after = (Counted(lambda tx: tx.insert(PUMP, {"name": "a"})), Counted(refused),
                          Counted(lambda tx: tx.insert(PUMP, {"name": "b"})))  # fmt: skip
    answers = write_together(small, before, bad, after)
    assert [type(each.error) for each in answers] == [type(None), ValueError, type(None)]
    assert [before.runs, bad.runs, after.runs] == [1, 1, 1]
    assert [row[1] for row in small.read(lambda tx: tx.find(PUMP))] == ["a", "b"]


def test_a_write_that_fails_half_way_leaves_nothing_and_the_others_whole(small: Store) -> None:
    def half(tx: Transaction) -> None:
        tx.insert(PUMP, {"name": "half"})
        raise ValueError("half way")

    def tables(tx: Transaction) -> None:
        tx.connection.execute("CREATE TABLE half (id INTEGER)")
        raise ValueError("half way")

    good = Counted(lambda tx: tx.insert(PUMP, {"name": "good"}))
    answers = write_together(small, good, half, tables)
    assert [type(each.error) for each in answers] == [type(None), ValueError, ValueError]
    assert good.runs == 2
    assert [row[1] for row in small.read(lambda tx: tx.find(PUMP))] == ["good"]
    assert not small.read(lambda tx: tx.connection.execute("SELECT 1 FROM sqlite_master WHERE name='half'").fetchall())


def test_callbacks_of_a_write_that_was_run_twice_run_once(small: Store) -> None:
    heard: list[str] = []

    def first(tx: Transaction) -> None:
        tx.insert(LETTER, {"text": b"first"})
        tx.after_commit(lambda: heard.append("first"))

    def big(tx: Transaction) -> None:
        tx.after_commit(lambda: heard.append("big"))
        tx.insert(LETTER, {"text": BIG})

    write_together(small, first, big)
    assert heard == ["first"]


def test_a_write_that_goes_on_after_want_of_room_is_not_half_done(small: Store) -> None:
    def careless(tx: Transaction) -> None:
        tx.insert(PUMP, {"name": "before"})
        with contextlib.suppress(Exception):
            small.write(lambda part: part.insert(LETTER, {"text": BIG}))
        tx.insert(PUMP, {"name": "after"})

    with pytest.raises(Full):
        small.write(careless)
    assert names(small) == [] and add_pump(small, "next")


def test_a_full_disk_is_reported_with_retry_after(small: Store) -> None:
    with pytest.raises(Full, match="disk of the database is full") as full:
        add_pump(small, "big", manual=BIG)
    assert full.value.details["retry_after"] >= 1


def test_nothing_of_a_write_without_room_stays(small: Store) -> None:
    def pump_with_parts(tx: Transaction) -> None:
        pump_id = tx.insert(PUMP, {"name": "with parts"})
        tx.insert(PART, {"pump_id": pump_id, "name": "seal"})
        tx.insert(PUMP, {"name": "big", "manual": BIG})

    with pytest.raises(Full):
        small.write(pump_with_parts)
    assert names(small) == []
    assert small.read(lambda tx: tx.find(PART)) == []
    assert small.check() == []


def test_a_full_database_is_read_and_takes_writes_again_when_there_is_room(small: Store) -> None:
    ids = []
    with pytest.raises(Full):
        for number in range(10_000):
            ids.append(add_pump(small, f"pump {number}", manual=bytes(9000)))
    assert len(names(small)) == len(ids) > 3
    with pytest.raises(Full):
        add_pump(small, "one more", manual=bytes(9000))
    for id in ids[:5]:
        small.write(lambda tx, id=id: tx.delete(PUMP, id=id))
    assert add_pump(small, "one more", manual=bytes(9000))
    assert small.check() == []
