"""Pairs of context and id, such as the other end of a link: the condition that the record behind one may be read.

Who may read what is not said here; callers hand in the condition for each type."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

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
from server.store.peewee_parts import column_name
from server.store.statements import InFragment

if TYPE_CHECKING:
    from server.record_types.base import RecordType

Readable = Callable[["RecordType"], Condition]


def points_to_readable(
    types: Iterable["RecordType"],
    readable: Readable,
    context: Any,
    id: Any,
    further: tuple[str, ...] = (),
) -> Condition:
    """`context` and `id` are columns of one table. further: contexts that everybody may read beside those of `types`.

    ALWAYS when every type may be read: then no pair needs a look."""
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


def behind(column: Any, record_type: "RecordType", condition: Condition) -> Condition:
    """The column holds the id of a record that answers the condition: one on what somebody may read, whose text is kept
    for all searches."""
    table = record_type.table.sql

    def build(at: At) -> Any:
        return column.in_(InFragment(lambda: table.select(table.id).where(condition.build(slots_from(0))), at))

    return Condition(("behind", column_name(column), record_type.table, condition.key), condition.values, build)
