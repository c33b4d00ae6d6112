"""Deleted custom fields: for a week they can be restored with their values."""

import json
from functools import partial
from typing import Any

from server.access.actor import APP
from server.context import Context, Service
from server.dataclass import dataclass
from server.errors import Conflict, Invalid, NotFound
from server.jobs.scheduler import periodic
from server.record_types.parts import Record
from server.record_types.registry import Registry
from server.record_types.shared.relation_tables import CUSTOM_VALUE, DELETED_FIELD
from server.records import custom_fields
from server.records.writing import RecordWriter
from server.store.database import Store
from server.store.statements import in_list, slot
from server.store.tables import Table
from server.store.transaction import Transaction
from server.translation import N_

DOING = "bring deleted fields back"  # in the error message for callers who are not administrators

KEPT_SECONDS = 7 * 86400  # during which a deleted field can be restored
BATCH = 5000  # values that are removed in one transaction
GOING = 0  # in deleted_at: some values are removed already, so the field can no longer be restored
URI = custom_fields.URI


@dataclass(frozen=True)
class DeletedField:
    """A deleted field. record: the field before its deletion. values: number of records with a value. gone_at: when it
    is removed permanently, in Unix seconds."""

    id: int
    record: Record
    values: int
    deleted_at: int

    @property
    def gone_at(self) -> int:
        return self.deleted_at + KEPT_SECONDS


def list_deleted_fields(ctx: Context) -> list[DeletedField]:
    """Returns the fields that can be restored, the last deleted first. Raises AdminOnly."""
    ctx.require_admin(DOING)
    rows = [row for row in ctx.service.store.read(lambda tx: tx.find(DELETED_FIELD)) if row[2] != GOING]
    uses = custom_fields.uses(ctx, (row[0] for row in rows))
    fields = [DeletedField(row[0], json.loads(row[1]), uses.get(row[0], 0), row[2]) for row in rows]
    return sorted(fields, key=lambda each: (-each.deleted_at, -each.id))


def restore(ctx: Context, id: int) -> Record:
    """Restores a field with the values of records that still exist.

    Raises AdminOnly, NotFound, Conflict if another field has its uri now, and Invalid if its record type no longer
    exists."""
    ctx.require_admin(DOING)

    store, registry = ctx.service.store, ctx.service.registry
    before = store.read(lambda tx: _restorable(registry, tx, id))
    _drop_orphans(store, id, registry.type(before["context"]).table)

    def write(tx: Transaction) -> Record:
        record, writing = _restorable(registry, tx, id), RecordWriter(ctx, tx)
        if record["custom_fieldset_id"] and writing.record("custom_fieldset", record["custom_fieldset_id"]) is None:
            record["custom_fieldset_id"] = 0  # the fieldset no longer exists, so the field applies to every record
        tx.delete(DELETED_FIELD, field_id=id)
        writing.create(URI, {name: value for name, value in record.items() if name != "id"}, id)
        writing.log("custom_field.restored", registry.type(URI).context, id, {"target": str(record["name"])})
        return record

    return store.write(write)


def remove(ctx: Context, id: int) -> Record:
    """Removes a deleted field permanently. Raises AdminOnly, NotFound."""
    ctx.require_admin(DOING)

    def write(tx: Transaction) -> Record:
        field = _deleted(tx, id)
        RecordWriter(ctx, tx).log("custom_field.removed", APP, 0, {"field": str(field["name"])})
        return field

    record = ctx.service.store.write(write)
    _remove(ctx.service, id)
    return record


@periodic(
    N_("deleted custom fields"), N_("Removes fields that were deleted a week ago, with their values."), deletes=True
)
def forget_old(service: Service, now: int) -> int | None:
    """Removes the fields that were deleted a week ago; returns the time at which the next one expires, None if there is
    none."""
    place = DELETED_FIELD.position["deleted_at"]
    rows = service.store.read(lambda tx: tx.find(DELETED_FIELD))
    for row in rows:
        if row[place] + KEPT_SECONDS <= now:
            _remove(service, row[0])
    return min((row[place] + KEPT_SECONDS for row in rows if row[place] + KEPT_SECONDS > now), default=None)


def _deleted(tx: Transaction, id: int) -> Record:
    row = tx.first(DELETED_FIELD, field_id=id)
    if row is None or row[DELETED_FIELD.position["deleted_at"]] == GOING:
        raise NotFound(f"there is no deleted field {id}, or it was removed for good")
    record: Record = json.loads(row[DELETED_FIELD.position["record"]])
    return record


def _restorable(registry: Registry, tx: Transaction, id: int) -> Record:
    record = _deleted(tx, id)
    if tx.first(registry.type(URI).table, uri=record["uri"]) is not None:
        raise Conflict(f"another field now has the name '{record['uri']}'; rename that one first")
    if registry.find(record["context"]) is None:
        raise Invalid("its record type no longer exists, so the field cannot be restored")
    return record


def _remove(service: Service, id: int) -> None:
    """Removes a field in portions between which other writes run; the row of the field is removed with the last of its
    values. After a crash, the next scan continues."""
    while not service.store.write(lambda tx: _remove_some(tx, id)):
        pass


def _remove_some(tx: Transaction, id: int) -> bool:
    row = tx.first(DELETED_FIELD, field_id=id)
    if row is None:
        return True  # restored, or removed by another process
    table: Any = CUSTOM_VALUE.sql
    some = tx.rows(
        lambda: table.select(table.record_id).where(table.field_id == slot(0)).order_by(table.record_id).limit(slot(1)),
        (id, BATCH),
    )
    if some:
        tx.run(
            lambda: table.delete().where(table.field_id == slot(0), table.record_id <= slot(1)),
            (id, some[-1][0]),
        )
    if len(some) == BATCH:
        tx.put(DELETED_FIELD, dict(zip(DELETED_FIELD.names, row, strict=True)) | {"deleted_at": GOING})
        return False
    tx.delete(DELETED_FIELD, field_id=id)
    return True


def _drop_orphans(store: Store, id: int, target: Table) -> None:
    """Removes values of records that no longer exist. They are searched for outside of the writer. Only earlier
    versions of the program left such values."""
    last = -1
    while record_ids := store.read(partial(_some_records, id, last)):
        last = record_ids[-1]
        there = store.read(partial(_there, target, record_ids))
        if gone := [each for each in record_ids if each not in there]:
            store.write(partial(_drop, id, gone))


def _some_records(id: int, after: int, tx: Transaction) -> list[int]:
    table: Any = CUSTOM_VALUE.sql
    rows = tx.rows(
        lambda: (
            table.select(table.record_id)
            .distinct()
            .where(table.field_id == slot(0), table.record_id > slot(1))
            .order_by(table.record_id)
            .limit(slot(2))
        ),
        (id, after, BATCH),
    )
    return [row[0] for row in rows]


def _there(target: Table, records: list[int], tx: Transaction) -> set[int]:
    rows = tx.rows(
        lambda: target.sql.select(target.sql.id).where(in_list(target.sql.id, slot(0))),
        (json.dumps(records),),
    )
    return {row[0] for row in rows}


def _drop(id: int, records: list[int], tx: Transaction) -> None:
    table: Any = CUSTOM_VALUE.sql
    tx.run(
        lambda: table.delete().where(table.field_id == slot(0), in_list(table.record_id, slot(1))),
        (id, json.dumps(records)),
    )
