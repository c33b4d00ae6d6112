"""Contents of records as files of an export: attachments under their names, original mails, images."""

import re
from collections.abc import Iterator
from typing import Any

import peewee

from server.export.target import Target, written
from server.record_types.record_type import Record, RecordType
from server.store import blobs
from server.store.transaction import Transaction

MAIL = "raw_blob_id"
IMAGE = "image_blob_id"
FOLDER_FILES = 1000  # files in one folder
MAX_NAME_CHARS = 100  # characters of an attachment's name in the name of its file
_UNSAFE = re.compile(r"[^\w.,()+ -]|^\.+")


def columns(record_type: RecordType) -> list[str]:
    """The columns that refer to a content."""
    return [name for name in record_type.table.names if name.endswith("blob_id")]


def key_of(column: str) -> str:
    """The key of a line that holds the path of a content."""
    return {MAIL: "mail", IMAGE: "image"}.get(column, "file")


def path_of(record_type: RecordType, column: str, record: Record) -> str:
    """The path of a content within the export, "" if it has none."""
    if not record[column]:
        return ""
    id = int(record["id"])
    folder, name = f"contents/{record_type.uri}", str(id)
    if column == MAIL:
        folder, name = "mails", f"{id}.eml"
    elif column == IMAGE:
        folder = f"images/{record_type.uri}"
    elif record_type.uri == "attachment":
        folder, name = "attachments", f"{id}-{_UNSAFE.sub('_', record['name'])[-MAX_NAME_CHARS:].strip(' .') or 'file'}"
    return f"{folder}/{id // FOLDER_FILES:04}/{name}"


def count(tx: Transaction, record_type: RecordType) -> int:
    """The number of contents of all records of a type."""
    return sum(_count(tx, record_type, column) for column in columns(record_type))


def _count(tx: Transaction, record_type: RecordType, column: str) -> int:
    table: Any = record_type.table.sql
    return int(
        tx.value(
            lambda: table.select(peewee.fn.COUNT(table.id)).where(getattr(table, column) > 0),
        )
    )


def write(tx: Transaction, target: Target, record_type: RecordType) -> Iterator[tuple[str, int]]:
    """Writes the contents of all records of a type, in pieces; yields (key, bytes) of each."""
    for column in columns(record_type):
        for record in _with_content(tx, record_type, column):
            with written(target, path_of(record_type, column, record)) as (file, info):
                for piece in blobs.pieces(tx, record[column]):
                    file.write(piece)
            yield key_of(column), info.bytes


def _with_content(tx: Transaction, record_type: RecordType, column: str) -> Iterator[Record]:
    """The records with a content in this column, with the columns that its path needs."""
    table: Any = record_type.table.sql
    names = ("id", column, *(("name",) if record_type.uri == "attachment" else ()))
    rows = tx.each(
        lambda: (
            table.select(*(getattr(table, name) for name in names)).where(getattr(table, column) > 0).order_by(table.id)
        ),
    )
    return (dict(zip(names, row, strict=True)) for row in rows)
