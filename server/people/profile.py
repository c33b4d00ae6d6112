"""The fields that workers may change in their own record without the right to change workers."""

from collections.abc import Mapping

from server.access.actor import lent
from server.context import Context
from server.dataclass import dataclass
from server.errors import Conflict, Forbidden
from server.record_types.record_type import Record
from server.record_types.shared import absence
from server.record_types.shared.named_records import workers_named
from server.record_types.shared.relation_tables import GROUP_MEMBER, ROLE_WORKER
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


def absent_record(ctx: Context, worker_id: int) -> Record:
    """Returns the record of a worker whose absence the caller may change, with their name as `label`. Raises NotFound,
    Forbidden."""

    def read(tx: Transaction) -> Record:
        reading = RecordReader(ctx, tx)
        require_absence_rights(reading, worker_id)
        return reading.retrieve("worker", worker_id) | {"label": reading.label("worker", worker_id)}

    return ctx.service.store.read(read)


def change_absence(ctx: Context, worker_id: int, fields: Mapping[str, str]) -> None:
    """Changes the fields of a worker's absence; other fields are ignored. For the worker, for managers of a group of
    theirs, and for administrators. Raises NotFound, Forbidden, Invalid."""
    own = ctx.as_actor(lent(ctx.actor), ctx.tz)
    changes = {name: fields[name] for name in absence.FIELDS if name in fields}

    def write(tx: Transaction) -> None:
        require_absence_rights(RecordReader(ctx, tx), worker_id)
        if changes:
            _update(RecordWriter(own, tx), worker_id, changes)

    ctx.service.store.write(write)


def require_absence_rights(reading: RecordReader, worker_id: int) -> None:
    """Raises Forbidden unless the caller may change the absence of a worker, and NotFound."""
    reading.retrieve("worker", worker_id)
    actor = reading.ctx.actor
    if actor.is_admin or actor.worker_id == worker_id:
        return
    groups = set() if actor.own_only else actor.manages
    rows = reading.tx.find(GROUP_MEMBER, worker_id=worker_id)
    if groups.isdisjoint(row[GROUP_MEMBER.position["group_id"]] for row in rows):
        raise Forbidden(N_("only the worker, managers of their groups and administrators can change an absence"))


def change(ctx: Context, fields: dict[str, str]) -> None:
    """Changes some of FIELDS of the caller; other fields are ignored.

    Raises Invalid, and Conflict for the name of another worker and for a change that would give the caller a role: the
    queries of roles may use names, but workers must not choose their identity or privileges."""
    own = ctx.as_actor(lent(ctx.actor), ctx.tz)
    worker_id = ctx.actor.worker_id
    changes = {name: text for name, text in fields.items() if name in FIELDS}
    if not changes:
        return

    def write(tx: Transaction) -> None:
        writing = RecordWriter(own, tx)
        name = writing.label("worker", worker_id)
        _update(writing, worker_id, changes)
        new_name = writing.label("worker", worker_id)
        if new_name != name and set(workers_named(writing, new_name)) - {worker_id}:
            message = f"first_name: '{new_name}' is another worker's name; ask an administrator"
            raise Conflict(message, field="first_name")

    ctx.service.store.write(write)


def _update(writing: RecordWriter, worker_id: int, changes: dict[str, str]) -> None:
    """Changes a worker. Raises Conflict if that would give them a role."""
    roles = _roles(writing.tx, worker_id)
    writing.update_sent(writing.registry.type("worker"), worker_id, changes)
    if _roles(writing.tx, worker_id) - roles:
        raise Conflict(N_("this would give you a role that you do not have; ask an administrator"))


def _roles(tx: Transaction, worker_id: int) -> set[tuple[int, str]]:
    """Returns the roles of a worker, as members, editors and readers."""
    place = ROLE_WORKER.position
    return {(row[place["role_id"]], row[place["part"]]) for row in tx.find(ROLE_WORKER, worker_id=worker_id)}
