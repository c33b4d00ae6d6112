"""Conditions: search terms compiled into a shape with values, so that equal shapes share a statement.

`key` identifies the shape, `values` fill its slots, and `build(at)` builds the peewee expression, where `at(i)` is the
slot of the i-th value. Terms that differ only in their values share a statement."""

import json
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import peewee

from server.dataclass import dataclass
from server.store.expressions import FALSE, TRUE, is_not_true
from server.store.peewee_parts import column_name
from server.store.statement_shapes import Part
from server.store.statements import in_list, slot

At = Callable[[int], Any]


class Shape:
    """The key of a large condition with a cached hash; a plain tuple would be hashed at each lookup of its
    statement."""

    __slots__ = ("key", "_hash")

    def __init__(self, key: Hashable) -> None:
        self.key = key
        self._hash = hash(key)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Shape) and self._hash == other._hash and self.key == other.key)


@dataclass(frozen=True, slots=True, eq=False)
class Condition(Part):
    """A condition on the rows of one table. Equal if the keys are equal, whatever their values.

    columns: the columns of the table it uses, None if it uses other tables; with them a count can be read from the
    table's summary. parts: the operands of an `and`. ids: the select of the matching ids, if the condition is nothing
    else. turned: the equivalent test per row, for a list of ids. makes_list: whether a list of ids is computed before
    any row is read, the slowest kind of condition."""

    key: Hashable
    values: tuple[Any, ...]
    build: Callable[[At], Any]
    columns: frozenset[str] | None = None
    parts: tuple["Condition", ...] = ()
    ids: Callable[[At], Any] | None = None
    turned: "Turned | None" = None
    makes_list: bool = False

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Condition) and self.key == other.key

    def bare(self) -> "Condition":
        return Condition(self.key, (), _gone)


@dataclass(frozen=True, slots=True)
class Turned:
    """The test per row that is equivalent to a list of ids. others: the select of the related ids. Both take the values
    of the condition."""

    build: Callable[[At], Any]
    others: Callable[[At], Any]


def _gone(at: At) -> Any:
    raise AssertionError("a condition that was kept for its key is composed by nobody")


ALWAYS = Condition("always", (), lambda at: TRUE, frozenset())
NEVER = Condition("never", (), lambda at: FALSE, frozenset())


def slots_from(start: int) -> At:
    """Returns slots that start at `start` in the values of a whole statement."""
    return lambda index: slot(start + index)


def all_of(conditions: Sequence[Condition]) -> Condition:
    """Returns the conjunction; ALWAYS for no conditions."""
    return _joined([each for each in conditions if each is not ALWAYS], "and", ALWAYS)


def any_of(conditions: Sequence[Condition]) -> Condition:
    """Returns the disjunction; NEVER for no conditions."""
    if any(each is ALWAYS for each in conditions):
        return ALWAYS
    return _joined([each for each in conditions if each is not NEVER], "or", NEVER)


def negated(condition: Condition) -> Condition:
    """Returns the negation; it matches rows for which the condition is NULL."""
    if condition is ALWAYS:
        return NEVER
    if condition is NEVER:
        return ALWAYS
    return Condition(
        ("not", condition.key),
        condition.values,
        lambda at: is_not_true(condition.build(at)),
        condition.columns,
        makes_list=condition.makes_list,
    )


def _joined(parts: list[Condition], operator: str, nothing: Condition) -> Condition:
    if not parts:
        return nothing
    if len(parts) == 1:
        return parts[0]
    values: list[Any] = []
    starts = []
    for part in parts:
        starts.append(len(values))
        values.extend(part.values)

    def build(at: At) -> Any:
        return _tree([part.build(_shifted(at, start)) for part, start in zip(parts, starts, strict=True)], operator)

    columns: frozenset[str] | None = frozenset()
    for part in parts:
        columns = None if columns is None or part.columns is None else columns | part.columns
    operands = tuple(each for part in parts for each in part.parts or (part,)) if operator == "and" else ()
    makes_list = any(part.makes_list for part in parts)
    key = (operator, *(part.key for part in parts))
    return Condition(key, tuple(values), build, columns, operands, makes_list=makes_list)


def _tree(pieces: list[Any], operator: str) -> Any:
    """Joins expressions as a balanced tree, because SQLite limits the depth of an expression to 1,000, including nested
    queries."""
    if len(pieces) == 1:
        return pieces[0]
    middle = len(pieces) // 2
    first, second = _tree(pieces[:middle], operator), _tree(pieces[middle:], operator)
    return (first & second) if operator == "and" else (first | second)


def _shifted(at: At, start: int) -> At:
    return lambda index: at(start + index)


def equals(column: Any, value: Any) -> Condition:
    """`column = value`. column: a peewee column of a table."""
    return Condition(("=", column_name(column)), (value,), lambda at: column == at(0), frozenset((column.name,)))


def compared(column: Any, operator: str, value: Any) -> Condition:
    """`column <operator> value`, with one of = != < <= > >=."""
    sql = "<>" if operator == "!=" else operator
    return Condition(
        (sql, column_name(column)),
        (value,),
        lambda at: peewee.Expression(column, sql, at(0)),
        frozenset((column.name,)),
    )


def between(column: Any, low: Any, high: Any) -> Condition:
    """`low <= column <= high`."""
    return Condition(
        ("between", column_name(column)),
        (low, high),
        lambda at: column.between(at(0), at(1)),
        frozenset((column.name,)),
    )


def one_of(column: Any, values: Sequence[Any]) -> Condition:
    """`column IN values`."""
    if not values:
        return NEVER
    if len(values) == 1:
        return equals(column, values[0])
    return Condition(
        ("in", column_name(column)),
        (json.dumps(list(values)),),
        lambda at: in_list(column, at(0)),
        frozenset((column.name,)),
    )
