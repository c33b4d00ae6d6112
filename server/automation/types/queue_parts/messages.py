"""The messages of queues. They are rows and no records: put there and taken away by automations."""

from server.store.tables import Column, Index, Table

MAX_DELIVERIES = 20  # of one message; afterwards it is given to nobody any more
GIVEN_UP = f'"deliveries" >= {MAX_DELIVERIES}'  # as text for statements too, so that the partial index is found to fit

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
)  # data: JSON text; available_at: when it may be taken, again when it was taken already; uuid: 32 hex digits
