"""The condition that a pair of context and id, such as the other end of a link, points to a readable record.

Callers pass the read condition of each type."""

from collections.abc import Callable, Iterable
from typing import Any

from server.search.conditions import (
    ALWAYS,
    NEVER,
    At,
    Condition,
    all_of,
    any_of,
    equals,
    one_of,
    slots_from,
)
from server.search.searchable import Searchable
from server.store.peewee_parts import column_name
from server.store.statements import InFragment

Readable = Callable[[Any], Condition]  # called with a record type of the searched registry


def points_to_readable(
    types: Iterable[Searchable],
    readable: Readable,
    context: Any,
    id: Any,
    further: tuple[str, ...] = (),
) -> Condition:
    """Returns the condition for the columns `context` and `id` of one table; ALWAYS if every type is readable.

    further: contexts besides those of `types` that everybody may read."""
    open_contexts, rules, is_limited = list(further), [], False
    for each in types:
        condition = readable(each)
        if condition is ALWAYS:
            open_contexts.append(each.context)
            continue
        is_limited = True
        if condition is not NEVER:
            rules.append(all_of([equals(context, each.context), behind(id, each, condition)]))
    return any_of([one_of(context, open_contexts), *rules]) if is_limited else ALWAYS


def behind(column: Any, record_type: Searchable, condition: Condition) -> Condition:
    """Returns the condition that the column has the id of a record that matches a read condition, whose statement is
    cached for all searches."""
    table = record_type.table.sql

    def build(at: At) -> Any:
        return column.in_(InFragment(lambda: table.select(table.id).where(condition.build(slots_from(0))), at))

    return Condition(("behind", column_name(column), record_type.table, condition.key), condition.values, build)
