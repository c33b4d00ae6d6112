"""Pages of data queries, counted from 0, and their description in `_.paging`."""

from collections.abc import Sequence
from typing import Any, TypeVar

Item = TypeVar("Item")


def paging(total: int, count: int, limit: int, index: int) -> dict[str, Any]:
    """Returns {"page": {of, rows, index, prev, first, next, last}} for `count` of `total` rows on page `index` of
    `limit` rows.

    The first page has no prev and first, the last page no next and last."""
    pages = -(-total // limit)
    page: dict[str, Any] = {
        "of": pages,
        "rows": {
            "of": total,
            "count": count,
            "limit": limit,
            "from": index * limit + 1 if count else 0,
            "to": index * limit + count if count else 0,
        },
        "index": index,
    }
    if index > 0:
        page |= {"prev": index - 1, "first": 0}
    if index + 1 < pages:
        page |= {"next": index + 1, "last": pages - 1}
    return {"page": page}


def page_of(items: Sequence[Item], limit: int, index: int) -> tuple[Sequence[Item], dict[str, Any]]:
    """Returns one page of a complete list, and its paging."""
    page = items[index * limit : (index + 1) * limit]
    return page, paging(len(items), len(page), limit, index)
