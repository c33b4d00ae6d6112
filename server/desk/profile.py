"""What workers may change of themselves, who may change no worker otherwise. Source: ours."""

from server.access.actor import system
from server.context import Context
from server.desk.writing import RecordWriter
from server.records.base import Record
from server.store.transaction import Transaction

FIELDS = ("first_name", "last_name", "timezone", "language")


def of(ctx: Context) -> Record:
    """The record of the worker who asks, with their main address as `email`."""

    def read(tx: Transaction) -> Record:
        reading = RecordWriter(ctx, tx)
        worker = reading.record("worker", ctx.actor.worker_id) or {}
        address = reading.record("address", worker.get("email_id", 0)) or {}
        return worker | {"email": address.get("email", "")}

    return ctx.service.store.read(read)


def change(ctx: Context, fields: dict[str, str]) -> None:
    """Change some of FIELDS of the worker who asks; others are left out. Raises Invalid."""
    own = ctx.as_actor(system(ctx.actor.timezone or "UTC"), ctx.tz)
    worker_id, record_type = ctx.actor.worker_id, ctx.service.registry.type("worker")
    known = {name: text for name, text in fields.items() if name in FIELDS}
    if known:
        ctx.service.store.write(lambda tx: RecordWriter(own, tx).update_sent(record_type, worker_id, known))
