"""Lists and maps as arguments of filters and functions, and the columns of their rows."""

from typing import Any

from server.errors import TemplateFailed
from server.template.run import Arrow
from server.template.values import child, items, key_text, keyed, kind, pairs


def entries(value: Any, name: str) -> list[tuple[Any, Any]]:
    """Returns [(key, value)] of a list or a map. Raises TemplateFailed with the name of the filter for others."""
    if not isinstance(value, (list, dict)):
        raise TemplateFailed(f"'{name}' takes a list or a map, not {_a(value)}")
    return pairs(value)


def arrow_of(value: Any, name: str) -> Arrow:
    """Returns the arrow function that was passed to a filter. Raises TemplateFailed for any other value."""
    if not isinstance(value, Arrow):
        raise TemplateFailed(f"'{name}' takes an expression such as x => x, not {_a(value)}")
    return value


def column(rows: Any, key: Any, index_key: Any = None) -> Any:
    """Returns the entry under `key` of each row that has it: a list, or a map by the entries under `index_key`.

    Rows without an index follow the highest number."""
    cells: list[tuple[Any, Any]] = []
    number = 0
    for row in items(rows):
        if not has(row, key):
            continue
        index = None if index_key is None else child(row, index_key)
        if index is None or isinstance(index, (list, dict)):
            index = number
        if isinstance(index, int) and index >= number:
            number = index + 1
        cells.append((index, child(row, key)))
    return keyed(cells)


def has(row: Any, key: Any) -> bool:
    """Whether a list or a map has an entry under a key, which may be null."""
    if isinstance(row, dict):
        return child(row, key) is not None or key_text(key) in row
    return isinstance(row, list) and child(row, key) is not None


def _a(value: Any) -> str:
    return "null" if value is None else f"a {kind(value)}"
