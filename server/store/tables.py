"""What a table looks like: columns, indexes, triggers. Values only; schema.py makes them real in the file."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from functools import cache, cached_property
from typing import Any, Literal

import peewee

from server.dataclass import dataclass
from server.store.shapes import Part
from server.store.statements import BUMPING

Kind = Literal["INTEGER", "REAL", "TEXT", "BLOB", "ANY"]
_NULLABLE: dict[str, set[str]] = {}  # the columns of each declared table that may be null
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
    summary: columns whose combinations are counted in `<name>_summary`, kept true by triggers.
    """

    name: str
    columns: Sequence[Column]
    indexes: Sequence[Index] = ()
    key: tuple[str, ...] = ()
    bumps: dict[str, tuple[str, ...]] = field(default_factory=dict)
    summary: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _NULLABLE.setdefault(self.name, set()).update(column.name for column in self.columns if column.null)
        if self.bumps:
            BUMPING.add(self.name)

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
        kinds = {column.name: column.kind for column in self.columns}
        columns = [Column(name, kinds[name]) for name in self.summary]
        return Table(f"{self.name}_summary", [*columns, Column("n")], key=tuple(self.summary))


def with_summaries(tables: Iterable[Table]) -> list[Table]:
    """These tables and the tables of their counts."""
    listed = list(tables)
    return listed + [table.summary_table for table in listed if table.summary]


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
