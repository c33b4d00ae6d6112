"""Expressions that SQLite and PostgreSQL write differently, or whose obvious form works in only one of them."""

from collections.abc import Sequence
from typing import Any

import peewee

from server.store.collation import tailoring
from server.store.statements import SQLITE, converted
from server.store.tables import Index, Table, index_name

TRUE, FALSE = peewee.SQL("TRUE"), peewee.SQL("FALSE")


class IsNotTrue(peewee.ColumnBase):
    def __init__(self, condition: Any) -> None:
        self.condition = condition

    def __sql__(self, ctx: Any) -> Any:
        with ctx(parentheses=True, in_expr=True):
            return ctx.literal("((").sql(self.condition).literal(") IS NOT TRUE)")


def is_not_true(condition: Any) -> IsNotTrue:
    """Returns the condition that another one is false or NULL."""
    return IsNotTrue(condition)


def one_if(condition: Any) -> peewee.Node:
    """Returns 1 where a condition holds, else 0: for sums, or as a key to group by."""
    return peewee.Case(None, [(condition, peewee.SQL("1"))], peewee.SQL("0"))


def by_place(number: int) -> list[peewee.Node]:
    """Returns the first `number` columns of a select by their positions, for GROUP BY: PostgreSQL considers two
    occurrences of an expression with bound values different."""
    return [peewee.SQL(str(place + 1)) for place in range(number)]


class Holds(peewee.ColumnBase):
    def __init__(self, text: Any, part: Any) -> None:
        self.text, self.part = text, part

    def __sql__(self, ctx: Any) -> Any:
        name = "INSTR" if ctx.dialect == SQLITE else "STRPOS"
        with ctx(parentheses=True, in_expr=True):
            return ctx.literal(f"({name}(").sql(self.text).literal(", ").sql(self.part).literal(") > 0)")


def contains(text: Any, part: Any) -> Holds:
    """Returns the condition that a text contains another one, with case significant."""
    return Holds(text, part)


class Same(peewee.ColumnBase):
    def __init__(self, column: Any, value: Any) -> None:
        self.column, self.value = column, value

    def __sql__(self, ctx: Any) -> Any:
        binary = " COLLATE BINARY" if ctx.dialect == SQLITE else "::text"
        with ctx(parentheses=True, in_expr=True):
            return ctx.literal("(").sql(self.column).literal(f"{binary} = ").sql(self.value).literal(")")


def is_exactly(column: Any, value: Any) -> Same:
    """Returns the condition that a text equals a value including case, in a column that ignores case otherwise."""
    return Same(column, value)


class ComparedInAscii(peewee.ColumnBase):
    def __init__(self, column: Any, bounds: Sequence[tuple[str, Any]]) -> None:
        self.column, self.bounds = column, bounds

    def __sql__(self, ctx: Any) -> Any:
        with ctx(parentheses=True, in_expr=True):
            for place, (operator, bound) in enumerate(self.bounds):
                ctx.literal(" AND " if place else "(").sql(self.column).literal(f" {operator} ").sql(bound)
            if ctx.dialect != SQLITE:
                first = self.bounds[0][1]
                is_range = len(self.bounds) > 1
                ctx.literal(" AND octet_length(left(" if is_range else " AND octet_length((").sql(self.column)
                if is_range:
                    ctx.literal("::text, length(").sql(first).literal("::text)")
                else:
                    ctx.literal("::text")
                ctx.literal(")) = octet_length(").sql(first).literal("::text)")
            return ctx.literal(")")


def compared_in_ascii(column: Any, bounds: Sequence[tuple[str, Any]]) -> ComparedInAscii:
    """Returns the condition that a column equals a text, or lies between two, ignoring the case of ASCII letters only.

    Depending on the locale of the database, PostgreSQL may fold other characters to ASCII letters, such as the Kelvin
    sign. Comparing the number of bytes excludes them."""
    return ComparedInAscii(column, bounds)


class SortText(peewee.ColumnBase):
    def __init__(self, text: Any, language: str) -> None:
        self.text, self.language = text, language

    def __sql__(self, ctx: Any) -> Any:
        is_column = isinstance(self.text, peewee.Column)  # a select would be composed, and run, several times
        if ctx.dialect == SQLITE:
            with ctx(parentheses=True, in_expr=True, subquery=True):
                if is_column:  # most texts are ASCII, which SQLite folds without calling Python
                    ctx.literal("CASE WHEN octet_length(").sql(self.text).literal(") = length(").sql(self.text)
                    ctx.literal(") THEN lower(").sql(self.text).literal(") ELSE ")
                ctx.literal("sort_text(").sql(self.text).literal(f", '{self.language}')")
                return ctx.literal(" END") if is_column else ctx
        letters = tailoring(self.language)
        with ctx(parentheses=True, in_expr=True, subquery=True):
            if is_column:
                ctx.literal("(CASE WHEN octet_length(").sql(self.text).literal("::text) = length(").sql(self.text)
                ctx.literal("::text) THEN lower(").sql(self.text).literal("::text) ELSE ")
            ctx.literal(f"svc_sort_text({'replace(' * len(letters)}svc_fold(").sql(self.text).literal("::text)")
            for letter, key in letters.items():
                ctx.literal(f", '{letter}', '{key}')")
            return ctx.literal(') END) COLLATE "C"' if is_column else ') COLLATE "C"')


def sort_text(text: Any, language: str) -> SortText:
    """Returns the sort key of a column of texts, or of a select of one, for readers of this language; see
    collation.py."""
    return SortText(text, language)


class ByBytes(peewee.ColumnBase):
    def __init__(self, column: Any) -> None:
        self.column = column

    def __sql__(self, ctx: Any) -> Any:
        return ctx.sql(self.column).literal(" COLLATE BINARY" if ctx.dialect == SQLITE else '::text COLLATE "C"')


def by_bytes(column: Any) -> ByBytes:
    """Returns a column of texts, to be sorted by its bytes."""
    return ByBytes(column)


class Unindexed(peewee.ColumnBase):
    def __init__(self, column: Any) -> None:
        self.column = column

    def __sql__(self, ctx: Any) -> Any:
        return ctx.literal("+" if ctx.dialect == SQLITE else "").sql(self.column)


def unindexed(column: Any) -> Unindexed:
    """Returns a numeric column in a form for which SQLite does not use an index, so that it chooses the index of
    another column."""
    return Unindexed(column)


class ReadBy(peewee.Table):
    def __init__(self, table: Table, index: Index) -> None:
        super().__init__(table.name, table.names)
        self.table, self.index = table, index

    def clone(self) -> "ReadBy":
        return ReadBy(self.table, self.index)

    def __sql__(self, ctx: Any) -> Any:
        is_origin = ctx.scope == peewee.SCOPE_SOURCE
        super().__sql__(ctx)
        if is_origin and ctx.dialect == SQLITE:
            ctx.literal(f' INDEXED BY "{index_name(self.table, self.index)}"')
        return ctx


def read_by(table: Table, index: Index) -> ReadBy:
    """Returns a table that SQLite reads by this index; PostgreSQL has statistics to choose one."""
    return ReadBy(table, index)


class ListedValues(peewee.Source):
    def __init__(self, value: Any, kind: str, alias: str) -> None:
        super().__init__(alias)
        self.value, self.kind, self.name = value, kind, alias

    @property
    def each(self) -> peewee.Column:
        """The column of the values."""
        return peewee.Column(self, "value")

    def __hash__(self) -> int:
        return hash((self.__class__, self.name))

    def __sql__(self, ctx: Any) -> Any:
        if ctx.scope not in (peewee.SCOPE_SOURCE, peewee.SCOPE_NORMAL):
            return self.apply_column(ctx)
        ctx.alias_manager[self] = self.name
        if ctx.dialect == SQLITE:
            return ctx.literal("json_each(").sql(self.value).literal(f') AS "{self.name}"')
        kind = {"INTEGER": "bigint", "TEXT": "text"}[self.kind]
        value = converted(self.value, ctx.array)
        return ctx.literal("unnest(").sql(value).literal(f'::{kind}[]) AS "{self.name}" ("value")')


def listed_values(value: peewee.Node, kind: str, alias: str) -> ListedValues:
    """Returns a table with one column, `value`, that contains the items of a list. value: a slot that takes a JSON
    array. kind: INTEGER or TEXT."""
    return ListedValues(value, kind, alias)
