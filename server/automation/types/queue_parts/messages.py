"""The messages of queues. They are rows, not records: automations push and pop them."""

from server.store.tables import Column, Index, Table

MAX_DELIVERIES = 20  # per message; afterwards it is undeliverable
GIVEN_UP = f'"deliveries" >= {MAX_DELIVERIES}'  # literal in statements too, so that the partial index is used

QUEUE_MESSAGE = Table(
    "queue_message",
    [
        Column("queue_id"),
        Column("uuid", "TEXT"),
        Column("data", "TEXT"),
        Column("created_at"),
        Column("available_at"),
        Column("claimed_by", "TEXT"),
        Column("deliveries"),
    ],
    [
        Index(("queue_id", "available_at"), "the next messages of a queue"),
        Index(("claimed_by",), "those that a run has taken"),
        Index(("available_at",), "those that are given to nobody any more", where=GIVEN_UP),
    ],
)  # data: JSON text; available_at: when it can be popped, or its lease expires; uuid: 32 hex digits
