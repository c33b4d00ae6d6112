"""Small reads on threads of the store: they share snapshots, and slow reads restart on another thread."""

import threading
from collections.abc import Callable
from typing import Any

import peewee
import pytest

from server.errors import Conflict
from server.store.database import OutOfSteps, PendingRead, Store
from server.store.postgresql.small_reads import SHARED, THREADS
from server.store.statements import slot
from tests.store.conftest import PUMP, add_pump, names


def _read(store: Store, *works: Callable[[], Any]) -> list[PendingRead]:
    """Submits these reads and returns their results in order."""
    found: dict[int, PendingRead] = {}
    left = threading.Semaphore(0)

    def done_at(place: int) -> Callable[[PendingRead], None]:
        def done(pending: PendingRead) -> None:
            found[place] = pending
            left.release()

        return done

    for place, work in enumerate(works):
        store.submit_read(work, done_at(place))
    for _ in works:
        assert left.acquire(timeout=60)
    return [found[place] for place in range(len(works))]


def _moment(store: Store) -> tuple[str, list[str]]:
    """The snapshot of a read, and the rows that it sees."""
    text = "SELECT pg_backend_pid() || ' ' || extract(epoch from now())"
    return store.read(lambda tx: (tx.connection.execute(text)[0][0], [row[1] for row in tx.find(PUMP)]))


class Held:
    """Keeps all threads for small reads busy until `go` is set."""

    def __init__(self, store: Store) -> None:
        self.go = threading.Event()
        held = threading.Semaphore(0)

        def hold() -> None:
            held.release()
            assert self.go.wait(60)

        for _ in range(THREADS):
            store.submit_read(hold, lambda pending: None)
        for _ in range(THREADS):
            assert held.acquire(timeout=60)


def test_those_that_wait_share_a_snapshot_that_is_taken_after_all_have_come(store: Store) -> None:
    held = Held(store)
    found: list[tuple[str, list[str]]] = []
    left = threading.Semaphore(0)

    def done(pending: PendingRead) -> None:
        found.append(pending.result)
        left.release()

    for _ in range(SHARED):
        store.submit_read(lambda: _moment(store), done)
    add_pump(store, "late")
    held.go.set()
    for _ in range(SHARED):
        assert left.acquire(timeout=60)
    assert all(seen == ["late"] for _, seen in found)
    assert len({moment for moment, _ in found}) <= THREADS


def test_all_reads_of_one_see_the_same(store: Store) -> None:
    def twice() -> tuple[Any, Any]:
        first = _moment(store)
        adding = threading.Thread(target=add_pump, args=(store, "meanwhile"))
        adding.start()
        adding.join(60)
        return first, _moment(store)

    first, second = _read(store, twice)[0].result
    assert first == second == (first[0], [])
    assert _read(store, lambda: names(store))[0].result == ["meanwhile"]


def test_an_error_of_one_is_its_own(store: Store) -> None:
    def fail() -> None:
        raise Conflict("the pump is taken")

    def wrong() -> None:
        store.read(lambda tx: tx.connection.execute("SELECT 1 / 0"))

    held = Held(store)
    add_pump(store, "pump")
    held.go.set()
    ends = _read(store, lambda: names(store), fail, wrong, lambda: names(store))
    assert [type(each.error).__name__ for each in ends] == ["NoneType", "Conflict", "DivisionByZero", "NoneType"]
    assert ends[0].result == ends[3].result == ["pump"]


def test_what_takes_long_is_for_another_thread_and_is_known_for_a_while(store: Store) -> None:
    add_pump(store, "pump")

    def long() -> None:
        store.read(lambda tx: tx.rows(lambda: PUMP.sql.select(peewee.fn.pg_sleep(slot(0))), (600,)))

    assert isinstance(_read(store, long)[0].error, OutOfSteps)
    assert _read(store, lambda: names(store))[0].error is None
    known = store._small.slow  # type: ignore[attr-defined]
    assert len(known) == 1
    ends = _read(store, *[long] * 20)
    assert all(isinstance(each.error, OutOfSteps) for each in ends)


@pytest.mark.parametrize("long", ["seconds", "write", "thread"])
def test_what_is_no_small_read_is_for_another_thread(store: Store, long: str) -> None:
    works: dict[str, Callable[[], Any]] = {
        "seconds": lambda: store.read(lambda tx: 1, seconds=60),
        "write": lambda: add_pump(store, "never"),
        "thread": lambda: store.read(lambda tx: store.require_thread()),
    }
    assert isinstance(_read(store, works[long])[0].error, OutOfSteps)
    assert names(store) == []


def test_connections_that_are_cut_are_made_again(store: Store) -> None:
    for _ in range(3):
        _read(store, *[lambda: names(store)] * 8)
        store.read(
            lambda tx: tx.connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name LIKE 'helpdesk r%'"
            )
        )
        assert [each.error for each in _read(store, *[lambda: names(store)] * 8)] == [None] * 8


def test_closing_finishes_what_waits(store: Store) -> None:
    held = Held(store)
    found: list[PendingRead] = []
    for _ in range(20):
        store.submit_read(lambda: names(store), found.append)
    closing = threading.Thread(target=store.close)
    closing.start()
    held.go.set()
    closing.join(60)
    assert len(found) == 20
