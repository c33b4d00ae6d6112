"""Stores files in requests to webhooks as attachments, which automations attach to records.

They are stored if the script or the binding refers to `request_files`, and removed after KEPT_SECONDS if nothing refers
to them."""

from typing import Any

import peewee

from server.access.service_actor import own_context
from server.context import Context, Service
from server.dataclass import dataclass
from server.file_names import safe_name
from server.jobs.scheduler import periodic
from server.record_types.attachment import COPIED
from server.record_types.shared.custom.definitions import definitions
from server.record_types.shared.relation_tables import ATTACHED, CUSTOM_VALUE, LINK
from server.records.stored_files import OCTETS, plain_type
from server.records.writing import RecordWriter
from server.store import blobs
from server.store.expressions import contains
from server.store.statements import slot
from server.store.tables import Column, Index, Table, table_named
from server.store.transaction import Transaction
from server.translation import N_

KEYS = "request_files"
KEPT_SECONDS = 86400  # time for an automation, or a job that it starts, to attach a file
MAX_FILES = 20  # per request
MAX_STORED_BYTES = 1024 * 1024 * 1024  # all unattached files of webhooks together
TYPE_CHARS = 255
FIELD_CHARS = 256
BATCH = 100  # rows per transaction of the scan
ATTACHMENT = "attachment"

WEBHOOK_FILE = Table(
    "webhook_file",
    [Column("attachment_id"), Column("until"), Column("size")],
    [Index(("until", "size"), "those that are due, and how many bytes there are")],
    key=("attachment_id",),
)  # unattached files. until: Unix seconds


@dataclass(frozen=True, slots=True)
class WebhookFile:
    """A file in a request. field: the name of its form field; name: given by the client; both as sent."""

    field: str
    name: str
    mime_type: str
    content: bytes


def described(files: tuple[WebhookFile, ...]) -> list[dict[str, Any]]:
    """Returns the description of unstored files for scripts."""
    return [_described(file) | {"id": 0, "uri": "", "error": ""} for file in files]


def store_files(ctx: Context, files: tuple[WebhookFile, ...]) -> list[dict[str, Any]]:
    """Stores the files of a request as attachments; returns their description for scripts. A refused file has the id 0
    and the reason in `error`."""
    most = ctx.service.settings.max_attachment_bytes

    def write(tx: Transaction) -> list[dict[str, Any]]:
        writing, room = RecordWriter(ctx, tx), MAX_STORED_BYTES - _stored_bytes(tx)
        if sum(len(file.content) for file in files) > room:
            room = MAX_STORED_BYTES - _stored_bytes(_without_attached(tx))
        described_files = []
        for place, file in enumerate(files):
            description, size, id, error = _described(file), len(file.content), 0, ""
            if place >= MAX_FILES:
                error = f"a request has at most {MAX_FILES} files that are stored"
            elif size > most:
                error = f"a file has at most {most:,} bytes, this one {size:,}"
            elif size > room:
                error = "webhooks hold too many unattached files; try again later"
            else:
                id, room = _attachment(writing, description, file.content), room - size
                tx.insert(WEBHOOK_FILE, {"attachment_id": id, "until": ctx.now + KEPT_SECONDS, "size": size})
            described_files.append(
                description | {"id": id, "uri": f"svc:{ATTACHMENT}:{id}" if id else "", "error": error}
            )
        return described_files

    return ctx.service.store.write(write)


def _described(file: WebhookFile) -> dict[str, Any]:
    kind = "".join(each for each in plain_type(file.mime_type) if each.isprintable())[:TYPE_CHARS]
    return {
        "field": file.field[:FIELD_CHARS],
        "name": safe_name(file.name) or "file",
        "mime_type": OCTETS if kind in ("", COPIED) else kind,
        "size": len(file.content),
    }


def _attachment(writing: RecordWriter, description: dict[str, Any], content: bytes) -> int:
    # By blob, so that the type has no special meaning, unlike in an upload.
    own = {
        "name": description["name"],
        "mime_type": description["mime_type"],
        "blob_id": blobs.keep(writing.tx, content),
    }
    return writing.create(ATTACHMENT, own | {"uploader_id": 0})


def _without_attached(tx: Transaction) -> Transaction:
    """Returns the same transaction after files that have been attached are removed from the list."""
    table, attached = WEBHOOK_FILE.sql, ATTACHED.sql
    tx.run(lambda: table.delete().where(table.attachment_id.in_(attached.select(attached.attachment_id))))
    return tx


def _stored_bytes(tx: Transaction) -> int:
    table: Any = WEBHOOK_FILE.sql
    return int(tx.value(lambda: table.select(peewee.fn.SUM(table.size))) or 0)


@periodic(
    N_("files of webhooks that hang on nothing"),
    N_("Removes files that no automation attached within a day."),
    deletes=True,
)
def forget_unattached(service: Service, now: int) -> None:
    """Deletes files that were not attached in time, except those that a draft may refer to."""
    ctx = own_context(service, now)
    while service.store.read(lambda tx: _due(tx, now)):
        service.store.write(lambda tx: _forget(ctx, tx))


def _due(tx: Transaction, now: int) -> list[int]:
    table: Any = WEBHOOK_FILE.sql
    rows = tx.rows(
        lambda: table.select(table.attachment_id).where(table.until <= slot(0)).order_by(table.until).limit(slot(1)),
        (now, BATCH),
    )
    return [row[0] for row in rows]


def _forget(ctx: Context, tx: Transaction) -> None:
    writing = RecordWriter(ctx, tx)
    for id in _due(tx, ctx.now):
        if writing.record(ATTACHMENT, id) is not None and not _is_used(writing, id):
            if _is_in_draft(tx, id):
                tx.put(WEBHOOK_FILE, {"attachment_id": id, "until": ctx.now + KEPT_SECONDS, "size": 0})
                continue
            writing.delete(ATTACHMENT, id)
        tx.delete(WEBHOOK_FILE, attachment_id=id)


def _is_used(writing: RecordWriter, id: int) -> bool:
    """Returns whether a file is attached or linked to a record, or is the value of a custom field."""
    tx = writing.tx
    fields = [each.id for each in definitions(tx).every() if each.target == ATTACHMENT]
    return (
        tx.first(ATTACHED, attachment_id=id) is not None
        or tx.first(LINK, from_context=writing.registry.type(ATTACHMENT).context, from_id=id) is not None
        or any(tx.first(CUSTOM_VALUE, field_id=field_id, number=id) is not None for field_id in fields)
    )


def _is_in_draft(tx: Transaction, id: int) -> bool:
    """Returns whether a draft refers to the id anywhere."""
    draft = table_named("draft")
    draft_id = tx.value(lambda: draft.select(draft.c.id).where(contains(draft.c.params, slot(0))).limit(1), (str(id),))
    return draft_id is not None
