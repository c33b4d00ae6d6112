"""Relations between records of two types: by a column of either table, or through a join table.

A relation converts "the ids of the others" to a condition on the own table."""

from typing import TYPE_CHECKING, Any

import peewee

from server.dataclass import dataclass
from server.store.expressions import unindexed
from server.store.tables import table_named

if TYPE_CHECKING:
    from server.store.tables import Table


class Relation:
    """key: its shape. turns: whether it can be tested per record."""

    key: Any = ()
    turns = False

    def build(self, table: "Table", inner: Any) -> Any:
        """Returns the condition that a row of `table` is related to one of the ids in `inner`."""
        return _column(table, "id").in_(inner)

    def build_turned(self, table: "Table", inner: Any) -> Any:
        """Returns the same condition as a test per record. Only for relations with `turns`."""
        raise NotImplementedError


@dataclass(frozen=True)
class SameRecord(Relation):
    """The same record."""

    @property
    def key(self) -> Any:
        return "own"


@dataclass(frozen=True)
class BelongsTo(Relation):
    """A column of this table has the other's id."""

    column: str

    @property
    def key(self) -> Any:
        return ("behind", self.column)

    def build(self, table: "Table", inner: Any) -> Any:
        return _column(table, self.column).in_(inner)


@dataclass(frozen=True)
class BelongsToContext(Relation):
    """One column has the other's record type, another its id."""

    prefix: str
    context: str

    @property
    def key(self) -> Any:
        return ("behind", self.prefix, self.context)

    def build(self, table: "Table", inner: Any) -> Any:
        return (_column(table, f"{self.prefix}__context") == self.context) & _column(table, f"{self.prefix}_id").in_(
            inner
        )


@dataclass(frozen=True)
class HasMany(Relation):
    """A column of the other table has this record's id. only: further conditions on it as {column: value}."""

    other: str
    column: str
    only: tuple[tuple[str, Any], ...] = ()
    turns = True

    @property
    def key(self) -> Any:
        return ("here", self.other, self.column, self.only)

    def build(self, table: "Table", inner: Any) -> Any:
        return _column(table, "id").in_(select_between(self.other, self.column, "id", self.only, inner))

    def build_turned(self, table: "Table", inner: Any) -> Any:
        return _exists_between(table, self.other, self.column, "id", self.only, inner)


@dataclass(frozen=True)
class HasManyThrough(Relation):
    """A join table has pairs of ids: `own` of this record, `other` of the other one. of: the column of this record that
    `own` refers to."""

    between: str
    own: str
    other: str
    only: tuple[tuple[str, Any], ...] = ()
    of: str = "id"
    turns = True

    @property
    def key(self) -> Any:
        return ("through", self.between, self.own, self.other, self.only, self.of)

    def build(self, table: "Table", inner: Any) -> Any:
        return _column(table, self.of).in_(select_between(self.between, self.own, self.other, self.only, inner))

    def build_turned(self, table: "Table", inner: Any) -> Any:
        return _exists_between(table, self.between, self.own, self.other, self.only, inner, self.of)


@dataclass(frozen=True)
class HasOne(Relation):
    """The first (or last) of the records that point here."""

    other: str
    column: str
    only: tuple[tuple[str, Any], ...] = ()
    is_last: bool = False

    @property
    def key(self) -> Any:
        return ("first", self.other, self.column, self.only, self.is_last)

    def build(self, table: "Table", inner: Any) -> Any:
        others = table_named(self.other).alias("one_of_them")
        edge = peewee.fn.MAX if self.is_last else peewee.fn.MIN
        chosen = others.select(edge(others.c.id)).group_by(getattr(others.c, self.column))
        for name, value in self.only:
            chosen = chosen.where(getattr(others.c, name) == value)
        outer = table_named(self.other).alias("chosen_one")
        return _column(table, "id").in_(
            outer.select(getattr(outer.c, self.column)).where(outer.c.id.in_(chosen), outer.c.id.in_(inner))
        )


def select_between(
    between: str, result_column: str, match_column: str, only: tuple[tuple[str, Any], ...], inner: Any
) -> Any:
    """Selects `result_column` of the rows with a `match_column` in `inner` and the values of `only`."""
    table = table_named(between).alias(f"via_{between}")
    query = table.select(getattr(table.c, result_column)).where(getattr(table.c, match_column).in_(inner))
    for name, value in only:
        query = query.where(getattr(table.c, name) == value)
    return query


def _exists_between(
    table: "Table",
    between: str,
    own: str,
    match_column: str,
    only: tuple[tuple[str, Any], ...],
    inner: Any,
    of: str = "id",
) -> Any:
    """Whether a row has the column `of` of `table` in its column `own`, and its `match_column` in `inner`."""
    via = table_named(between).alias(f"via_{between}")
    query = via.select(peewee.SQL("1")).where(getattr(via.c, own) == _column(table, of))
    query = query.where(unindexed(getattr(via.c, match_column)).in_(inner))
    for name, value in only:
        query = query.where(getattr(via.c, name) == value)
    return peewee.fn.EXISTS(query)


def _column(table: "Table", name: str) -> peewee.Column:
    return peewee.Column(table.sql, name)
