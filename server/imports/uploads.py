"""Files that were uploaded to be imported: kept for who uploaded them, until they are imported, or for a day."""

import secrets
from typing import Any

from server.context import Context
from server.dataclass import dataclass
from server.errors import NotFound
from server.imports import csv_rows
from server.imports.csv_rows import CsvTable
from server.jobs.expiry import expire
from server.records import records
from server.store.statements import slot
from server.store.tables import Column, Index, Table
from server.store.transaction import Transaction
from server.translation import N_

KEPT_SECONDS = 86400
MAX_UPLOADS = 5  # files of one worker; the oldest are deleted
MAX_NAME_CHARS = 255

CSV_UPLOAD = Table(
    "csv_upload",
    [
        Column("code", "TEXT"),
        Column("worker_id", references="worker(id)"),
        Column("uri", "TEXT"),
        Column("name", "TEXT"),
        Column("content", "BLOB", b""),
        Column("created_at"),
        Column("task", "TEXT"),
    ],
    [
        Index(("created_at",), "those that are too old"),
        Index(("worker_id",), "those of a worker"),
        Index(("code",), "the one of an address"),
    ],
)  # task: JSON, see background.py; content is empty once the file is imported


@dataclass(frozen=True, slots=True)
class CsvUpload:
    """An uploaded file. uri: the record type of its rows. name: of the file. task: its trial or import, "" for none
    yet."""

    code: str
    worker_id: int
    uri: str
    name: str
    content: bytes
    task: str

    def table(self) -> CsvTable:
        """The table in the file, which could be read when it was stored."""
        return csv_rows.read(self.content)


def keep(ctx: Context, uri: str, name: str, content: bytes) -> str:
    """Stores a readable file; returns the code by which the caller finds it again. Raises NotFound, Forbidden,
    NotOffered for a type that the caller may not create; Invalid, Malformed, TooLarge for the file."""
    records.require(ctx, uri, "create")
    csv_rows.read(content)
    code, worker_id = secrets.token_urlsafe(18), ctx.actor.worker_id
    values = {
        "code": code,
        "worker_id": worker_id,
        "uri": uri,
        "name": name[:MAX_NAME_CHARS],
        "content": content,
        "created_at": ctx.now,
    }

    def write(tx: Transaction) -> None:
        tx.insert(CSV_UPLOAD, values)
        _drop_most(tx, worker_id)

    ctx.service.store.write(write)
    return code


def find_upload(ctx: Context, uri: str, code: str) -> CsvUpload:
    """Returns a file of the caller. Raises NotFound if it belongs to another worker, is for another type, was imported,
    or has expired."""
    owner = {"worker_id": ctx.actor.worker_id, "uri": uri}
    upload = ctx.service.store.read(lambda tx: row(tx, code, created_after=ctx.now - KEPT_SECONDS, **owner))
    if upload is None:
        raise NotFound("this file was deleted; upload it again")
    return upload


def row(tx: Transaction, code: str, created_after: int = 0, **equals: Any) -> CsvUpload | None:
    """The file with this code; None if it does not exist or has expired."""
    stored = tx.first(CSV_UPLOAD, code=code, **equals)
    if stored is None:
        return None
    values = dict(zip(CSV_UPLOAD.names, stored, strict=True))
    if values["created_at"] <= created_after:
        return None
    return CsvUpload(code, values["worker_id"], values["uri"], values["name"], bytes(values["content"]), values["task"])


def take(tx: Transaction, code: str) -> bool:
    """Claims the content of a file for its import; False if it was claimed before."""
    upload = row(tx, code)
    if upload is None or not upload.content:
        return False
    tx.update(CSV_UPLOAD, _id(tx, code), {"content": b""})
    return True


def keep_task(tx: Transaction, code: str, task: str) -> None:
    """Stores the task of a file, if the file still exists."""
    if id := _id(tx, code):
        tx.update(CSV_UPLOAD, id, {"task": task})


def drop(tx: Transaction, code: str) -> None:
    """Removes a file."""
    tx.delete(CSV_UPLOAD, code=code)


def _id(tx: Transaction, code: str) -> int:
    stored = tx.first(CSV_UPLOAD, code=code)
    return int(stored[0]) if stored is not None else 0


forget_old = expire(N_("old files to be imported"), N_("Removes them."), CSV_UPLOAD, "created_at", KEPT_SECONDS)


def _drop_most(tx: Transaction, worker_id: int) -> None:
    """Removes all but the newest files of a worker."""
    table: Any = CSV_UPLOAD.sql
    codes = tx.rows(
        lambda: table.select(table.code).where(table.worker_id == slot(0)).order_by(table.id.desc()), (worker_id,)
    )
    for (code,) in codes[MAX_UPLOADS:]:
        drop(tx, code)
