"""What we take of peewee that it does not promise to keep: names that begin with an underscore are used here alone.

tests/store/test_peewee_parts.py fails when they mean something else in a later peewee."""

from typing import Any


def column_name(column: Any) -> str:
    """`table alias.column`, to tell the columns of statements apart."""
    source = column.source
    return f"{source.__name__} {source._alias or ''}.{column.name}"


def stand_in(table: Any, other: Any) -> Any:
    """The handle `other` under the identity of `table`: an expression made for columns of the table that the other has
    too fits it as it is."""
    found: Any = other.clone()
    found._hash = hash(table)
    return found
