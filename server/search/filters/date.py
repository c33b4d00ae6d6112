"""Filters on instants: since a time, between two, never, or by parts of the calendar such as working days."""

import json
from typing import TYPE_CHECKING, Any

import peewee

from server import times
from server.errors import Invalid, nearest
from server.search.ast import Items, SearchValue, Subquery, Term
from server.search.conditions import Condition, all_of, any_of, between, compared, equals
from server.search.filters.filter import Filter
from server.search.values import split_comparison
from server.store.peewee_parts import column_name
from server.store.statements import in_list

if TYPE_CHECKING:
    from server.search.compile import SearchScope

PARTS = ("since", "until", "days", "day", "months", "month", "dom", "doms", "weeks", "week", "times", "time")
LATEST = 253402300799  # the last second of the year 9999


class DateFilter(Filter):
    """A column of Unix seconds, 0 for no date."""

    type = "date"

    def meaning(self, term: Term, scope: "SearchScope") -> Condition:
        if isinstance(term.value, Subquery):
            return parameter_form(self.column, term.value, scope)
        return super().meaning(term, scope)

    def one(self, text: SearchValue, scope: "SearchScope") -> Condition:
        return date_condition(self.column, text.value, scope)


def date_condition(column: Any, value: str, scope: "SearchScope") -> Condition:
    """Returns the comparison of `column` with a date text. Raises Invalid."""
    lowered = value.strip().lower()
    if lowered in ("never", "null", ""):
        return equals(column, 0)
    operator, rest = split_comparison(value)
    if operator == "!=":
        raise Invalid(f"'{value[:50]}': write a date behind '!', without '='")
    if operator != "=":
        return all_of([compared(column, operator, _edge(operator, rest, scope)), compared(column, ">", 0)])
    span = times.span(rest, scope.now, scope.tz)
    return between(column, span.start, span.end)


def _edge(operator: str, text: str, scope: "SearchScope") -> int:
    """Returns the instant to compare with: `>` of a day means after its last second."""
    span = times.bounds(text, scope.now, scope.tz)
    return span.end if operator in (">", "<=") else span.start


def parameter_form(column: Any, query: Subquery, scope: "SearchScope") -> Condition:
    """Compiles `created:(since:... days:weekdays times:9a-5p)`. Raises Invalid for unknown parts."""
    parts = parts_given(query)
    conditions = [between(column, *limits_of(parts, scope))]
    zone = str(scope.tz)
    for part, read, name in (
        ("day", times.weekdays, "weekday"),
        ("month", times.months, "month"),
        ("dom", times.days_of_month, "day"),
        ("week", times.weeks, "week"),
    ):
        if part in parts:
            conditions.append(_part_in(column, zone, name, sorted(read(parts[part]))))
    if "time" in parts:
        limits = times.times_of_day(parts["time"])
        conditions.append(any_of([_minute_between(column, zone, first, last) for first, last in limits]))
    return all_of(conditions)


def parts_given(query: Subquery) -> dict[str, str]:
    """Returns {part: text} of the form in parentheses, without a plural s. Raises Invalid for unknown parts."""
    parts: dict[str, str] = {}
    for child in query.root.children:
        if not isinstance(child, Term) or isinstance(child.value, Subquery):
            raise Invalid("in parentheses a date takes since:, until:, days:, months:, dom:, weeks: and times:")
        if child.field not in PARTS:
            raise Invalid(f"'{child.field}' is not a part of a date{nearest(child.field, PARTS)}")
        parts[child.field.removesuffix("s")] = _joined(child.value)
    return parts


def limits_of(parts: dict[str, str], scope: "SearchScope") -> tuple[int, int]:
    """Returns the first and last second of `since` and `until`. Without `until` the end is now if there is a `since`,
    else unlimited."""
    start = times.span(parts["since"], scope.now, scope.tz).start if "since" in parts else 1
    if "until" in parts:
        end = times.span(f"big bang to {parts['until']}", scope.now, scope.tz).end
    else:
        end = scope.now if "since" in parts else LATEST
    return start, end


def _joined(value: Items | SearchValue) -> str:
    return ",".join(item.value for item in value.items) if isinstance(value, Items) else value.value


def _part_in(column: Any, zone: str, part: str, numbers: list[int]) -> Condition:
    return Condition(
        ("date part", column_name(column), part),
        (zone, part, json.dumps(numbers)),
        lambda at: in_list(peewee.fn.date_part(column, at(0), at(1)), at(2)),
    )


def _minute_between(column: Any, zone: str, first: int, last: int) -> Condition:
    return Condition(
        ("minute between", column_name(column)),
        (zone, first, last),
        lambda at: peewee.fn.date_part(column, at(0), "minute").between(at(1), at(2)),
    )
