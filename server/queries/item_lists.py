"""Filters and pages complete lists, such as the record types, by `filter:` and `limit:`.

Records are found by searches instead."""

from collections.abc import Sequence
from typing import Any

from server.queries.data_query import KeyValues
from server.queries.paging import page_of
from server.queries.query_type import FILTER, LIMIT, PAGE, QueryResult

LISTED = (FILTER, LIMIT, PAGE)
Item = dict[str, Any]


def filter_items(values: KeyValues, items: Sequence[Item], names: tuple[str, ...]) -> QueryResult:
    """Returns the items that contain the text of `filter:` in one of the keys `names`, ignoring case.

    Without `limit:` the result is one page without paging information."""
    text = values.text("filter").lower()
    matches = [each for each in items if any(text in str(each[name]).lower() for name in names)]
    limit, index = values.number("limit", 0), values.number("page", 0)
    if not limit:
        return QueryResult([] if index else matches)
    page, paging = page_of(matches, limit, index)
    return QueryResult(list(page), {"paging": paging})


def by_key(result: QueryResult, key: str) -> QueryResult:
    """Converts a list result to a map."""
    return QueryResult({each[key]: each for each in result.data}, result.extra)
