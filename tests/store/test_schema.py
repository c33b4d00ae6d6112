"""A start adds additive changes, and does not write to a file that needs none."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from server.errors import TimedOut
from server.store import schema
from server.store.blobs import BLOB, BLOB_PIECE
from server.store.database import Store
from server.store.fulltext import TextIndex
from server.store.recounting import recounted
from server.store.tables import Column, Index, Table
from tests import databases
from tests.store.conftest import PART, PUMP, TABLES, WORDS, add_pump

OF_SUMMARY = {"pump_summary" if databases.is_postgresql() else "pump_summary_update"}  # triggers


def _opened(path: Path, tables: Iterable[Table] = TABLES, texts: Iterable[TextIndex] = (WORDS,)) -> Store:
    return schema.open_store(path, tables, texts)


def _tables(store: Store) -> set[str]:
    return set(store.read(lambda tx: databases.tables(tx.connection)))


def _indexes(store: Store) -> set[str]:
    return set(store.read(lambda tx: databases.indexes(tx.connection)))


def _triggers(store: Store) -> set[str]:
    return set(store.read(lambda tx: databases.triggers(tx.connection)))


def _with(table: Table, **parts: object) -> Table:
    """The table with a changed declaration."""
    own = {
        "columns": table.columns, "indexes": table.indexes, "key": table.key, "bumps": table.bumps,
        "summary": table.summary, "days": table.days,
    }  # fmt: skip
    return Table(table.name, **{**own, **parts})  # type: ignore[arg-type]


def test_a_new_file_holds_all_that_is_declared(path: Path) -> None:
    store = _opened(path)
    assert {"pump", "part", "pump_summary", "pump_words", "meta"} <= _tables(store)
    assert "pump_by_name" in _indexes(store)
    assert _triggers(store) >= OF_SUMMARY
    assert store.read(lambda tx: schema.problems(tx, TABLES, [WORDS])) == []
    assert store.check() == []
    store.close()


@pytest.mark.sqlite("the file of the database")
def test_an_unchanged_file_is_not_written(path: Path) -> None:
    store = _opened(path)
    add_pump(store, "stays")
    store.close()
    before = path.read_bytes()
    store = _opened(path)
    log = path.with_name(f"{path.name}-wal")
    assert not log.exists() or log.stat().st_size == 0
    store.close()
    assert path.read_bytes() == before


def test_a_new_table_is_added(path: Path) -> None:
    _opened(path, [PUMP, BLOB, BLOB_PIECE]).close()
    store = _opened(path)
    assert store.write(lambda tx: tx.insert(PART, {"pump_id": tx.insert(PUMP, {"name": "p"}), "name": "seal"})) == 1
    store.close()


@pytest.mark.parametrize(
    ("column", "value"),
    [
        (Column("price"), 0),
        (Column("price", default=7), 7),
        (Column("maker", "TEXT"), ""),
        (Column("maker", "TEXT", default="O'Neill"), "O'Neill"),
        (Column("weight", "REAL", default=1.5), 1.5),
        (Column("photo", "BLOB"), b""),
        (Column("sold_at", null=True), None),
        (Column("extra", "ANY", null=True), None),
        (Column("code", "TEXT", nocase=True), ""),
    ],
)
def test_a_new_column_is_added_with_its_initial_value(path: Path, column: Column, value: object) -> None:
    store = _opened(path)
    id = add_pump(store, "old")
    store.close()
    wider = _with(PUMP, columns=[*PUMP.columns, column])
    store = _opened(path, [wider])
    row = store.read(lambda tx: tx.get(wider, id))
    assert row is not None and row[wider.position[column.name]] == value and row[1] == "old"
    store.close()


def test_indexes_are_added_changed_and_dropped(path: Path) -> None:
    store = _opened(path)
    store.close()
    other = _with(PUMP, indexes=[Index(("litres", "place"), "the largest of a place", where="litres > 0")])
    store = _opened(path, [other])
    assert "pump_by_litres_place" in _indexes(store) and "pump_by_name" not in _indexes(store)
    store.close()
    unique = _with(PUMP, indexes=[Index(("litres", "place"), "one of a size at a place", unique=True)])
    store = _opened(path, [unique])
    add_pump(store, "first", litres=1)
    with pytest.raises(Exception, match=r"(?i)unique"):
        add_pump(store, "second", litres=1)
    store.close()


@pytest.mark.sqlite("it checks the time every thousand steps, however fast the machine")
def test_an_index_may_take_longer_than_other_writes(path: Path) -> None:
    store = _opened(path)
    store.write(lambda tx: [tx.insert(PUMP, {"name": f"p{number}", "litres": number}) for number in range(3000)])
    store.close()
    indexed = _with(PUMP, indexes=[Index(("litres", "name"), "pumps by their size")])
    with pytest.MonkeyPatch.context() as patch:  # each write has no time at all
        patch.setattr(Store, "start_clock", lambda self: setattr(self._local, "deadline", 0.0))
        store = _opened(path, [indexed])
        assert "pump_by_litres_name" in _indexes(store)
        with pytest.raises(TimedOut):
            store.write(lambda tx: tx.find(indexed))
    store.close()


def test_a_summary_declared_later_counts_what_is_there(path: Path) -> None:
    plain = _with(PUMP, summary=())
    store = _opened(path, [plain])
    for litres in (1, 1, 2):
        add_pump(store, "p", litres=litres)
    store.close()
    store = _opened(path, [PUMP])
    assert store.read(lambda tx: tx.find(PUMP.summary_table)) == [(1, "cellar", 2), (2, "cellar", 1)]
    store.close()


def test_a_summary_by_other_columns_is_counted_again(path: Path) -> None:
    store = _opened(path)
    for litres in (1, 1, 2):
        add_pump(store, "p", litres=litres)
    store.close()
    by_place = _with(PUMP, summary=("place",))
    store = _opened(path, [by_place])
    add_pump(store, "q", place="roof")
    assert store.read(lambda tx: tx.find(by_place.summary_table)) == [("cellar", 3), ("roof", 1)]
    store.close()


def test_a_count_without_its_triggers_is_counted_again(path: Path) -> None:
    counted = _with(PUMP, days=("litres", "place"))
    store = _opened(path, [counted])
    add_pump(store, "p", litres=86_500)
    store.close()
    older = _opened(path, [_with(PUMP, summary=())])
    add_pump(older, "q", litres=86_600)
    add_pump(older, "r", litres=5)
    older.close()
    store = _opened(path, [counted])
    assert store.read(lambda tx: tx.find(counted.days_table)) == [(1, "cellar", 1), (86_400, "cellar", 2)]
    assert [row[2] for row in store.read(lambda tx: tx.find(counted.summary_table))] == [1, 1, 1]
    store.close()


def test_wrong_counts_are_reported_and_counted_again(path: Path) -> None:
    counted = _with(PUMP, days=("litres", "place"))
    store = _opened(path, [counted])
    for litres in (0, 5, 86_399, 86_400, 172_799):
        add_pump(store, "p", litres=litres)
    right = [(0, "cellar", 1), (1, "cellar", 2), (86_400, "cellar", 2)]
    for change in (
        lambda tx: tx.put(counted.days_table, {"litres": 1, "place": "cellar", "n": 3}),
        lambda tx: tx.put(counted.days_table, {"litres": 1, "place": "roof", "n": 1}),
        lambda tx: tx.delete(counted.days_table, litres=0),
    ):
        assert recounted(store, [counted]) == []
        store.write(change)
        assert recounted(store, [counted]) == ["pump_days did not match the rows of pump; counted again"]
        assert store.read(lambda tx: tx.find(counted.days_table)) == right
    store.close()


@pytest.mark.sqlite("texts of tables of SQLite")
def test_triggers_that_are_declared_no_more_are_dropped(path: Path) -> None:
    _opened(path).close()
    bare = _with(PUMP, bumps={}, summary=())
    store = _opened(path, [bare])
    assert _triggers(store) == set()
    add_pump(store, "p")
    store.close()


def test_a_new_full_text_index_is_added(path: Path) -> None:
    bare = _opened(path, texts=[])
    assert "pump_words" not in _tables(bare)
    bare.close()
    store = _opened(path)
    assert "pump_words" in _tables(store)
    store.close()


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("DROP TABLE part", "table part is missing"),
        ("DROP INDEX pump_by_name", "index pump_by_name is missing"),
        ("ALTER TABLE part DROP COLUMN name", "column part.name is missing"),
        ("DROP TABLE pump_words", "full-text index pump_words is missing"),
    ],
)
def test_missing_parts_of_the_file_are_reported(path: Path, statement: str, problem: str) -> None:
    store = _opened(path)
    store.write(lambda tx: tx.connection.execute(statement))
    assert problem in store.read(lambda tx: schema.problems(tx, TABLES, [WORDS]))
    store.close()
