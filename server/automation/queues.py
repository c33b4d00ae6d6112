"""Pushes messages to queues; runs of automations pop them.

Popped messages are leased: they are deleted once the run that popped them succeeds (`settle`). After a failure, or if
the process ends before, they are delivered again."""

import json
import secrets
import uuid
from collections.abc import Sequence
from typing import Any

import peewee

from server.automation.types.queue_parts.messages import GIVEN_UP, MAX_DELIVERIES, QUEUE_MESSAGE
from server.context import Context, Service
from server.dataclass import dataclass
from server.errors import Invalid, NotFound, TooLarge, nearest
from server.jobs.scheduler import periodic
from server.store.statements import in_list, slot
from server.store.transaction import Transaction
from server.translation import N_

MAX_PUSHED = 1000  # messages per push
MAX_TAKEN = 250  # messages per pop
MAX_MESSAGE_CHARS = 256 * 1024  # per message, as JSON
MAX_WAITING = 100_000  # messages per queue
LEASE_SECONDS = 600  # lease of popped messages; longer than any run may last
RETRY_SECONDS = 30  # delay after a failure, times the number of deliveries
KEPT_DAYS, DAY_SECONDS = 14, 86400  # retention of undeliverable messages
MAX_NAMES = 250  # names compared to suggest the nearest one


@dataclass(frozen=True)
class LeasedMessage:
    """A leased message. available_at: when it became available, in Unix seconds."""

    uuid: str
    data: Any
    available_at: int


def push(ctx: Context, name: str, messages: Sequence[Any], available_at: int = 0) -> list[str]:
    """Pushes messages to the queue of a name; returns a uuid for each, as 32 hex digits.

    available_at: Unix seconds before which they are not delivered; 0 for at once. Raises NotFound, TooLarge for a
    message above MAX_MESSAGE_CHARS, Invalid for more than MAX_PUSHED, or more than MAX_WAITING in the queue."""
    if len(messages) > MAX_PUSHED:
        raise Invalid(f"messages: {len(messages):,} at once, at most {MAX_PUSHED:,}", field="messages")
    texts = [json.dumps(each) for each in messages]
    if any(len(text) > MAX_MESSAGE_CHARS for text in texts):
        raise TooLarge(f"a message has at most {MAX_MESSAGE_CHARS:,} characters as JSON", limit=MAX_MESSAGE_CHARS)
    uuids = [uuid.uuid4().hex for _ in texts]
    at = available_at or ctx.now

    def write(tx: Transaction) -> None:
        queue_id = _queue(ctx, tx, name)
        if _count(tx, queue_id) + len(texts) > MAX_WAITING:
            raise Invalid(f"the queue '{name}' holds at most {MAX_WAITING:,} messages; remove some first")
        table: Any = QUEUE_MESSAGE.sql
        names = ("queue_id", "uuid", "data", "created_at", "available_at")
        tx.run_many(
            lambda: table.insert({getattr(table, each): slot(place) for place, each in enumerate(names)}),
            [(queue_id, each, text, ctx.now, at) for each, text in zip(uuids, texts, strict=True)],
        )

    ctx.service.store.write(write)
    return uuids


def pop(ctx: Context, name: str, limit: int = 1) -> tuple[str, list[LeasedMessage]]:
    """Leases messages, longest waiting first; returns a new consumer id and the messages. Raises NotFound, Invalid."""
    if not 1 <= limit <= MAX_TAKEN:
        raise Invalid(f"limit: {limit} is not 1 to {MAX_TAKEN}", field="limit")
    consumer = f"0x{secrets.token_hex(16)}"

    def write(tx: Transaction) -> list[LeasedMessage]:
        rows = _next(tx, _queue(ctx, tx, name), limit, ctx.now)
        if rows:
            _claim(tx, [row[0] for row in rows], consumer, ctx.now + LEASE_SECONDS)
        at = QUEUE_MESSAGE.position
        return [LeasedMessage(row[at["uuid"]], json.loads(row[at["data"]]), row[at["available_at"]]) for row in rows]

    return consumer, ctx.service.store.write(write)


def settle(ctx: Context, consumer: str, *, is_done: bool) -> None:
    """Deletes the messages that a consumer popped, or makes them available again after a delay."""
    table: Any = QUEUE_MESSAGE.sql

    def write(tx: Transaction) -> None:
        if is_done:
            tx.delete(QUEUE_MESSAGE, claimed_by=consumer)
            return
        tx.run(
            lambda: table.update(
                {
                    table.claimed_by: "",
                    table.available_at: slot(0) + table.deliveries * RETRY_SECONDS,
                }
            ).where(table.claimed_by == slot(1)),
            (ctx.now, consumer),
        )

    ctx.service.store.write(write)


@periodic(
    N_("messages that nobody gets"), N_("Removes old messages from queues, and returns others to them."), deletes=True
)
def forget_undeliverable(service: Service, now: int) -> None:
    """Deletes undeliverable messages after KEPT_DAYS."""
    table: Any = QUEUE_MESSAGE.sql
    before = now - KEPT_DAYS * DAY_SECONDS
    if service.store.read(lambda tx: tx.value(lambda: _old(table.select(table.id)).limit(1), (before,))):
        service.store.write(lambda tx: tx.run(lambda: _old(table.delete()), (before,)))


def _old(query: Any) -> Any:
    return query.where(peewee.SQL(GIVEN_UP), QUEUE_MESSAGE.sql.available_at < slot(0))


def _queue(ctx: Context, tx: Transaction, name: str) -> int:
    record_type = ctx.service.registry.type("queue")
    row = tx.first(record_type.table, name=name)
    if row is not None:
        return int(row[0])
    table: Any = record_type.table.sql
    rows = tx.rows(lambda: table.select(table.name).order_by(table.name).limit(MAX_NAMES))
    raise NotFound(f"there is no queue '{name[:80]}'{nearest(name, [row[0] for row in rows])}", type="queue")


def _count(tx: Transaction, queue_id: int) -> int:
    table: Any = QUEUE_MESSAGE.sql
    return int(
        tx.value(
            lambda: table.select(peewee.fn.COUNT(table.id)).where(table.queue_id == slot(0)),
            (queue_id,),
        )
    )


def _next(tx: Transaction, queue_id: int, limit: int, now: int) -> list[tuple[Any, ...]]:
    """Selects the messages that can be popped. A message whose lease has expired is available again."""
    table: Any = QUEUE_MESSAGE.sql
    return tx.rows(
        lambda: (
            table.select(*QUEUE_MESSAGE.all_columns)
            .where(table.queue_id == slot(0), table.available_at <= slot(1), table.deliveries < MAX_DELIVERIES)
            .order_by(table.available_at, table.id)
            .limit(slot(2))
        ),
        (queue_id, now, limit),
    )


def _claim(tx: Transaction, ids: list[int], consumer: str, until: int) -> None:
    table: Any = QUEUE_MESSAGE.sql
    tx.run(
        lambda: table.update(
            {
                table.claimed_by: slot(0),
                table.available_at: slot(1),
                table.deliveries: table.deliveries + 1,
            }
        ).where(in_list(table.id, slot(2))),
        (consumer, until, json.dumps(ids)),
    )
