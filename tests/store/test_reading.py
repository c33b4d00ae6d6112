"""Readers: one snapshot each, unable to write, limited in time and steps."""

import threading
from collections.abc import Callable

import apsw
import psycopg
import pytest

from server.errors import Damaged, TimedOut
from server.store.database import OutOfSteps, Store
from server.store.sqlite import MAX_FREE, MAX_WARM
from server.store.statement_shapes import keyed
from server.store.statements import slot
from server.store.transaction import MAX_QUICK_VALUES, Transaction
from tests.store.conftest import ENDLESS, PUMP, add_pump, names


def _endless(tx: Transaction) -> int:
    return tx.connection.execute(f"{ENDLESS} count(*) FROM n").fetchone()[0]


def test_a_reader_cannot_write(store: Store) -> None:
    """It still cannot after a first refusal."""
    add_pump(store, "stays")
    for _ in range(2):
        with pytest.raises((Damaged, psycopg.errors.ReadOnlySqlTransaction)):
            store.read(lambda tx: tx.connection.execute("DELETE FROM pump"))
    assert names(store) == ["stays"]


def test_a_write_through_a_read_transaction_is_refused(store: Store) -> None:
    add_pump(store, "stays")
    with pytest.raises(Exception, match=r"cannot be written|the transaction was dropped"):
        store.read(lambda tx: tx.delete(PUMP, id=1))
    assert names(store) == ["stays"]


def test_a_read_sees_one_moment_whatever_is_written_meanwhile(store: Store) -> None:
    add_pump(store, "before")

    def work(tx: Transaction) -> tuple[int, int]:
        first = len(tx.find(PUMP))
        writing = threading.Thread(target=add_pump, args=(store, "meanwhile"))
        writing.start()
        writing.join()
        return first, len(tx.find(PUMP))

    assert store.read(work) == (1, 1)
    assert names(store) == ["before", "meanwhile"]


def test_an_endless_read_is_cut_and_others_are_served_meanwhile(opened: Callable[..., Store]) -> None:
    store = opened(read_seconds=1.0)
    add_pump(store, "steady")
    begun = threading.Event()
    ended: list[BaseException] = []

    def slow(tx: Transaction) -> int:
        begun.set()
        return _endless(tx)

    def client() -> None:
        try:
            store.read(slow)
        except TimedOut as error:
            ended.append(error)

    thread = threading.Thread(target=client)
    thread.start()
    assert begun.wait(30)
    assert names(store) == ["steady"] and not ended
    assert add_pump(store, "written meanwhile") and not ended
    thread.join()
    assert len(ended) == 1 and "narrow it down" in str(ended[0])


def test_a_thread_reads_again_after_its_read_was_cut(opened: Callable[..., Store]) -> None:
    store = opened(read_seconds=0.05)
    with pytest.raises(TimedOut):
        store.read(_endless)
    assert names(store) == []


def test_a_read_beyond_its_steps_is_given_up_and_can_be_started_again(store: Store) -> None:
    store.write(lambda tx: [tx.insert(PUMP, {"name": f"pump {n}"}) for n in range(2000)])
    with pytest.raises(OutOfSteps):
        store.read(lambda tx: len(tx.find(PUMP)), steps=2000)
    assert store.read(lambda tx: len(tx.find(PUMP))) == 2000


@pytest.mark.sqlite("what runs on the event loop")
def test_a_small_read_stays_within_its_steps(store: Store) -> None:
    id = add_pump(store, "small")
    row = store.read(lambda tx: tx.get(PUMP, id), steps=2000)
    assert row == (id, "small", 0, "cellar", b"")


@pytest.mark.sqlite("what runs on the event loop")
def test_steps_of_one_read_do_not_count_for_the_next(store: Store) -> None:
    store.write(lambda tx: [tx.insert(PUMP, {"name": f"pump {n}"}) for n in range(500)])
    for _ in range(20):
        assert store.read(lambda tx: len(tx.find(PUMP)), steps=20_000) == 500


def test_a_statement_with_many_values_is_not_for_the_event_loop(store: Store) -> None:
    """Building and compiling such a statement takes time in which SQLite counts no steps."""

    def work(tx: Transaction) -> int:
        values = list(range(MAX_QUICK_VALUES + 1))
        return len(tx.rows(
            keyed(lambda: PUMP.sql.select().where(PUMP.sql.id.in_([slot(place) for place in values]))), values
        ))  # fmt: skip

    with pytest.raises(OutOfSteps):
        store.read(work, steps=1_000_000)
    assert store.read(work) == 0


def test_a_read_over_its_time_begins_no_other_statement(opened: Callable[..., Store]) -> None:
    store = opened()
    done: list[int] = []

    def work(tx: Transaction) -> None:
        done.append(len(tx.find(PUMP)))
        store._local.deadline = 0  # as if the code between two statements had been slow
        done.append(len(tx.find(PUMP)))

    with pytest.raises(TimedOut):
        store.read(work)
    assert done == [0] and names(store) == []


def test_an_error_inside_a_read_leaves_the_connection_usable(store: Store) -> None:
    with pytest.raises(ZeroDivisionError):
        store.read(lambda tx: 1 // 0)
    assert names(store) == []


def test_statements_of_a_transaction_are_counted(store: Store) -> None:
    def work(tx: Transaction) -> int:
        tx.get(PUMP, 1)
        tx.get_many(PUMP, [1, 2, 3])
        tx.find(PUMP, name="x")
        return tx.statements

    assert store.read(work) == 3


def test_a_read_that_was_interrupted_leaves_its_connection_as_it_was(store: Store) -> None:
    """SQLite continues to count steps while a read ends, so the progress check may run there."""
    for number in range(300):

        def shifted(tx: Transaction, number: int = number) -> int:
            for _ in range(number):
                tx.connection.execute("SELECT 1").fetchall()
            return _endless(tx)

        with pytest.raises(OutOfSteps):
            store.read(shifted, steps=2000)
        assert store.read(lambda tx: tx.connection.execute("SELECT 1").fetchone()) == (1,)


@pytest.mark.sqlite("connections to the file")
def test_connections_of_many_readers_at_once_are_not_all_kept(store: Store) -> None:
    add_pump(store, "first", manual=b"x" * 20_000)
    together = threading.Barrier(MAX_FREE + 8)

    def reader() -> None:
        store.read(lambda tx: (tx.find(PUMP, place="cellar"), together.wait(30)))

    threads = [threading.Thread(target=reader) for _ in range(MAX_FREE + 8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(30)
    assert len(store._free) == MAX_FREE and len(store._connections) == MAX_FREE + 1
    cached = [each.status(apsw.SQLITE_DBSTATUS_CACHE_USED)[0] for each in store._free]
    assert min(cached[:MAX_WARM]) > max(cached[MAX_WARM:])
