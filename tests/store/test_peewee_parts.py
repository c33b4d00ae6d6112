"""The parts of peewee that peewee_parts.py uses behave as it assumes."""

import subprocess
import sys

import peewee

from server.store.peewee_parts import column_name, stand_in
from server.store.statements import SQLITE_COMPOSER
from tests.store.conftest import PUMP

UPSERT = """
import sys
sys.modules["sqlite3"] = None  # as in the executable
import peewee
from server.store.statements import SQLITE_COMPOSER, slot
table = peewee.Table("pump", ("name", "n"))
upsert = table.insert({table.name: slot(0)}).on_conflict(conflict_target=[table.name], update={table.n: table.n + 1})
print(SQLITE_COMPOSER.statement(upsert).sql)
"""


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


def test_an_upsert_is_composed_where_python_has_no_sqlite_of_its_own() -> None:
    done = subprocess.run([sys.executable, "-c", UPSERT], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert 'ON CONFLICT ("name") DO UPDATE SET "n" = ' in done.stdout
