"""Composed statements mean the same in PostgreSQL as in SQLite."""

from typing import Any

import peewee
import pytest

from server.store import expressions, fulltext
from server.store.postgresql.composing import COMPOSER, PostgresqlContext
from server.store.statements import in_list, slot
from server.store.tables import Column, Table
from tests.store.conftest import PUMP, WORDS

MARKED = Table("marked", [Column("name", "TEXT"), Column("sold_at", null=True), Column("code", "TEXT", nocase=True)])
TABLE, SOLD = PUMP.sql, MARKED.sql
HEAD = 'SELECT "t1"."id" FROM "pump" AS "t1"'
SOLD_HEAD = 'SELECT "t1"."id" FROM "marked" AS "t1"'


def pumps() -> Any:
    return TABLE.select(TABLE.id)


def sold() -> Any:
    return SOLD.select(SOLD.id)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        # Values are numbered by their slots, whichever is used first.
        (pumps().where(TABLE.name == slot(0)), f'{HEAD} WHERE ("t1"."name" = $1)'),
        # PostgreSQL calls these functions by other names.
        (TABLE.select(peewee.fn.fold(TABLE.name)), 'SELECT svc_fold("t1"."name") FROM "pump" AS "t1"'),
        (TABLE.select(peewee.fn.TOTAL(TABLE.litres)), 'SELECT SUM("t1"."litres") FROM "pump" AS "t1"'),
        (TABLE.select(peewee.fn.date_part(TABLE.litres, slot(0), slot(1))),
         'SELECT svc_date_part("t1"."litres", $1, $2) FROM "pump" AS "t1"'),
        # LIKE ignores case; elsewhere the column type decides.
        (pumps().where(peewee.NodeList((TABLE.name, peewee.SQL("LIKE"), slot(0)))),
         f'{HEAD} WHERE "t1"."name" ILIKE $1'),
        (pumps().order_by(peewee.NodeList((TABLE.name, peewee.SQL("COLLATE NOCASE")))),
         f'{HEAD} ORDER BY "t1"."name"  ASC NULLS FIRST'),
        # NULL sorts first. For a column that cannot be NULL the clause is omitted, so that an index fits.
        (pumps().order_by(TABLE.name), f'{HEAD} ORDER BY "t1"."name" ASC'),
        (pumps().order_by(TABLE.name.desc()), f'{HEAD} ORDER BY "t1"."name" DESC'),
        (sold().order_by(SOLD.sold_at), f'{SOLD_HEAD} ORDER BY "t1"."sold_at" ASC NULLS FIRST'),
        (sold().order_by(SOLD.sold_at.desc()), f'{SOLD_HEAD} ORDER BY "t1"."sold_at" DESC NULLS LAST'),
        (sold().order_by(SOLD.sold_at.asc(nulls="LAST")), f'{SOLD_HEAD} ORDER BY "t1"."sold_at" ASC NULLS LAST'),
        (pumps().order_by(peewee.fn.fold(TABLE.name).desc()),
         f'{HEAD} ORDER BY svc_fold("t1"."name") DESC NULLS LAST'),
        (pumps().order_by(TABLE.litres + slot(0)), f'{HEAD} ORDER BY ("t1"."litres" + $1) ASC NULLS FIRST'),
        (TABLE.select(peewee.fn.ROW_NUMBER().over(order_by=[peewee.fn.fold(TABLE.name)])),
         'SELECT ROW_NUMBER() OVER (ORDER BY svc_fold("t1"."name") ASC NULLS FIRST) FROM "pump" AS "t1"'),
        # A list is bound as one value.
        (pumps().where(in_list(TABLE.id, slot(0))), f'{HEAD} WHERE ("t1"."id" = ANY($1))'),
        (pumps().where(expressions.contains(TABLE.name, slot(0))), f'{HEAD} WHERE ((STRPOS("t1"."name", $1) > 0))'),
        (sold().where(expressions.is_exactly(SOLD.code, slot(0))), f'{SOLD_HEAD} WHERE (("t1"."code"::text = $1))'),
    ],
)  # fmt: skip
def test_a_statement_becomes_one_of_postgresql(query: Any, text: str) -> None:
    assert COMPOSER.statement(query).sql == text


@pytest.mark.parametrize(
    ("values", "array"),
    [
        ("[]", "{}"), ("[1, -2]", "{1,-2}"), ("[true, false, null]", "{1,0,NULL}"), ("[1.5]", "{1.5}"),
        ('["a", ""]', '{"a",""}'), ('["a,b", "{c}", "NULL"]', '{"a,b","{c}","NULL"}'),
        (r'["say \"hi\"", "a\\b"]', r'{"say \"hi\"","a\\b"}'), (r'["a\u0000b"]', '{"a\ufffdb"}'),
        ('["\\"},{\\""]', r'{"\"},{\""}'),
    ],
)  # fmt: skip
def test_a_list_becomes_an_array(values: str, array: str) -> None:
    assert PostgresqlContext.array(values) == array


def test_words_of_a_search_become_a_query_when_they_are_bound() -> None:
    statement = COMPOSER.statement(pumps().where(fulltext.match(WORDS, slot(0))))
    assert "@@" in statement.sql and list(statement.bind(('"leaking" "pump"*',))) == ["'leaking' & 'pump':*"]
