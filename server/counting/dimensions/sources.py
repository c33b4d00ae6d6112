"""Where the values of a field stand: in a column, in an expression, in a table between. Only statements are made here.

Whatever a source joins has each pair of record and value once, so that rows are records."""

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
    from server.record_types.base import RecordType


@dataclass(frozen=True)
class Source:
    """key: its shape. values: what its slots take. expressions: the values, one column or the two of a pair.

    join: puts further tables into a select. columns: those of the type's own table, when it looks at nothing else.
    is_multi: a record may have several values."""

    key: Hashable
    expressions: Callable[[At], list[Any]]
    values: tuple[Any, ...] = ()
    join: Callable[[Any, At], Any] = lambda query, at: query
    columns: frozenset[str] | None = None
    is_multi: bool = False


def own(record_type: "RecordType", *names: str) -> Source:
    """Columns of the type's own table."""
    columns = [record_type.column(name) for name in names]
    return Source(("own", *names), lambda at: columns, columns=frozenset(names))


def expression(key: Hashable, made: Any) -> Source:
    """An expression without slots; `key` tells it apart."""
    return Source(("expression", key), lambda at: [made])


def custom_value(found: CustomFilter, alias: str) -> Source:
    """The values of a custom field; records without one are kept, with NULL."""
    own_id, column = peewee.Column(found.table.sql, found.own), found.field.column
    kind = peewee.JOIN.LEFT_OUTER
    if found.field.kind not in SEVERAL:
        via: Any = table_named("custom_value").alias(alias)
        return Source(
            ("custom", found.own, alias, column),
            lambda at: [getattr(via.c, column)],
            (found.field.id,),
            lambda query, at: query.join(via, kind, on=((via.c.record_id == own_id) & (via.c.field_id == at(0)))),
        )
    values = table_named("custom_value").alias(f"{alias}_values")

    def join(query: Any, at: At) -> Any:
        # Values that differ in their letters' case only are found by the same search: each record has them once.
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
        ("custom values", found.own, alias, column),
        lambda at: [_joined(alias, "value")],
        (found.field.id,),
        join,
        is_multi=True,
    )


def through(record_type: "RecordType", way: HasManyThrough, alias: str, *, keeps_others: bool) -> Source:
    """The records at the other end of a table between. keeps_others: those without one are kept, with NULL."""
    own_id = record_type.column("id")
    # One row for each pair is certain only where the rest of the table is fixed; a custom value may stand twice.
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

    return Source(
        ("through", alias, way.key, keeps_others),
        lambda at: [_joined(alias, "other")],
        (),
        join,
        is_multi=True,
    )


def links(record_type: "RecordType", readable: Condition, link: Any, alias: str, *names: str) -> Source:
    """What records are linked to. link: the table of links that `readable` looks at; names: its columns to count by."""
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
    """A column of what was joined under a name."""
    return getattr(table_named(alias).alias(alias).c, name)
