"""The private names of peewee that this program uses; only this module may use them.

tests/store/test_peewee_parts.py fails when a later peewee changes their meaning."""

from typing import Any


def column_name(column: Any) -> str:
    """Returns `table alias.column`, which identifies a column within a statement."""
    source = column.source
    return f"{source.__name__} {source._alias or ''}.{column.name}"


def order_of(query: Any) -> Any:
    """Returns the ORDER BY terms of a select, None if it has none."""
    return getattr(query, "_order_by", None)


def sorted_by(query: Any, order: Any) -> Any:
    """Returns the select with another order; expressions that refer to the original refer to it too."""
    clone = query.clone()
    clone._order_by = order
    return clone


def stand_in(table: Any, other: Any) -> Any:
    """Returns the handle `other` with the identity of `table`: expressions built for columns that both tables have work
    with it unchanged."""
    clone: Any = other.clone()
    clone._hash = hash(table)
    return clone
