"""The control terms of a search: sort, limit, page, time zone. Extracts them from the outermost group.

They do not restrict the matches, so the parser separates them from the filters.
"""

import re

from server.errors import BadQuery
from server.search.ast import BooleanGroup, Items, Query, SearchValue, Sort, Subquery, Term

MAX_LIMIT = 250
MAX_PAGE = 2001

# The underscore is optional; `_sort` is for types that have a filter named `sort`.
CONTROLS = {
    "sort": "sort",
    "_sort": "sort",
    "limit": "limit",
    "_limit": "limit",
    "page": "page",
    "_page": "page",
    "subtotal": "subtotal",  # for worklists only; no effect here
    "_subtotal": "subtotal",
    "set.timezone": "timezone",
}
_NAME = re.compile(r"[^\s,]++")
_SORTABLE = re.compile(r"[A-Za-z0-9_.]+")


def query_of(group: BooleanGroup) -> Query:
    """Returns the query of the outermost group with its control terms; those of inner groups are ignored. The last of
    duplicates wins.

    limit is clamped to 1-250, page to 1-2001. Raises BadQuery for an invalid number or name."""
    if not group.controls:
        return Query(group, (), None, None, None)
    last = {CONTROLS[term.field]: term for term in group.controls}
    return Query(
        BooleanGroup(group.op, group.children, group.negated, group.position),
        sorts(last["sort"]) if "sort" in last else (),
        _number(last["limit"], MAX_LIMIT) if "limit" in last else None,
        _number(last["page"], MAX_PAGE) if "page" in last else None,
        _word(last["timezone"]) if "timezone" in last else None,
        group.position,
    )


def sorts(term: Term) -> tuple[Sort, ...]:
    """Parses the names of a `sort:` term in order: `-` is descending, `+` or nothing ascending."""
    value = term.value
    if term.negated or isinstance(value, Subquery):
        raise _unreadable(term, "names such as sort:-created,subject")
    names: list[Sort] = []
    for text in value.items if isinstance(value, Items) else (value,):
        for match in _NAME.finditer(text.value):
            name = match[0].removeprefix("-") if match[0][0] == "-" else match[0].removeprefix("+")
            position = text.position + text.quoted + match.start()
            if not _SORTABLE.fullmatch(name):
                raise BadQuery(f"'{match[0]}' at position {position} is not a name to sort by", position=position)
            names.append(Sort(name, match[0][0] == "-", position))
    return tuple(names)


def _number(term: Term, most: int) -> int:
    digits = _word(term).value
    if not (digits.isascii() and digits.isdecimal()):
        raise _unreadable(term, f"a whole number from 1 to {most}")
    digits = digits.lstrip("0")
    return most if len(digits) > len(str(most)) else min(max(int(digits or 0), 1), most)


def _word(term: Term) -> SearchValue:
    if term.negated or not isinstance(term.value, SearchValue):
        raise _unreadable(term, "one value, without brackets or '!'")
    return term.value


def _unreadable(term: Term, expected: str) -> BadQuery:
    position = term.value_position
    return BadQuery(f"the value of '{term.field}:' at position {position} must be {expected}", position=position)
