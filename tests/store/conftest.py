"""A store with two tables of pumps, opened the way the service opens its store."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from server.store import schema
from server.store.blobs import BLOB, BLOB_PIECE
from server.store.database import Store
from server.store.fulltext import TextIndex
from server.store.tables import Column, Index, Table
from tests import databases

PUMP = Table(
    "pump",
    [Column("name", "TEXT"), Column("litres"), Column("place", "TEXT", default="cellar"), Column("manual", "BLOB")],
    [Index(("name",), "finding a pump by its name")],
    bumps={"pumps": (), "pump names": ("name",)},
    summary=("litres", "place"),
)
PART = Table("part", [Column("pump_id", references="pump(id)"), Column("name", "TEXT")])
LETTER = Table("letter", [Column("text", "BLOB")])  # no trigger and no foreign key: see test_full.py
WORDS = TextIndex("pump_words", ("name", "notes"), "pump")
TABLES = [PUMP, PART, LETTER, BLOB, BLOB_PIECE]

# Produces rows forever: a statement that runs until it is interrupted.
ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT "


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The path of a database; with --store=postgresql an empty database stands in for the file."""
    path = tmp_path / "helpdesk.db"
    if databases.is_postgresql():
        databases.address_of(path, databases.BLANK)
    return path


@pytest.fixture
def opened(path: Path) -> Iterator[Callable[..., Store]]:
    """Opens stores on `path`, and closes them after the test."""
    stores: list[Store] = []

    def open_one(**options: Any) -> Store:
        stores.append(schema.open_store(path, TABLES, [WORDS], **options))
        return stores[-1]

    yield open_one
    for each in stores:
        each.close()


@pytest.fixture
def store(opened: Callable[..., Store]) -> Store:
    return opened()


def add_pump(store: Store, name: str, **values: Any) -> int:
    return store.write(lambda tx: tx.insert(PUMP, {"name": name, **values}))


def names(store: Store) -> list[str]:
    """The names of all pumps, oldest first."""
    return [row[1] for row in store.read(lambda tx: tx.find(PUMP))]
