"""The fields that workers may change in their own record without the right to change workers."""

from server.access.actor import lent
from server.context import Context
from server.dataclass import dataclass
from server.errors import Conflict
from server.record_types.record_type import Record
from server.record_types.shared import absence
from server.record_types.shared.named_records import workers_named
from server.record_types.shared.relation_tables import ROLE_WORKER
from server.records.reading import RecordReader
from server.records.writing import RecordWriter
from server.store.transaction import Transaction
from server.translation import N_

FIELDS = ("first_name", "last_name", "timezone", "language")


def own_record(ctx: Context) -> Record:
    """Returns the record of the caller, with their main address as `email`."""

    def read(tx: Transaction) -> Record:
        reading = RecordReader(ctx, tx)
        worker = reading.record("worker", ctx.actor.worker_id) or {}
        address = reading.record("address", worker.get("email_id", 0)) or {}
        return worker | {"email": address.get("email", "")}

    return ctx.service.store.read(read)


@dataclass(frozen=True, slots=True)
class Absence:
    """The absence of a worker. until: Unix seconds, 0 until further notice. stand_in: the name of the colleague who is
    notified of messages on their tickets now, "" without one."""

    until: int
    stand_in: str


def absence_of(ctx: Context, worker_id: int) -> Absence | None:
    """Returns the absence of a worker; None if they are present, or do not exist. Any worker may read it."""

    def read(tx: Transaction) -> Absence | None:
        reading = RecordReader(ctx, tx)
        worker = reading.record("worker", worker_id)
        if worker is None or not absence.is_away(worker, ctx.now):
            return None
        id = absence.stand_in(lambda each: reading.record("worker", each), worker_id, ctx.now)
        return Absence(worker["away_until"], reading.label("worker", id) if id else "")

    return ctx.service.store.read(read)


def change(ctx: Context, fields: dict[str, str]) -> None:
    """Changes some of FIELDS, or of the fields of an absence, of the caller; other fields are ignored.

    Raises Invalid, and Conflict for the name of another worker and for a change that would give the caller a role: the
    queries of roles may use names, but workers must not choose their identity or privileges."""
    own = ctx.as_actor(lent(ctx.actor), ctx.tz)
    worker_id, record_type = ctx.actor.worker_id, ctx.service.registry.type("worker")
    changes = {name: text for name, text in fields.items() if name in (*FIELDS, *absence.FIELDS)}
    if not changes:
        return

    def write(tx: Transaction) -> None:
        writing = RecordWriter(own, tx)
        name, roles = writing.label("worker", worker_id), _roles(tx, worker_id)
        writing.update_sent(record_type, worker_id, changes)
        new_name = writing.label("worker", worker_id)
        if new_name != name and set(workers_named(writing, new_name)) - {worker_id}:
            message = f"first_name: '{new_name}' is another worker's name; ask an administrator"
            raise Conflict(message, field="first_name")
        if _roles(tx, worker_id) - roles:
            raise Conflict(N_("this would give you a role that you do not have; ask an administrator"))

    ctx.service.store.write(write)


def _roles(tx: Transaction, worker_id: int) -> set[tuple[int, str]]:
    """Returns the roles of a worker, as members, editors and readers."""
    place = ROLE_WORKER.position
    return {(row[place["role_id"]], row[place["part"]]) for row in tx.find(ROLE_WORKER, worker_id=worker_id)}
