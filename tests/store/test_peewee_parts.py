"""What peewee_parts.py takes of peewee means what it is taken for."""

import peewee

from server.store.peewee_parts import column_name, stand_in
from server.store.statements import SQLITE_COMPOSER
from tests.store.conftest import PUMP


def test_columns_are_named_with_their_table_and_its_alias() -> None:
    assert column_name(PUMP.sql.name) == "pump .name"
    assert column_name(PUMP.sql.alias("own").name) == "pump own.name"
    assert column_name(peewee.Table("pump").c.name) == "pump .name"


def test_a_stand_in_takes_expressions_of_the_other_table() -> None:
    other = peewee.Table("well", ("name", "n"))
    found = stand_in(PUMP.sql, other)
    sql = SQLITE_COMPOSER.statement(found.select(found.n).where(PUMP.sql.name == "p")).sql
    assert sql == 'SELECT "t1"."n" FROM "well" AS "t1" WHERE ("t1"."name" = ?)'
    assert SQLITE_COMPOSER.statement(other.select(other.n)).sql == 'SELECT "t1"."n" FROM "well" AS "t1"'
    assert hash(other) != hash(PUMP.sql)
