"""Each shape is compiled once, and the cache of shapes is bounded."""

import peewee
import pytest

from server.store import statements
from server.store.database import Store
from server.store.statement_shapes import keyed
from server.store.statements import MAX_STATEMENTS, SQLITE_COMPOSER, StatementCache, in_list, slot
from tests import databases
from tests.composed_anew import uncompared
from tests.store.conftest import PUMP, add_pump

TABLE = PUMP.sql


def test_a_shape_is_built_once() -> None:
    cache, built = StatementCache(SQLITE_COMPOSER.statement), []

    def build() -> peewee.Query:
        built.append(1)
        return TABLE.select(TABLE.id).where(TABLE.litres == slot(0))

    with uncompared():
        found = {id(cache.get(keyed(build))) for _ in range(5)}
    assert len(found) == 1 and len(built) == 1


def test_the_memory_of_shapes_is_bounded() -> None:
    cache = StatementCache(SQLITE_COMPOSER.statement, limit=10)
    for number in range(1000):
        cache.get(keyed(lambda: TABLE.select(TABLE.id), number))
        assert len(cache._statements) <= 10
    assert MAX_STATEMENTS <= 10_000


def test_the_memory_of_long_texts_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statements, "MAX_CHARS", 1000)
    cache = StatementCache(SQLITE_COMPOSER.statement)
    for number in range(200):
        cache.get(keyed(lambda: TABLE.select(TABLE.id), number))
        kept = cache._statements.values()
        assert sum(len(each.sql) for each in kept) <= 1000 + len(next(iter(kept)).sql)


def test_values_go_where_their_slots_stand() -> None:
    query = TABLE.select(TABLE.id).where(TABLE.name == slot(1), TABLE.litres == slot(0), TABLE.place == "roof")
    assert list(SQLITE_COMPOSER.statement(query).bind((5, "p"))) == ["p", 5, "roof"]


def test_a_slot_may_stand_twice() -> None:
    query = TABLE.select(TABLE.id).where((TABLE.name == slot(0)) | (TABLE.place == slot(0)))
    assert list(SQLITE_COMPOSER.statement(query).bind(("x",))) == ["x", "x"]


def test_a_fragment_takes_its_values_wherever_it_stands(store: Store) -> None:
    """It uses the table aliases of the statement around it, and a question mark in its text is not a placeholder."""
    name = TABLE.name.concat(peewee.SQL("'?'"))
    leaks = SQLITE_COMPOSER.fragment(
        TABLE.select(TABLE.id).where(TABLE.litres >= slot(0), name == slot(1), TABLE.place == "cellar")
    )
    dry, wet = add_pump(store, "p", litres=1), add_pump(store, "p", litres=7)

    def found(least: int, named: str) -> list[int]:
        query = TABLE.select(TABLE.id).where(
            TABLE.name == slot(0), TABLE.id.in_(leaks.node(lambda index: slot(index + 1))), TABLE.litres < slot(3)
        ).order_by(TABLE.id)  # fmt: skip
        return [row[0] for row in store.read(lambda tx: tx.rows(keyed(lambda: query), ("p", least, named, 9)))]

    assert (found(1, "p?"), found(2, "p?"), found(1, "p")) == ([dry, wet], [wet], [])


def test_text_of_users_is_never_part_of_a_statement(store: Store) -> None:
    for name in ("'; DROP TABLE pump; --", '"', "\x00", "%_*", "Robert'); --", "😀"):
        id = add_pump(store, name)
        assert store.read(lambda tx, name=name: tx.find(PUMP, name=name))[0][0] == id
        kept = name.replace("\0", "\ufffd") if databases.is_postgresql() else name  # PostgreSQL allows no such text
        assert store.read(lambda tx, id=id: tx.get(PUMP, id))[1] == kept


def test_a_list_of_any_length_is_one_shape(store: Store) -> None:
    ids = [add_pump(store, f"pump {number}") for number in range(5)]
    size = len(store.statements._statements)
    for wanted in (ids, ids[:1], ids[1:4]):
        assert [row[0] for row in store.read(lambda tx, wanted=wanted: tx.get_many(PUMP, wanted))] == wanted
    assert len(store.statements._statements) == size + 1
    assert store.read(lambda tx: tx.get_many(PUMP, [])) == []
    assert "json_each" in SQLITE_COMPOSER.statement(TABLE.select(TABLE.id).where(in_list(TABLE.id, slot(0)))).sql
