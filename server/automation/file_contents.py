"""Reads the bytes of `svc:attachment:<id>`, `svc:automation_resource:<token>` and `svc:resource:<name>`, and stores
the temporary files of automations."""

import secrets
import uuid
from typing import Any

from server.access.rules import Rules
from server.access.service_actor import own_context
from server.context import Context, Service
from server.digits import id_in
from server.errors import Forbidden, Invalid, NotFound
from server.jobs.scheduler import periodic
from server.record_types.record_type import Record, RecordType
from server.record_types.shared.file_content import keep
from server.records import stored_files
from server.records.stored_files import OCTETS, StoredFile, require_content
from server.records.writing import RecordWriter
from server.store import blobs
from server.store.statements import slot
from server.store.tables import table_named
from server.store.transaction import Transaction
from server.translation import N_, lazy_gettext

SCHEME, RESOURCE, DYNAMIC = "svc", "automation_resource", "resource"
KINDS = ("attachment", RESOURCE, DYNAMIC)
FRESH_SECONDS = 900  # default lifetime of a file of an automation
BATCH = 100  # expired files removed in one transaction


def find(ctx: Context, uri: str, *, refreshes: bool = True) -> StoredFile:
    """Finds the file of a reference. Raises Invalid if it does not refer to a file, NotFound, Forbidden.

    An expired file counts as missing. refreshes: whether the expired content of a dynamic resource is created again."""
    record_type, name = _named(ctx, uri)
    automations = ctx.service.automations if refreshes else None
    if record_type.uri == DYNAMIC and automations is not None:
        row = ctx.service.store.read(lambda tx: tx.first(record_type.table, name=name))
        record = None if row is None else record_type.record(row)
        if record is not None and record["is_dynamic"] and record["cache_until"] <= ctx.now:
            automations.refresh_resource(ctx, record)
    return ctx.service.store.read(lambda tx: _stored(ctx, tx, record_type, name))


def content(ctx: Context, file: StoredFile) -> bytes:
    """Returns all bytes of a file, up to the setting `max_attachment_bytes`."""
    return b"".join(stored_files.pieces(ctx, file, 0, file.size))


def store(ctx: Context, data: bytes, mime_type: str, name: str = "", expires_at: int | None = None) -> dict[str, Any]:
    """Stores bytes as a new automation resource; returns {id, token, uri, mime_type, name, size, expires_at}.

    expires_at: Unix seconds, 0 for never; None for FRESH_SECONDS from now. Raises TooLarge above the setting
    `max_attachment_bytes`."""
    token = str(uuid.UUID(bytes=secrets.token_bytes(16)))
    until = ctx.now + FRESH_SECONDS if expires_at is None else expires_at

    def write(tx: Transaction) -> dict[str, Any]:
        writing = RecordWriter(ctx, tx)
        id = writing.create(
            RESOURCE,
            {
                "token": token,
                "mime_type": mime_type or OCTETS,
                "name": name,
                "expires_at": until,
                "size": len(data),
                "blob_id": keep(writing, data),
            },
        )
        return _summary(writing, id)

    return ctx.service.store.write(write)


def append(ctx: Context, uri: str, data: bytes) -> dict[str, Any]:
    """Appends bytes to an automation resource; returns the same as store(). Raises NotFound, Invalid, TooLarge."""
    record_type, name = _named(ctx, uri)
    if record_type.uri != RESOURCE:
        raise Invalid(f"'{uri[:100]}' cannot be added to; only automation resources can", field="uri")

    def write(tx: Transaction) -> dict[str, Any]:
        writing = RecordWriter(ctx, tx)
        file = _stored(ctx, tx, record_type, name)
        whole = (blobs.read(tx, file.blob_id) if file.blob_id else b"") + data
        writing.update(RESOURCE, file.id, {"blob_id": keep(writing, whole), "size": len(whole)})
        if file.blob_id:
            blobs.forget(tx, file.blob_id)
        return _summary(writing, file.id)

    return ctx.service.store.write(write)


@periodic(N_("automation resources that expired"), N_("Removes them."), deletes=True)
def forget_expired(service: Service, now: int) -> None:
    """Removes a batch of expired automation resources."""
    ctx = own_context(service, now)
    while service.store.read(lambda tx: _expired(ctx, tx, 1)):
        service.store.write(lambda tx: _forget(ctx, tx))


def _forget(ctx: Context, tx: Transaction) -> None:
    writing = RecordWriter(ctx, tx)
    for id in _expired(ctx, tx, BATCH):
        writing.delete(RESOURCE, id)


def _expired(ctx: Context, tx: Transaction, limit: int) -> list[int]:
    table = table_named(RESOURCE)
    rows = tx.rows(
        lambda: (
            table.select(table.c.id)
            .where(table.c.expires_at > 0, table.c.expires_at <= slot(0))
            .order_by(table.c.expires_at)
            .limit(slot(1))
        ),
        (ctx.now, limit),
    )
    return [row[0] for row in rows]


def _named(ctx: Context, uri: str) -> tuple[RecordType, str]:
    scheme, _, rest = uri.partition(":")
    kind, _, name = rest.partition(":")
    record_type = ctx.service.registry.find(kind) if scheme == SCHEME and name else None
    if record_type is None or record_type.uri not in KINDS:
        shapes = ", ".join(f"{SCHEME}:{each}:..." for each in KINDS)
        raise Invalid(f"'{uri[:100]}' is not a file; write one of {shapes}", field="uri")
    return record_type, name


def _stored(ctx: Context, tx: Transaction, record_type: RecordType, name: str) -> StoredFile:
    row = None
    if record_type.lookup:
        row = tx.first(record_type.table, **{record_type.lookup: name})
    elif (id := id_in(name)) is not None:
        row = tx.get(record_type.table, id)
    record = None if row is None else record_type.record(row)
    if record is None or 0 < record.get("expires_at", 0) <= ctx.now:
        raise NotFound(
            lazy_gettext("there is no {type} '{name}'", type=record_type.uri, name=name[:100]), type=record_type.uri
        )
    if not Rules(ctx.service.registry, ctx.actor).may_read(tx, record_type, record["id"]):
        raise Forbidden(f"you may not read {record_type.uri} '{name[:100]}'")
    if record_type.uri == "attachment":
        require_content(record)
    blob = tx.get(blobs.BLOB, record["blob_id"]) if record["blob_id"] else None
    sha1 = str(blob[blobs.BLOB.position["sha1"]]) if blob is not None else ""
    return StoredFile(
        record["id"],
        record["name"],
        record.get("mime_type") or OCTETS,
        record["size"],
        sha1,
        record["updated" if "updated" in record else "updated_at"],
        record["blob_id"],
    )


def _summary(writing: RecordWriter, id: int) -> dict[str, Any]:
    record: Record | None = writing.record(RESOURCE, id)
    assert record is not None
    summary = {key: record[key] for key in ("id", "token", "mime_type", "name", "size", "expires_at")}
    return summary | {"uri": f"{SCHEME}:{RESOURCE}:{record['token']}"}
