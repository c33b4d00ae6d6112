"""Lists and maps that filters and functions take: asked for, and the columns of their rows."""

from typing import Any

from server.errors import TemplateFailed
from server.template.run import Arrow
from server.template.values import child, items, key_text, keyed, kind, pairs


def entries(value: Any, name: str) -> list[tuple[Any, Any]]:
    """[(key, value)] of a list or a map. Raises TemplateFailed, naming the filter `name`, for anything else."""
    if not isinstance(value, (list, dict)):
        raise TemplateFailed(f"'{name}' takes a list or a map, not {_a(value)}")
    return pairs(value)


def arrow_of(value: Any, name: str) -> Arrow:
    """The arrow function that was given to a filter. Raises TemplateFailed for anything else."""
    if not isinstance(value, Arrow):
        raise TemplateFailed(f"'{name}' takes an expression such as x => x, not {_a(value)}")
    return value


def column(rows: Any, key: Any, index_key: Any = None) -> Any:
    """What stands under `key` in each row that has it: a list, or a map by what stands under `index_key`.

    Rows without an index follow the highest number."""
    taken: list[tuple[Any, Any]] = []
    number = 0
    for row in items(rows):
        if not has(row, key):
            continue
        index = None if index_key is None else child(row, index_key)
        if index is None or isinstance(index, (list, dict)):
            index = number
        if isinstance(index, int) and index >= number:
            number = index + 1
        taken.append((index, child(row, key)))
    return keyed(taken)


def has(row: Any, key: Any) -> bool:
    """Whether a list or a map has an entry under a key, null or not."""
    if isinstance(row, dict):
        return child(row, key) is not None or key_text(key) in row
    return isinstance(row, list) and child(row, key) is not None


def _a(value: Any) -> str:
    return "null" if value is None else f"a {kind(value)}"
