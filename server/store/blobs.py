"""Stores large contents as rows, deduplicated and in pieces that can be read from any position.

Callers count the uses of a content and release them (`forget`)."""

import hashlib
import json
from collections.abc import Iterable, Iterator

import peewee

from server.store.statements import in_list, slot
from server.store.tables import Column, Index, Table
from server.store.transaction import Transaction

PIECE_BYTES = 256 * 1024  # one row; small enough to stream, large enough that SQLite is not busy with rows

BLOB = Table(
    "blob",
    [Column("sha256", "TEXT"), Column("sha1", "TEXT"), Column("size"), Column("uses")],
    [Index(("sha256",), "finding bytes that are there already", unique=True)],
)
BLOB_PIECE = Table(
    "blob_piece",
    [Column("blob_id", references="blob(id)"), Column("piece"), Column("bytes", "BLOB")],
    key=("blob_id", "piece"),
)


def keep(tx: Transaction, content: bytes) -> int:
    """Stores bytes, or adds a use to identical ones; returns the blob id."""
    digest = hashlib.sha256(content).hexdigest()
    blob = tx.first(BLOB, sha256=digest)
    if blob:
        return use(tx, blob[0])
    sha1 = hashlib.sha1(content, usedforsecurity=False).hexdigest()
    id = tx.insert(BLOB, {"sha256": digest, "sha1": sha1, "size": len(content), "uses": 1})
    for piece, start in enumerate(range(0, len(content), PIECE_BYTES)):
        tx.insert(BLOB_PIECE, {"blob_id": id, "piece": piece, "bytes": content[start : start + PIECE_BYTES]})
    return id


def total(tx: Transaction) -> int:
    """Returns the size of all contents in bytes."""
    table = BLOB.sql
    return int(tx.value(lambda: table.select(peewee.fn.SUM(table.size))) or 0)


def use(tx: Transaction, id: int) -> int:
    """Adds a use to a blob; returns its id."""
    row = tx.get(BLOB, id)
    assert row is not None
    tx.update(BLOB, id, {"uses": row[BLOB.position["uses"]] + 1})
    return id


def forget(tx: Transaction, id: int) -> None:
    """Removes a use; the last one deletes the bytes."""
    row = tx.get(BLOB, id)
    if row is None:
        return
    uses = row[BLOB.position["uses"]] - 1
    if uses > 0:
        tx.update(BLOB, id, {"uses": uses})
    else:
        tx.delete(BLOB, id=id)


def read(tx: Transaction, id: int) -> bytes:
    """Returns all bytes, b"" for an unknown blob."""
    return b"".join(pieces(tx, id))


def read_many(tx: Transaction, ids: Iterable[int], max_bytes: int) -> dict[int, bytes]:
    """Returns {blob id: all its bytes}, by one statement; larger blobs and unknown ids are left out."""
    blob, piece = BLOB.sql, BLOB_PIECE.sql
    rows = tx.rows(
        lambda: (
            piece.select(piece.blob_id, piece.bytes)
            .join(blob, on=(blob.id == piece.blob_id))
            .where(in_list(piece.blob_id, slot(0)), blob.size <= slot(1))
            .order_by(piece.blob_id, piece.piece)
        ),
        (json.dumps(list(ids)), max_bytes),
    )
    found: dict[int, list[bytes]] = {}
    for id, content in rows:
        found.setdefault(id, []).append(content)
    return {id: b"".join(parts) for id, parts in found.items()}


def pieces(tx: Transaction, id: int, start: int = 0, end: int | None = None) -> Iterator[bytes]:
    """Yields the bytes from `start` up to `end` (excluded), in pieces."""
    table = BLOB_PIECE.sql
    piece = start // PIECE_BYTES
    place = piece * PIECE_BYTES
    while end is None or place < end:
        row = tx.row(
            lambda: table.select(table.bytes).where(table.blob_id == slot(0), table.piece == slot(1)),
            (id, piece),
        )
        if row is None:
            return
        content = row[0]
        first = max(start - place, 0)
        last = len(content) if end is None else min(end - place, len(content))
        if first < last:
            yield content[first:last]
        piece += 1
        place += PIECE_BYTES
