"""Reads that must be quick, beside as many long ones as there may be."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from server.errors import Unavailable
from server.store.database import Store
from server.store.postgresql.store import MAX_READING
from server.store.transaction import Transaction

STEPS = 20_000


def test_long_reads_leave_room_for_quick_ones(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("server.store.postgresql.store.ROOM_SECONDS", 0.01)
    begun, go = threading.Semaphore(0), threading.Event()

    def one(tx: Transaction) -> int:
        return int(tx.connection.execute("SELECT 1").fetchone()[0])

    def long(tx: Transaction) -> int:
        begun.release()
        assert go.wait(60)
        return one(tx)

    with ThreadPoolExecutor(MAX_READING) as pool:
        reading = [pool.submit(store.read, long) for _ in range(MAX_READING)]
        for _ in reading:
            assert begun.acquire(timeout=60)
        try:
            assert store.read(one, steps=STEPS) == 1
            with pytest.raises(Unavailable, match="too many reads at once"):
                store.read(one)
        finally:
            go.set()
        assert [each.result() for each in reading] == [1] * MAX_READING
    assert store.read(one) == 1
