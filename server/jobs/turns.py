"""Locks by name for work that must not run twice at once, such as the renewal of a token that can be used once: across
the threads of this process and across all processes that serve a database."""

import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from server import clock
from server.context import Service
from server.errors import TimedOut
from server.jobs import job_queue, processes
from server.store.tables import Column, Table
from server.store.transaction import Transaction

LOOK_SECONDS = 0.1  # interval of checks whether another process has finished
MARGIN_SECONDS = 60  # maximum difference between the clocks of two machines

TURN = Table("turn", [Column("name", "TEXT"), Column("claimed_by", "TEXT"), Column("until")], key=("name",))

_guard = threading.Lock()
_here: weakref.WeakValueDictionary[tuple[str, str], "_LocalTurn"] = weakref.WeakValueDictionary()


class _LocalTurn:
    """The lock of the threads of this process."""

    def __init__(self) -> None:
        self.lock = threading.Lock()


@contextmanager
def exclusive(service: Service, name: str, seconds: float) -> Iterator[None]:
    """Holds a lock by name across processes. seconds: the time to wait for it, and the time after which it expires if
    its process dies. Raises TimedOut."""
    ends_at, here = time.monotonic() + seconds, _local(service, name)
    if not here.lock.acquire(timeout=seconds):
        raise _too_long(name)
    try:
        claim = _claimed(service, name, seconds, ends_at) if service.store.is_shared else ""
        try:
            yield
        finally:
            if claim:
                service.store.write(lambda tx: tx.delete(TURN, name=name, claimed_by=claim))
    finally:
        here.lock.release()


def _local(service: Service, name: str) -> _LocalTurn:
    key = (service.installation, name)
    with _guard:
        turn = _here.get(key)
        if turn is None:
            turn = _here[key] = _LocalTurn()
        return turn


def _claimed(service: Service, name: str, seconds: float, ends_at: float) -> str:
    claim = job_queue.new_claim()
    while not service.store.write(lambda tx: _claim(tx, name, claim, clock.now(), seconds)):
        if time.monotonic() >= ends_at:
            raise _too_long(name)
        time.sleep(LOOK_SECONDS)
    return claim


def _claim(tx: Transaction, name: str, claim: str, now: int, seconds: float) -> bool:
    row = tx.first(TURN, name=name)
    if row is not None and row[TURN.position["until"]] > now:
        return False
    tx.put(TURN, {"name": name, "claimed_by": claim, "until": now + round(seconds) + MARGIN_SECONDS})
    return True


def _too_long(name: str) -> TimedOut:
    return TimedOut(f"{name} takes too long; try again")


@processes.releases
def _release(tx: Transaction, name: str) -> None:
    table: Any = TURN.sql
    tx.run(lambda: table.delete().where(processes.claimed_by(table.claimed_by, 0)), (processes.claims_of(name),))
