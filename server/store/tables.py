"""What a table looks like: columns, indexes, triggers. Values only; schema.py makes them real in the file."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from functools import cache, cached_property
from typing import Any, Literal

import peewee

from server.dataclass import dataclass
from server.store.shapes import Part
from server.store.statements import BUMPING, LOGS

Kind = Literal["INTEGER", "REAL", "TEXT", "BLOB", "ANY"]
_NULLABLE: dict[str, set[str]] = {}  # the columns of each declared table that may be null
_TYPES: dict[str, type] = {"INTEGER": int, "REAL": float, "TEXT": str}
DAY = 86_400
EMPTY: dict[str, Any] = {"INTEGER": 0, "REAL": 0.0, "TEXT": ""}


@cache
def table_named(name: str) -> Any:
    """The handle of a table that a room above declares; its columns are under `.c`. Where the declaration may be
    imported, its `.sql` is the handle."""
    return peewee.Table(name)


@dataclass(frozen=True, slots=True)
class Column:
    """One column. `default` None takes the empty value of its kind; `null` True allows NULL and defaults to it.

    `references` names "table(column)" for a foreign key that deletes along with its parent."""

    name: str
    kind: Kind = "INTEGER"
    default: Any = None
    null: bool = False
    references: str = ""
    nocase: bool = False

    @property
    def initial(self) -> Any:
        """The value of a row that does not give one."""
        if self.null:
            return None
        return EMPTY.get(self.kind, b"") if self.default is None else self.default


@dataclass(frozen=True, slots=True)
class Index:
    """An index. `where` is SQL text for a partial one. `serves` says which query it is for."""

    columns: tuple[str, ...]
    serves: str
    unique: bool = False
    where: str = ""


@dataclass(frozen=True, eq=False)
class Table(Part):
    """One table. With `key` empty it has a rising integer `id` that is never used twice; else `key` is its primary key.

    bumps: {version name: columns whose change counts, () for all}; see versions in schema.py.
    summary: columns whose combinations are counted in `<name>_summary`, kept true by triggers. days: the same in
    `<name>_days`, where the first column, of Unix seconds, is counted by its days in UTC.
    is_settled: its rows seldom change, and most writes ask for some; the writer keeps those that it has read.
    is_log: rows are only added, and by most writes; see Transaction.append.
    """

    name: str
    columns: Sequence[Column]
    indexes: Sequence[Index] = ()
    key: tuple[str, ...] = ()
    bumps: dict[str, tuple[str, ...]] = field(default_factory=dict)
    summary: tuple[str, ...] = ()
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
        """Column names in the order of a row, `id` first where there is one."""
        own = tuple(column.name for column in self.columns)
        return own if self.key else ("id", *own)

    @cached_property
    def position(self) -> dict[str, int]:
        """{column name: its place in a row}."""
        return {name: place for place, name in enumerate(self.names)}

    @cached_property
    def initial(self) -> dict[str, Any]:
        """What the columns of a row hold that does not give them, in their order."""
        initial = {column.name: column.initial for column in self.columns}
        return initial if self.key else {"id": 0, **initial}

    @cached_property
    def types(self) -> dict[str, type]:
        """How values of the columns are read; `object` where more than one way is possible."""
        kinds = {column.name: _TYPES.get(column.kind, object) for column in self.columns}
        return kinds if self.key else {"id": int, **kinds}

    @cached_property
    def sql(self) -> Any:
        """The table for composing statements; a peewee.Table, whose columns are attributes that no checker knows."""
        return peewee.Table(self.name, self.names)

    @cached_property
    def all_columns(self) -> list[Any]:
        """The columns of a whole row, for select."""
        return [getattr(self.sql, name) for name in self.names]

    @cached_property
    def summary_table(self) -> "Table":
        """The table of counts behind `summary`: its columns and `n`."""
        return _counts_table(self, "summary", self.summary)

    @cached_property
    def days_table(self) -> "Table":
        """The table of counts behind `days`."""
        return _counts_table(self, "days", self.days)

    @property
    def counts(self) -> "list[KeptCounts]":
        """The counts of its rows that triggers keep."""
        kept = [KeptCounts(self.summary_table, self)] if self.summary else []
        return kept + ([KeptCounts(self.days_table, self, self.days[0])] if self.days else [])


def _counts_table(table: Table, name: str, columns: tuple[str, ...]) -> Table:
    kinds = {column.name: column.kind for column in table.columns}
    return Table(f"{table.name}_{name}", [*(Column(each, kinds[each]) for each in columns), Column("n")], key=columns)


@dataclass(frozen=True)
class KeptCounts:
    """How many rows of a table have the same values in the columns of `counts`. day: the one counted by its days."""

    counts: Table
    of: Table
    day: str = ""

    @property
    def name(self) -> str:
        """Of the table of counts, and the start of the names of its triggers."""
        return self.counts.name

    @property
    def columns(self) -> str:
        """The columns counted by, as a statement lists them."""
        return ", ".join(f'"{name}"' for name in self.counts.key)

    def values(self, row: str = "") -> list[str]:
        """What is counted by, of a row that a trigger calls NEW or OLD, or of each."""
        return [self._value(name, f'{row}."{name}"' if row else f'"{name}"') for name in self.counts.key]

    def _value(self, name: str, column: str) -> str:
        """The first second of a day, but 1 for that of 1970-01-01: 0 is no date. Divided by the seconds of a day it is
        what the column itself would be."""
        if name != self.day:
            return column
        whole = f"{column} / {DAY} * {DAY}"
        return f"CASE WHEN {whole} <> 0 THEN {whole} WHEN {column} <> 0 THEN 1 ELSE 0 END"

    @property
    def fill(self) -> str:
        """The statement that counts all rows into an empty table of counts."""
        return f'INSERT INTO "{self.name}" ({self.columns}, n) {self.counted}'

    @property
    def counted(self) -> str:
        """The select of what it should hold."""
        places = ", ".join(str(place + 1) for place in range(len(self.counts.key)))
        return f'SELECT {", ".join(self.values())}, count(*) FROM "{self.of.name}" GROUP BY {places}'


def with_counts(tables: Iterable[Table]) -> list[Table]:
    """These tables and the tables of their counts."""
    listed = list(tables)
    return listed + [kept.counts for table in listed for kept in table.counts]


def index_name(table: Table, index: Index) -> str:
    """What an index is called in the database."""
    return "{}_by_{}".format(table.name, "_".join(re.sub(r"\W", "", column) for column in index.columns))


def may_be_null(table: str, column: str) -> bool:
    """Whether a column of a table by this name may be null; of one that nobody declared all may."""
    return column != "id" and (table not in _NULLABLE or column in _NULLABLE[table])


def column_text(column: Column, kind: str, of_bytes: Callable[[bytes], str]) -> str:
    """A column as the statement that makes its table has it. kind: as the database calls it; of_bytes: how it writes
    bytes."""
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
