"""Expressions that the databases write differently, or that are easily written so that one of them takes them only."""

from collections.abc import Sequence
from typing import Any

import peewee

from server.store.collation import tailoring
from server.store.statements import SQLITE, converted

TRUE, FALSE = peewee.SQL("TRUE"), peewee.SQL("FALSE")


class IsNotTrue(peewee.ColumnBase):
    """See is_not_true."""

    def __init__(self, condition: Any) -> None:
        self.condition = condition

    def __sql__(self, ctx: Any) -> Any:
        with ctx(parentheses=True, in_expr=True):
            return ctx.literal("((").sql(self.condition).literal(") IS NOT TRUE)")


def is_not_true(condition: Any) -> IsNotTrue:
    """A condition does not hold, or nothing can be said of it, since what it compares is missing."""
    return IsNotTrue(condition)


def one_if(condition: Any) -> peewee.Node:
    """1 where a condition holds, else 0: to be added up, or to tell groups apart."""
    return peewee.Case(None, [(condition, peewee.SQL("1"))], peewee.SQL("0"))


def by_place(number: int) -> list[peewee.Node]:
    """The first so many columns of a select, for group_by: an expression with bound values in it is another one to
    PostgreSQL each time it is written."""
    return [peewee.SQL(str(place + 1)) for place in range(number)]


class Holds(peewee.ColumnBase):
    """See contains."""

    def __init__(self, text: Any, part: Any) -> None:
        self.text, self.part = text, part

    def __sql__(self, ctx: Any) -> Any:
        name = "INSTR" if ctx.dialect == SQLITE else "STRPOS"
        with ctx(parentheses=True, in_expr=True):
            return ctx.literal(f"({name}(").sql(self.text).literal(", ").sql(self.part).literal(") > 0)")


def contains(text: Any, part: Any) -> Holds:
    """A text holds another one, as both are written."""
    return Holds(text, part)


class Same(peewee.ColumnBase):
    """See is_exactly."""

    def __init__(self, column: Any, value: Any) -> None:
        self.column, self.value = column, value

    def __sql__(self, ctx: Any) -> Any:
        binary = " COLLATE BINARY" if ctx.dialect == SQLITE else "::text"
        with ctx(parentheses=True, in_expr=True):
            return ctx.literal("(").sql(self.column).literal(f"{binary} = ").sql(self.value).literal(")")


def is_exactly(column: Any, value: Any) -> Same:
    """A text is written just so, in a column in which case does not count otherwise."""
    return Same(column, value)


class ComparedInAscii(peewee.ColumnBase):
    """See compared_in_ascii."""

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
    """A column equals a text, or lies between two, where only the case of ASCII letters does not count.

    PostgreSQL may take others for letters of ASCII, such as the Kelvin sign, as the locale of the database says; what
    takes as many bytes has none of them."""
    return ComparedInAscii(column, bounds)


class SortText(peewee.ColumnBase):
    """See sort_text."""

    def __init__(self, text: Any, language: str) -> None:
        self.text, self.language = text, language

    def __sql__(self, ctx: Any) -> Any:
        is_column = isinstance(self.text, peewee.Column)  # a select would be written, and run, several times
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
    """What a column of texts, or a select of one, is sorted by, for people who read this language; see collation.py."""
    return SortText(text, language)


class ByBytes(peewee.ColumnBase):
    """See by_bytes."""

    def __init__(self, column: Any) -> None:
        self.column = column

    def __sql__(self, ctx: Any) -> Any:
        return ctx.sql(self.column).literal(" COLLATE BINARY" if ctx.dialect == SQLITE else '::text COLLATE "C"')


def by_bytes(column: Any) -> ByBytes:
    """A column of texts, sorted by their bytes."""
    return ByBytes(column)


class Unindexed(peewee.ColumnBase):
    """See unindexed."""

    def __init__(self, column: Any) -> None:
        self.column = column

    def __sql__(self, ctx: Any) -> Any:
        return ctx.literal("+" if ctx.dialect == SQLITE else "").sql(self.column)


def unindexed(column: Any) -> Unindexed:
    """A column of numbers by which SQLite does not look for rows: it has to by another one."""
    return Unindexed(column)


class ListedValues(peewee.Source):
    """See listed_values."""

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
    """A table with one column, `value`, of the items of a list; value: one slot that takes a JSON array. kind: INTEGER
    or TEXT."""
    return ListedValues(value, kind, alias)
