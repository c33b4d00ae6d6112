"""The condition for rows after a position in an order, with which a list continues after a page."""

from collections.abc import Sequence
from functools import reduce
from operator import and_, or_
from typing import Any

import peewee

from server.store.expressions import FALSE
from server.store.tables import may_be_null


def behind(terms: Sequence[tuple[Any, bool]], values: Sequence[Any]) -> Any:
    """Returns an expression for the rows after a position.

    terms: (expression, whether it descends); no two rows are equal in all of them. values: of the position, None for
    NULL, which sorts first."""
    choices = []
    for number, (expression, descends) in enumerate(terms):
        equal = [_equals(each, values[place]) for place, (each, _) in enumerate(terms[:number])]
        choices.append(reduce(and_, [*equal, _passes(expression, descends, values[number])]))
    after = reduce(or_, choices)
    bound = _bound(*terms[0], values[0])
    return after if bound is None else bound & after


def _equals(expression: Any, value: Any) -> Any:
    return _is_null(expression) if value is None else _compared(expression, "=", value)


def _passes(expression: Any, descends: bool, value: Any) -> Any:
    if value is None:
        return FALSE if descends else peewee.Expression(expression, peewee.OP.IS_NOT, None)
    if not descends:
        return _compared(expression, ">", value)
    below = _compared(expression, "<", value)
    return below | _is_null(expression) if _may_be_null(expression) else below


def _bound(expression: Any, descends: bool, value: Any) -> Any:
    """Returns a condition on the first key alone, for which an index can be used, or None."""
    if value is None or (descends and _may_be_null(expression)):
        return None
    return _compared(expression, "<=" if descends else ">=", value)


def _compared(expression: Any, operator: str, value: Any) -> Any:
    return peewee.Expression(expression, operator, value)


def _is_null(expression: Any) -> Any:
    return peewee.Expression(expression, peewee.OP.IS, None)


def _may_be_null(expression: Any) -> bool:
    if not isinstance(expression, peewee.Column):
        return True
    return may_be_null(expression.source.__name__, expression.name)
