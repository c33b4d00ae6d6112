"""Mail transports that are unavailable at present: their mail waits, and one mail at a time tries again.

A server that is down, or that refuses the login, says nothing about a particular mail. So that mail is not tried, given
up or reported; all of it leaves once one attempt succeeds."""

from collections.abc import Iterable
from dataclasses import asdict, replace
from typing import Any

import peewee

from server.context import Service
from server.dataclass import dataclass
from server.outbox import queue_rows
from server.outbox.queue_rows import OUTGOING
from server.outbox.retrying import retry_wait
from server.outbox.sender import way_of
from server.record_types.record_type import Writing
from server.records.writing import RecordWriter
from server.settings import Settings
from server.store.statements import slot
from server.store.tables import Column, Table, table_named
from server.store.transaction import Transaction

LONGEST_HOLD_SECONDS = 900  # longest wait between two attempts on a transport

TRANSPORT_HOLD = Table(
    "transport_hold",
    [
        Column("transport_id", references="mail_transport(id)"),
        Column("fails"),
        Column("since"),
        Column("retry_at"),
        Column("probe_id"),  # draft of the next attempt, 0 for none
        Column("error", "TEXT"),
    ],
    key=("transport_id",),
)


@dataclass(frozen=True, slots=True)
class TransportHold:
    """A transport that is held. since: its first failure; retry_at: the next attempt; both in Unix seconds."""

    transport_id: int
    fails: int
    since: int
    retry_at: int
    probe_id: int
    error: str

    def stops(self, draft_id: int, now: int) -> bool:
        """Whether a draft has to wait, because another draft makes the next attempt."""
        return self.retry_at > now and self.probe_id != draft_id


def find_hold(tx: Transaction, transport_id: int) -> TransportHold | None:
    """The hold of a transport, None for a transport that is available."""
    row = tx.first(TRANSPORT_HOLD, transport_id=transport_id)
    return TransportHold(*row) if row is not None else None


def list_holds(tx: Transaction) -> list[TransportHold]:
    """The holds of all transports."""
    return [TransportHold(*row) for row in tx.find(TRANSPORT_HOLD)]


def next_attempts(tx: Transaction) -> dict[int, int]:
    """{id of a held transport: time of its next attempt, Unix seconds}."""
    return {hold.transport_id: hold.retry_at for hold in list_holds(tx)}


def hold_transport(writing: RecordWriter, transport_id: int, draft_id: int, error: str, wait_seconds: int = 0) -> None:
    """Holds a transport after an attempt failed to reach it. Simultaneous attempts count once. wait_seconds: how long
    the server asks to wait."""
    tx, now, hold = writing.tx, writing.now, find_hold(writing.tx, transport_id)
    if hold is not None and hold.stops(draft_id, now):
        return
    fails, since = (hold.fails + 1, hold.since) if hold is not None else (1, now)
    # The time that a server names replaces the growing wait.
    retry_at = now + (wait_seconds or _wait(writing.ctx.service.settings, fails))
    _put(tx, TransportHold(transport_id, fails, min(since, now), retry_at, 0, error))


def release_transport(writing: Writing, transport_id: int) -> None:
    """Releases all mail of a transport; does nothing if the transport is not held."""
    tx = writing.tx
    if find_hold(tx, transport_id) is None:
        return
    tx.delete(TRANSPORT_HOLD, transport_id=transport_id)
    table: Any = OUTGOING.sql
    tx.run(
        lambda: table.update({table.held_by: 0, table.last_error: ""}).where(table.held_by == slot(0)), (transport_id,)
    )
    writing.wake()


def let_through(writing: RecordWriter, draft_id: int) -> None:
    """Allows one draft to try at once, even if its transport is held."""
    row = queue_rows.get(writing.tx, draft_id)
    if row is not None and row["held_by"]:
        _choose_probe(writing.tx, writing.ctx.service.settings, row["held_by"], draft_id, writing.now)


def probe_held(service: Service, now: int) -> int | None:
    """Allows one draft of each held transport to try again once its wait is over. Returns the time of the next such
    attempt. Also releases mail whose sender uses another transport by now."""
    store = service.store
    outgoing: Any = OUTGOING.sql

    def read(tx: Transaction) -> tuple[list[TransportHold], set[tuple[int, int]]]:
        waiting = tx.rows(
            lambda: outgoing.select(outgoing.from_address_id, outgoing.held_by).where(outgoing.held_by > 0).distinct(),
        )
        return list_holds(tx), set(map(tuple, waiting))

    def moved(tx: Transaction, waiting: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
        ways = ((address, id, way_of(tx, service.registry, address)) for address, id in waiting)
        return [
            (address, id)
            for address, id, way in ways
            if way is None or way.transport_id != id or find_hold(tx, id) is None
        ]

    def write(tx: Transaction) -> None:
        for address, id in moved(tx, waiting):
            tx.run(
                lambda: outgoing.update({outgoing.held_by: 0, outgoing.last_error: ""}).where(
                    outgoing.from_address_id == slot(0), outgoing.held_by == slot(1)
                ),
                (address, id),
            )
        for hold in list_holds(tx):
            if hold.retry_at > now:
                continue
            oldest = tx.value(_oldest, (hold.transport_id, now, now + service.settings.mail_retry_seconds))
            if oldest is None:  # no mail waits: the next one tries
                tx.delete(TRANSPORT_HOLD, transport_id=hold.transport_id)
            else:
                _choose_probe(tx, service.settings, hold.transport_id, oldest, now)

    holds, waiting = store.read(read)
    if any(hold.retry_at <= now for hold in holds) or (waiting and store.read(lambda tx: moved(tx, waiting))):
        store.write(write)
        holds = store.read(list_holds)
    return min((hold.retry_at for hold in holds), default=None)


def hasten(tx: Transaction, now: int) -> None:
    """Limits the wait of held transports after the clock was set back."""
    for hold in list_holds(tx):
        if hold.retry_at > now + LONGEST_HOLD_SECONDS:
            _put(tx, replace(hold, retry_at=now))


def _put(tx: Transaction, hold: TransportHold) -> None:
    tx.put(TRANSPORT_HOLD, asdict(hold))


def _oldest() -> Any:
    """The first mail of a held transport that does not wait for another mail on its ticket."""
    outgoing, draft = OUTGOING.sql, table_named("draft")
    return (
        draft.select(peewee.fn.MIN(draft.c.id))
        .join(outgoing, on=(outgoing.draft_id == draft.c.id))
        .where(outgoing.held_by == slot(0), draft.c.is_queued == 1, ~queue_rows.has_earlier(draft, 1, 2))
    )


def _choose_probe(tx: Transaction, settings: Settings, transport_id: int, draft_id: int, now: int) -> None:
    hold = find_hold(tx, transport_id)
    if hold is not None:
        _put(tx, replace(hold, retry_at=now + _wait(settings, hold.fails), probe_id=draft_id))
    queue_rows.change(tx, draft_id, {"held_by": 0})


def _wait(settings: Settings, fails: int) -> int:
    return min(retry_wait(settings, fails), LONGEST_HOLD_SECONDS)
