"""Has the writer run several writes as one group, however threads are scheduled."""

import threading
from collections.abc import Callable
from typing import Any

from server.store.database import Store
from server.store.transaction import Transaction
from server.store.writer import PendingWrite


def write_together(store: Store, *writes: Callable[[Transaction], Any]) -> list[PendingWrite]:
    """Queues all writes while the writer is blocked, releases it and returns the results in the order of `writes`."""
    held, go = threading.Event(), threading.Event()
    answers: list[PendingWrite | None] = [None] * len(writes)
    left = threading.Semaphore(0)

    def hold(tx: Transaction) -> None:
        held.set()
        assert go.wait(30)

    def done_at(place: int) -> Callable[[PendingWrite], None]:
        def done(pending: PendingWrite) -> None:
            answers[place] = pending
            left.release()

        return done

    store.submit(hold, lambda pending: None)
    assert held.wait(30)
    for place, write in enumerate(writes):
        store.submit(write, done_at(place))
    go.set()
    for _ in writes:
        assert left.acquire(timeout=30)
    return [each for each in answers if each is not None]
