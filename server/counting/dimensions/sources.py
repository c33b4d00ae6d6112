"""Sources of field values: a column, an expression, or a joined table. Builds statements only.

A join yields each pair of record and value once, so that rows can be counted as records."""

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any

import peewee

from server.dataclass import dataclass
from server.record_types.shared.custom import CustomFilter
from server.record_types.shared.custom.definitions import SEVERAL
from server.search.conditions import ALWAYS, At, Condition
from server.search.filters import HasManyThrough
from server.store.tables import table_named

if TYPE_CHECKING:
    from server.record_types.record_type import RecordType


@dataclass(frozen=True)
class ValueRows:
    """Where the values of a joined table are, for reading them without a join. own: the column with the id of the
    record; value: the one with the value. only: values of further columns. is_folded: whether a record has values that
    differ only in case once. keeps_others: whether records without a value count as having none."""

    table: str
    own: str
    value: str
    only: tuple[tuple[str, Any], ...] = ()
    is_multi: bool = False
    is_folded: bool = False
    keeps_others: bool = True


@dataclass(frozen=True)
class Source:
    """key: its shape. values: for its slots. expressions: the values, one column or the two of a pair.

    join: adds further tables to a select. columns: of the type's own table, None if it uses others. is_multi: a record
    may have several values. is_grouped: whether the join groups all values of the field, however few records there
    are. rows: where the values are, None if they are not rows of one table."""

    key: Hashable
    expressions: Callable[[At], list[Any]]
    values: tuple[Any, ...] = ()
    join: Callable[[Any, At], Any] = lambda query, at: query
    columns: frozenset[str] | None = None
    is_multi: bool = False
    is_grouped: bool = False
    rows: ValueRows | None = None


def own(record_type: "RecordType", *names: str) -> Source:
    """Returns a source of columns of the type's own table."""
    columns = [record_type.column(name) for name in names]
    return Source(("own", *names), lambda at: columns, columns=frozenset(names))


def expression(key: Hashable, sql: Any) -> Source:
    """Returns a source of an expression without slots. key: identifies it."""
    return Source(("expression", key), lambda at: [sql])


def custom_value(custom_filter: CustomFilter, alias: str) -> Source:
    """Returns a source of the values of a custom field, NULL for records without one."""
    own_id, column = peewee.Column(custom_filter.table.sql, custom_filter.own), custom_filter.field.column
    kind = peewee.JOIN.LEFT_OUTER
    is_multi = custom_filter.field.kind in SEVERAL
    rows = None
    if custom_filter.own == "id":
        only = (("field_id", custom_filter.field.id),)
        rows = ValueRows("custom_value", "record_id", column, only, is_multi, is_multi and column == "text")
    if not is_multi:
        via: Any = table_named("custom_value").alias(alias)
        return Source(
            ("custom", custom_filter.own, alias, column),
            lambda at: [getattr(via.c, column)],
            (custom_filter.field.id,),
            lambda query, at: query.join(via, kind, on=((via.c.record_id == own_id) & (via.c.field_id == at(0)))),
            rows=rows,
        )
    values = table_named("custom_value").alias(f"{alias}_values")

    def join(query: Any, at: At) -> Any:
        # One search matches all values that differ only in case, so each record must have them once.
        value = getattr(values.c, column)
        key = peewee.fn.fold(value) if column == "text" else value
        once = (
            values.select(values.c.record_id, peewee.fn.MIN(value).alias("value"))
            .where(values.c.field_id == at(0))
            .group_by(values.c.record_id, key)
            .alias(alias)
        )
        return query.join(once, kind, on=(once.c.record_id == own_id))

    return Source(
        ("custom values", custom_filter.own, alias, column),
        lambda at: [_joined(alias, "value")],
        (custom_filter.field.id,),
        join,
        is_multi=True,
        is_grouped=True,
        rows=rows,
    )


def through(record_type: "RecordType", way: HasManyThrough, alias: str, *, keeps_others: bool) -> Source:
    """Returns a source of the records at the other end of a joined table. keeps_others: includes records without one,
    as NULL."""
    own_id = record_type.column(way.of)
    # Pairs are unique only if the filter fixes the other columns of the table; custom values may be duplicated.
    between = table_named(way.between).alias(f"{alias}_between")
    is_plain = way.between != "custom_value"
    kind = peewee.JOIN.LEFT_OUTER if keeps_others else peewee.JOIN.INNER

    def join(query: Any, at: At) -> Any:
        other, mine = getattr(between.c, way.other), getattr(between.c, way.own)
        pairs = between.select(mine.alias("own"), other.alias("other"))
        for name, value in way.only:
            pairs = pairs.where(getattr(between.c, name) == value)
        pairs = (pairs if is_plain else pairs.distinct()).alias(alias)
        return query.join(pairs, kind, on=(pairs.c.own == own_id))

    rows = ValueRows(way.between, way.own, way.other, tuple(way.only), is_multi=True, keeps_others=keeps_others)
    return Source(
        ("through", alias, way.key, keeps_others),
        lambda at: [_joined(alias, "other")],
        (),
        join,
        is_multi=True,
        rows=rows if is_plain and way.of == "id" else None,
    )


def links(record_type: "RecordType", readable: Condition, link: Any, alias: str, *names: str) -> Source:
    """Returns a source of linked records. link: the table of links that `readable` restricts. names: its columns to
    count by."""
    own_id = record_type.column("id")

    def join(query: Any, at: At) -> Any:
        pairs = link.select(link.c.from_id, *(getattr(link.c, name) for name in names))
        pairs = pairs.where(link.c.from_context == record_type.context)
        if readable is not ALWAYS:
            pairs = pairs.where(readable.build(at))
        pairs = pairs.distinct().alias(alias)
        return query.join(pairs, peewee.JOIN.INNER, on=(pairs.c.from_id == own_id))

    return Source(
        ("links", alias, names, readable.key),
        lambda at: [_joined(alias, name) for name in names],
        readable.values,
        join,
        is_multi=True,
    )


def _joined(alias: str, name: str) -> Any:
    """Returns a column of a joined subquery."""
    return getattr(table_named(alias).alias(alias).c, name)
