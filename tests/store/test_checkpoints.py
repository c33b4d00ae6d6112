"""Checkpoints of the write-ahead log: they run during reads and writes, and the log restarts although a reader is
always active."""

import threading
from pathlib import Path

import pytest

from server.store import checkpoints
from server.store.sqlite import SqliteStore
from server.store.transaction import Transaction

pytestmark = pytest.mark.sqlite("of the log of a file")
PAGES, PAGE_BYTES, READERS, WRITES, MOST_WRITES = 200, 4096, 3, 150, 5000
LONG = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000) SELECT count(*) FROM n"


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SqliteStore:
    monkeypatch.setattr(checkpoints, "LOG_PAGES", PAGES)
    opened = SqliteStore(tmp_path / "helpdesk.db")
    opened.write(lambda tx: tx.connection.execute("CREATE TABLE kept(bytes)") and None)
    return opened


def write(store: SqliteStore, pages: int) -> None:
    def insert(tx: Transaction) -> None:
        tx.connection.execute("INSERT INTO kept VALUES (zeroblob(?))", (pages * PAGE_BYTES,))

    store.write(insert)


def log_pages(store: SqliteStore) -> int:
    return store.path.with_name("helpdesk.db-wal").stat().st_size // PAGE_BYTES


@pytest.mark.exhaustive("a long run")
def test_a_log_that_somebody_always_reads_from_does_not_grow_for_ever(store: SqliteStore) -> None:
    is_over = threading.Event()

    def read() -> None:
        while not is_over.is_set():
            store.read(lambda tx: tx.connection.execute(LONG).fetchall())

    readers = [threading.Thread(target=read) for _ in range(READERS)]
    for each in readers:
        each.start()
    for _ in range(WRITES):
        write(store, PAGES // 2)
    is_over.set()
    for each in readers:
        each.join()
    assert log_pages(store) < WRITES * PAGES // 4
    store.close()


def test_who_reads_for_long_keeps_the_log_and_sees_what_was_there(store: SqliteStore) -> None:
    write(store, 1)
    begun, may_end = threading.Event(), threading.Event()
    seen: list[int] = []

    def count(tx: Transaction) -> int:
        return int(tx.connection.execute("SELECT count(*) FROM kept").fetchall()[0][0])

    def read(tx: Transaction) -> None:
        seen.append(count(tx))
        begun.set()
        may_end.wait()
        seen.append(count(tx))

    reader = threading.Thread(target=lambda: store.read(read))
    reader.start()
    begun.wait()
    for _ in range(6):
        write(store, PAGES)
    assert log_pages(store) >= 6 * PAGES
    may_end.set()
    reader.join()
    assert seen == [1, 1]
    # The checkpoint thread runs at some later time; after that the log is short again.
    assert any(_is_begun_again(store) for _ in range(MOST_WRITES))
    store.close()


def _is_begun_again(store: SqliteStore) -> bool:
    write(store, PAGES // 10)
    return store._checkpoints._pages < PAGES


@pytest.mark.parametrize("is_read", [False, True])
def test_a_closed_store_leaves_no_log(store: SqliteStore, is_read: bool) -> None:
    for _ in range(3):
        write(store, PAGES)
    if is_read:
        store.read(lambda tx: tx.connection.execute("SELECT 1 FROM kept").fetchall())
    store.close()
    assert not store.path.with_name("helpdesk.db-wal").exists()
    again = SqliteStore(store.path)
    assert again.check() == []
    again.close()
