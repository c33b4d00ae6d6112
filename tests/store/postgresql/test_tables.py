"""Tables in PostgreSQL match their declarations, and existing ones are not created again."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from server.errors import Conflict, Damaged
from server.store import schema
from server.store.database import Store
from server.store.postgresql.store import PostgresqlStore
from server.store.tables import Column, Index, Table
from tests.store.conftest import PUMP, TABLES, WORDS, add_pump, names

KINDS = Table(
    "kinds",
    [
        Column("number"), Column("share", "REAL"), Column("text", "TEXT"), Column("name", "TEXT", nocase=True),
        Column("bytes", "BLOB"), Column("any", "ANY", null=True), Column("sold_at", null=True),
        Column("pump_id", references="pump(id)"),
    ],
    [
        Index(("number", "sold_at"), "newest first"), Index(("name",), "one of a name", unique=True),
        Index(("text",), "those with a text", where="text <> ''"),
    ],
)  # fmt: skip


def asked(store: Store, text: str, *values: Any) -> list[Any]:
    return list(store.read(lambda tx: tx.connection.execute(text, values)))


@pytest.mark.parametrize(
    ("column", "kind", "collation", "may_be_null"),
    [
        ("id", "bigint", None, False), ("number", "bigint", None, False), ("share", "double precision", None, False),
        ("text", "text", "C", False), ("name", "citext", "C", False), ("bytes", "bytea", None, False),
        ("any", "text", "C", True), ("sold_at", "bigint", None, True), ("pump_id", "bigint", None, False),
    ],
)  # fmt: skip
def test_each_kind_of_column_has_its_type(
    store: Store, column: str, kind: str, collation: str | None, may_be_null: bool
) -> None:
    store.write(lambda tx: schema.add_tables(tx, [KINDS]))
    text = """SELECT format_type(atttypid, atttypmod), CASE WHEN attcollation > 0 THEN collname END, NOT attnotnull
        FROM pg_attribute LEFT JOIN pg_collation ON pg_collation.oid = attcollation
        WHERE attrelid = 'kinds'::regclass AND attname = $1"""
    assert asked(store, text, column) == [(kind, collation, may_be_null)]


def test_indexes_sort_as_statements_ask_for_it(store: Store) -> None:
    store.write(lambda tx: schema.add_tables(tx, [KINDS]))
    found = dict(asked(store, "SELECT indexname::text, indexdef FROM pg_indexes WHERE tablename = 'kinds'"))
    assert found.pop("kinds_pkey")
    assert {name: text.partition(" btree ")[2] for name, text in found.items()} == {
        "kinds_by_number_sold_at": "(number, sold_at NULLS FIRST)", "kinds_by_name": "(name)",
        "kinds_by_text": "(text) WHERE (text <> ''::text)",
    }  # fmt: skip
    assert "UNIQUE" in found["kinds_by_name"] and "UNIQUE" not in found["kinds_by_text"]


def test_names_whose_case_does_not_count_are_one(store: Store) -> None:
    pump = add_pump(store, "of all")

    def add(name: str) -> int:
        return store.write(lambda tx: tx.insert(KINDS, {"name": name, "pump_id": pump}))

    store.write(lambda tx: schema.add_tables(tx, [KINDS]))
    kite, kites = add("Kite"), add("kites")
    with pytest.raises(Exception, match="unique"):
        add("kITE")
    for name, id in (("KITE", kite), ("KITES", kites)):
        assert [row[0] for row in store.read(lambda tx, name=name: tx.find(KINDS, name=name))] == [id]


def test_a_start_that_finds_all_writes_nothing(
    path: Path, opened: Callable[..., Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    add_pump(opened(), "stays")
    begun: list[object] = []
    begin = PostgresqlStore.begin
    monkeypatch.setattr(PostgresqlStore, "begin", lambda store: begun.append(store) or begin(store))
    assert names(opened()) == ["stays"] and begun == []


def test_what_is_as_declared_is_not_made_again(store: Store) -> None:
    text = "SELECT oid::bigint, relname::text FROM pg_class WHERE relnamespace = 'public'::regnamespace ORDER BY 1"
    triggers = "SELECT oid::bigint, tgname::text FROM pg_trigger ORDER BY 1"
    before = asked(store, text), asked(store, triggers)
    store.write(lambda tx: schema.add_all(tx, schema.base_tables(TABLES), [WORDS]))
    assert (asked(store, text), asked(store, triggers)) == before


def test_two_that_start_at_once_make_each_table_once(path: Path, opened: Callable[..., Store]) -> None:
    """The second process waits for its turn and finds all tables."""
    first, second = opened(), opened()
    for store in (second, first):
        store.write(lambda tx: schema.add_tables(tx, [KINDS]))
        assert store.read(lambda tx: schema.lacks(tx, [KINDS])) is False
        assert store.read(lambda tx: schema.problems(tx, [PUMP], [WORDS])) == []


def test_a_begun_copy_and_a_database_of_a_newer_version_are_refused(path: Path, opened: Callable[..., Store]) -> None:
    store = opened()
    store.write(lambda tx: tx.connection.execute("UPDATE meta SET value = '99999999' WHERE name = 'schema_number'"))
    with pytest.raises(Damaged, match="newer version"):
        opened()
    store.write(lambda tx: schema.add_tables(tx, [schema.MOVING]))
    with pytest.raises(Damaged, match="begun copy"):
        opened()


def test_one_copies_into_a_database_at_a_time(opened: Callable[..., Store]) -> None:
    first, second = opened(), opened()
    first.claim()
    with pytest.raises(Conflict, match="another process copies"):
        second.claim()
