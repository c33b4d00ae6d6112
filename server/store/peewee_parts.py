"""What we take of peewee that it does not promise to keep: names that begin with an underscore are used here alone.

tests/store/test_peewee_parts.py fails when they mean something else in a later peewee."""

from typing import Any


def column_name(column: Any) -> str:
    """`table alias.column`, to tell the columns of statements apart."""
    source = column.source
    return f"{source.__name__} {source._alias or ''}.{column.name}"


def order_of(query: Any) -> Any:
    """What a select is sorted by, None for nothing."""
    return getattr(query, "_order_by", None)


def sorted_by(query: Any, order: Any) -> Any:
    """The select sorted by something else, still the same one to those that refer to it."""
    found = query.clone()
    found._order_by = order
    return found


def stand_in(table: Any, other: Any) -> Any:
    """The handle `other` under the identity of `table`: an expression made for columns of the table that the other has
    too fits it as it is."""
    found: Any = other.clone()
    found._hash = hash(table)
    return found
