"""Contents as rows: stored once, in pieces, readable from any offset, deleted with their last use."""

import os

import pytest

from server.store import blobs
from server.store.blobs import BLOB, BLOB_PIECE, PIECE_BYTES
from server.store.database import Store

LONG = os.urandom(2 * PIECE_BYTES + 1000)


def _keep(store: Store, content: bytes) -> int:
    return store.write(lambda tx: blobs.keep(tx, content))


def _forget(store: Store, id: int) -> None:
    store.write(lambda tx: blobs.forget(tx, id))


@pytest.mark.parametrize("content", [b"", b"x", bytes(PIECE_BYTES), bytes(PIECE_BYTES) + b"x", LONG], ids=len)
def test_bytes_come_back_as_they_were(store: Store, content: bytes) -> None:
    id = _keep(store, content)
    assert store.read(lambda tx: blobs.read(tx, id)) == content
    assert store.read(lambda tx: tx.get(BLOB, id))[BLOB.position["size"]] == len(content)


def test_the_same_bytes_are_kept_once(store: Store) -> None:
    assert _keep(store, LONG) == _keep(store, LONG)
    assert _keep(store, LONG[:-1]) != _keep(store, LONG)
    assert len(store.read(lambda tx: tx.find(BLOB))) == 2


def test_bytes_stay_until_their_last_use_is_forgotten(store: Store) -> None:
    id = _keep(store, LONG)
    _keep(store, LONG)
    _forget(store, id)
    assert store.read(lambda tx: blobs.read(tx, id)) == LONG
    _forget(store, id)
    assert store.read(lambda tx: blobs.read(tx, id)) == b""
    assert store.read(lambda tx: tx.find(BLOB_PIECE)) == []
    _forget(store, id)  # deleted already: no effect


@pytest.mark.parametrize(
    ("start", "end"),
    [
        (0, 1),
        (0, None),
        (5, 5),
        (PIECE_BYTES - 1, PIECE_BYTES + 1),
        (PIECE_BYTES, 2 * PIECE_BYTES),
        (PIECE_BYTES + 7, None),
        (1, len(LONG) - 1),
        (len(LONG) - 1, len(LONG)),
        (len(LONG), len(LONG) + 10),
        (len(LONG) + PIECE_BYTES, None),
        (10, 10 * len(LONG)),
    ],
)
def test_any_range_can_be_read(store: Store, start: int, end: int | None) -> None:
    id = _keep(store, LONG)
    assert store.read(lambda tx: b"".join(blobs.pieces(tx, id, start, end))) == LONG[start:end]


def test_no_piece_is_larger_than_a_row(store: Store) -> None:
    id = _keep(store, LONG)
    sizes = store.read(lambda tx: [len(piece) for piece in blobs.pieces(tx, id)])
    assert sizes == [PIECE_BYTES, PIECE_BYTES, 1000]


def test_many_are_read_at_once_without_the_large_ones(store: Store) -> None:
    small, large, empty = _keep(store, b"small"), _keep(store, LONG), _keep(store, b"")

    def work(tx):
        found = blobs.read_many(tx, [small, large, empty, 999], max_bytes=1000)
        return found, tx.statements

    found, statements = store.read(work)
    assert found == {small: b"small"} and statements == 1
    assert store.read(lambda tx: blobs.read_many(tx, [small, large], max_bytes=len(LONG)))[large] == LONG


def test_bytes_of_a_failed_write_are_not_there(store: Store) -> None:
    def failing(tx) -> None:
        blobs.keep(tx, LONG)
        raise ValueError

    with pytest.raises(ValueError):
        store.write(failing)
    assert store.read(lambda tx: (tx.find(BLOB), tx.find(BLOB_PIECE))) == ([], [])
