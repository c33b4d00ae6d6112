"""Declares tables: columns, indexes, triggers. Values only; schema.py creates them in the database."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from functools import cache, cached_property
from hashlib import sha256
from typing import Any, Literal

import peewee

from server.dataclass import dataclass
from server.store.statement_shapes import Part
from server.store.statements import BUMPING, LOGS

Kind = Literal["INTEGER", "REAL", "TEXT", "BLOB", "ANY"]
_NULLABLE: dict[str, set[str]] = {}  # the columns of each declared table that may be null
_TYPES: dict[str, type] = {"INTEGER": int, "REAL": float, "TEXT": str}
DAY = 86_400
MAX_NAME_CHARS = 63  # PostgreSQL cuts off longer names
EMPTY: dict[str, Any] = {"INTEGER": 0, "REAL": 0.0, "TEXT": ""}


@cache
def table_named(name: str) -> Any:
    """Returns a handle of a table that a higher module declares, with its columns under `.c`. Where the declaration can
    be imported, its `.sql` is the handle."""
    return peewee.Table(name)


@dataclass(frozen=True, slots=True)
class Column:
    """A column. `default` None is the empty value of its kind; `null` True allows NULL and defaults to it.

    `references` names "table(column)" of a foreign key that cascades deletes."""

    name: str
    kind: Kind = "INTEGER"
    default: Any = None
    null: bool = False
    references: str = ""
    nocase: bool = False

    @property
    def initial(self) -> Any:
        """Returns the value of a row inserted without one."""
        if self.null:
            return None
        return EMPTY.get(self.kind, b"") if self.default is None else self.default


@dataclass(frozen=True, slots=True)
class Index:
    """An index. `where` is the SQL condition of a partial one. `serves` names its query."""

    columns: tuple[str, ...]
    serves: str
    unique: bool = False
    where: str = ""


@dataclass(frozen=True, eq=False)
class Table(Part):
    """A table. Without a `key` it has a rising integer `id` that is never reused; otherwise `key` is its primary key.

    bumps: {version name: columns whose change counts, () for all}; see versions in schema.py. summary: columns whose
    combinations triggers count in `<name>_summary`. summary_index: those of a further index of the counts. days: the
    same in `<name>_days`, where the first column, of Unix seconds, is grouped by days in UTC. is_settled: rows seldom
    change and most writes read some, so the writer caches them. is_log: rows are only added, by most writes; see
    Transaction.append."""

    name: str
    columns: Sequence[Column]
    indexes: Sequence[Index] = ()
    key: tuple[str, ...] = ()
    bumps: dict[str, tuple[str, ...]] = field(default_factory=dict)
    summary: tuple[str, ...] = ()
    summary_index: tuple[str, ...] = ()
    days: tuple[str, ...] = ()
    is_settled: bool = False
    is_log: bool = False

    def __post_init__(self) -> None:
        _NULLABLE.setdefault(self.name, set()).update(column.name for column in self.columns if column.null)
        if self.bumps:
            BUMPING.add(self.name)
        if self.is_log:
            LOGS.add(self.name)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Returns the column names in the order of a row, `id` first if there is one."""
        own = tuple(column.name for column in self.columns)
        return own if self.key else ("id", *own)

    @cached_property
    def position(self) -> dict[str, int]:
        """Returns {column name: position in a row}."""
        return {name: place for place, name in enumerate(self.names)}

    @cached_property
    def initial(self) -> dict[str, Any]:
        """Returns the initial values of all columns, in order."""
        initial = {column.name: column.initial for column in self.columns}
        return initial if self.key else {"id": 0, **initial}

    @cached_property
    def types(self) -> dict[str, type]:
        """Returns the types of values that are read; `object` where more than one is possible."""
        kinds = {column.name: _TYPES.get(column.kind, object) for column in self.columns}
        return kinds if self.key else {"id": int, **kinds}

    @cached_property
    def sql(self) -> Any:
        """Returns the table for composing statements: a peewee.Table, whose columns type checkers do not know."""
        return peewee.Table(self.name, self.names)

    @cached_property
    def all_columns(self) -> list[Any]:
        """Returns the columns of a whole row, for select."""
        return [getattr(self.sql, name) for name in self.names]

    @cached_property
    def summary_table(self) -> "Table":
        """Returns the table of counts of `summary`: its columns and `n`."""
        return _counts_table(self, "summary", self.summary, self.summary_index)

    @cached_property
    def days_table(self) -> "Table":
        """Returns the table of counts of `days`."""
        return _counts_table(self, "days", self.days)

    @property
    def counts(self) -> "list[KeptCounts]":
        """Returns the counts of its rows that triggers maintain."""
        counts = [KeptCounts(self.summary_table, self)] if self.summary else []
        return counts + ([KeptCounts(self.days_table, self, self.days[0])] if self.days else [])


def _counts_table(table: Table, name: str, columns: tuple[str, ...], index: tuple[str, ...] = ()) -> Table:
    kinds = {column.name: column.kind for column in table.columns}
    indexes = [Index(index, "counts by columns other than the first")] if index else []
    columns_of_table = [*(Column(each, kinds[each]) for each in columns), Column("n")]
    return Table(f"{table.name}_{name}", columns_of_table, indexes, key=columns)


@dataclass(frozen=True)
class KeptCounts:
    """The number of rows of a table by the values in the columns of `counts`. day: the column that is grouped by
    days."""

    counts: Table
    of: Table
    day: str = ""

    @property
    def name(self) -> str:
        """Returns the name of the table of counts, which its triggers begin with."""
        return self.counts.name

    @property
    def columns(self) -> str:
        """Returns the grouping columns, as a statement lists them."""
        return ", ".join(f'"{name}"' for name in self.counts.key)

    def values(self, row: str = "") -> list[str]:
        """Returns the grouping expressions, for each row or for the row that a trigger calls NEW or OLD."""
        return [self._value(name, f'{row}."{name}"' if row else f'"{name}"') for name in self.counts.key]

    def _value(self, name: str, column: str) -> str:
        """Returns the first second of the day, but 1 for 1970-01-01, since 0 is no date. Divided by the seconds of a
        day both give the day of the column itself."""
        if name != self.day:
            return column
        whole = f"{column} / {DAY} * {DAY}"
        return f"CASE WHEN {whole} <> 0 THEN {whole} WHEN {column} <> 0 THEN 1 ELSE 0 END"

    @property
    def fill(self) -> str:
        """Returns the statement that counts all rows into an empty table of counts."""
        return f'INSERT INTO "{self.name}" ({self.columns}, n) {self.counted}'

    @property
    def counted(self) -> str:
        """Returns the select of the correct counts."""
        places = ", ".join(str(place + 1) for place in range(len(self.counts.key)))
        return f'SELECT {", ".join(self.values())}, count(*) FROM "{self.of.name}" GROUP BY {places}'


def with_counts(tables: Iterable[Table]) -> list[Table]:
    """Returns these tables and their tables of counts."""
    all_tables = list(tables)
    return all_tables + [counts.counts for table in all_tables for counts in table.counts]


def index_name(table: Table, index: Index) -> str:
    """Returns the name of an index in the database."""
    name = "{}_by_{}".format(table.name, "_".join(re.sub(r"\W", "", column) for column in index.columns))
    if len(name) > MAX_NAME_CHARS:
        name = f"{name[: MAX_NAME_CHARS - 9]}_{sha256(name.encode()).hexdigest()[:8]}"
    return name


def may_be_null(table: str, column: str) -> bool:
    """Returns whether a column may be null; every column of an undeclared table may."""
    return column != "id" and (table not in _NULLABLE or column in _NULLABLE[table])


def column_text(column: Column, kind: str, of_bytes: Callable[[bytes], str]) -> str:
    """Returns the definition of a column in CREATE TABLE. kind: the type name of the database. of_bytes: writes a
    literal of bytes."""
    text = f'"{column.name}" {kind}'
    if not column.null:
        text += f" NOT NULL DEFAULT {_literal(column.initial, of_bytes)}"
    if column.references:
        text += f" REFERENCES {column.references} ON DELETE CASCADE"
    return text


def _literal(value: object, of_bytes: Callable[[bytes], str]) -> str:
    if isinstance(value, bytes):
        return of_bytes(value)
    if isinstance(value, str):
        return "'{}'".format(value.replace("'", "''"))
    return str(int(value)) if isinstance(value, bool) else str(value)
