"""The writer: acknowledged writes are stored, and a failing write does not harm the others of its group."""

import threading
from collections.abc import Callable

import pytest

from server.errors import Conflict, TimedOut, Unavailable
from server.store.database import Store
from server.store.transaction import Transaction
from tests.store.conftest import ENDLESS, PART, PUMP, add_pump, names
from tests.store.group import write_together

THREADS, EACH = 16, 25


def test_every_acknowledged_row_of_many_threads_is_there(store: Store, opened: Callable[..., Store]) -> None:
    acknowledged: dict[int, str] = {}
    rising = []

    def client(number: int) -> None:
        ids = []
        for count in range(EACH):
            name = f"pump {number} {count}"
            ids.append(add_pump(store, name))
            acknowledged[ids[-1]] = name
        rising.append(ids == sorted(ids))

    threads = [threading.Thread(target=client, args=(number,)) for number in range(THREADS)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    store.close()
    rows = opened().read(lambda tx: {row[0]: row[1] for row in tx.find(PUMP)})
    assert rows == acknowledged and len(rows) == THREADS * EACH
    assert sorted(rows) == list(range(1, THREADS * EACH + 1))
    assert rising == [True] * THREADS


def test_writes_that_wait_share_one_commit(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    commits = []
    commit = store.commit
    monkeypatch.setattr(store, "commit", lambda connection: commits.append(1) or commit(connection))
    write_together(store, *[lambda tx, n=n: tx.insert(PUMP, {"name": f"pump {n}"}) for n in range(30)])
    assert len(names(store)) == 30
    assert len(commits) <= 2  # one for the write that blocked the writer, one for the thirty


def test_a_failing_write_leaves_nothing_and_harms_no_other(store: Store) -> None:
    def half(tx: Transaction) -> None:
        tx.insert(PUMP, {"name": "half"})
        raise Conflict("the pump is taken")

    answers = write_together(
        store,
        lambda tx: tx.insert(PUMP, {"name": "first"}),
        half,
        lambda tx: tx.insert(PUMP, {"name": "last"}),
    )
    assert [type(each.error) for each in answers] == [type(None), Conflict, type(None)]
    assert names(store) == ["first", "last"]


def test_a_bug_in_a_write_reaches_only_its_caller(store: Store) -> None:
    with pytest.raises(ZeroDivisionError):
        store.write(lambda tx: 1 // 0)
    assert add_pump(store, "next") == 1


def test_a_broken_rule_of_the_database_fails_its_own_write_only(store: Store) -> None:
    answers = write_together(
        store,
        lambda tx: tx.insert(PUMP, {"name": "first"}),
        lambda tx: tx.insert(PART, {"pump_id": 999, "name": "seal"}),  # refers to a missing pump
        lambda tx: tx.insert(PUMP, {"name": "last"}),
    )
    assert [each.error is None for each in answers] == [True, False, True]
    assert names(store) == ["first", "last"]


def test_a_deleted_id_is_never_used_again(store: Store) -> None:
    first = add_pump(store, "first")
    store.write(lambda tx: tx.delete(PUMP, id=first))
    assert add_pump(store, "second") > first


def test_callbacks_run_after_a_commit_and_never_after_a_failure(store: Store) -> None:
    heard = []

    def good(tx: Transaction) -> None:
        tx.after_commit(lambda: heard.append(names(store)))
        tx.insert(PUMP, {"name": "good"})

    def bad(tx: Transaction) -> None:
        tx.after_commit(lambda: heard.append(["bad"]))
        raise Conflict("no")

    write_together(store, good, bad)
    assert heard == [["good"]]


def test_a_callback_that_raises_does_not_stop_the_writer(store: Store) -> None:
    store.write(lambda tx: tx.after_commit(lambda: 1 // 0))
    assert add_pump(store, "next") == 1


def test_a_write_inside_a_write_is_a_part_of_it(store: Store) -> None:
    def outer(tx: Transaction) -> list[int]:
        tx.insert(PUMP, {"name": "outer"})
        store.write(lambda inner: inner.insert(PUMP, {"name": "inner"}))
        return names(store)

    assert store.write(outer) == ["outer", "inner"]  # a read inside the write sees its changes so far


def test_a_write_inside_a_failing_write_leaves_nothing(store: Store) -> None:
    def outer(tx: Transaction) -> None:
        store.write(lambda inner: inner.insert(PUMP, {"name": "inner"}))
        raise Conflict("no")

    with pytest.raises(Conflict):
        store.write(outer)
    assert names(store) == []


def test_a_part_that_fails_leaves_nothing_when_the_write_goes_on(store: Store) -> None:
    heard = []

    def inner(tx: Transaction) -> None:
        tx.insert(PUMP, {"name": "inner"})
        tx.after_commit(lambda: heard.append("inner"))
        raise Conflict("no")

    def outer(tx: Transaction) -> None:
        tx.insert(PUMP, {"name": "before"})
        with pytest.raises(Conflict):
            store.write(inner)
        store.write(lambda part: part.insert(PUMP, {"name": "after"}))

    store.write(outer)
    assert names(store) == ["before", "after"] and heard == []


def test_a_full_queue_asks_to_come_back(opened: Callable[..., Store]) -> None:
    store = opened(queue_limit=3)
    held, go = threading.Event(), threading.Event()
    done = threading.Semaphore(0)

    def hold(tx: Transaction) -> None:
        held.set()
        assert go.wait(30)

    store.submit(hold, lambda pending: done.release())
    assert held.wait(30)
    for number in range(3):
        store.submit(lambda tx, n=number: tx.insert(PUMP, {"name": f"{n}"}), lambda pending: done.release())
    assert store.writes_waiting == 3
    with pytest.raises(Unavailable, match="3 writes are waiting") as refused:
        add_pump(store, "too many")
    assert refused.value.details["retry_after"] >= 1
    go.set()
    for _ in range(4):
        assert done.acquire(timeout=30)
    assert names(store) == ["0", "1", "2"]
    assert add_pump(store, "later")


def test_an_endless_write_is_cut_and_the_others_of_its_group_go_through(opened: Callable[..., Store]) -> None:
    store = opened(read_seconds=0.2)
    answers = write_together(
        store,
        lambda tx: tx.insert(PUMP, {"name": "first"}),
        lambda tx: tx.connection.execute(f"INSERT INTO pump (name) {ENDLESS} 'x' FROM n"),
        lambda tx: tx.insert(PUMP, {"name": "last"}),
    )
    assert [type(each.error) for each in answers] == [type(None), TimedOut, type(None)]
    assert names(store) == ["first", "last"]


def test_a_closing_store_finishes_what_waits_and_takes_nothing_more(store: Store, opened: Callable[..., Store]) -> None:
    held, go = threading.Event(), threading.Event()

    def hold(tx: Transaction) -> None:
        held.set()
        assert go.wait(30)

    store.submit(hold, lambda pending: None)
    assert held.wait(30)
    for number in range(5):
        store.submit(lambda tx, n=number: tx.insert(PUMP, {"name": f"{n}"}), lambda pending: None)
    closing = threading.Thread(target=store.close)
    closing.start()
    go.set()
    closing.join()
    with pytest.raises(Unavailable):
        add_pump(store, "too late")
    with pytest.raises(Unavailable):
        names(store)
    assert names(opened()) == ["0", "1", "2", "3", "4"]


def test_a_rehearsal_returns_its_result_and_writes_nothing(store: Store) -> None:
    assert store.rehearse(lambda tx: tx.insert(PUMP, {"name": "rehearsed"})) == 1
    assert names(store) == []

    def outer(tx: Transaction) -> list[int]:
        tx.insert(PUMP, {"name": "outer"})
        return store.rehearse(lambda part: [part.insert(PUMP, {"name": "inner"}), len(part.find(PUMP))])

    assert store.write(outer)[1] == 2
    assert names(store) == ["outer"], "only the rehearsal is undone"
    with pytest.raises(Conflict):
        store.rehearse(_refuse)


def _refuse(tx: Transaction) -> None:
    raise Conflict("the pump is taken")
