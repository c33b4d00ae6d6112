"""Functions of lists and maps: columns, sets, counting, selection."""

import functools
from collections.abc import Callable
from typing import Any

from server.errors import TemplateFailed
from server.template.operators import add
from server.template.registry import function
from server.template.run import Rendering
from server.template.shared.list_arguments import column
from server.template.shared.wildcards import fits_any, patterns_of
from server.template.values import compare, items, key_text, keyed, kind, number_or, pairs, printed, whole


@function("array_column")
def array_column(run: Rendering, rows: Any, key: Any, index_key: Any = None) -> Any:
    """The values of one column of rows, with those of another column as keys. Rows without the column are left out; []
    if the value is not a list or a map."""
    return column(rows, key, index_key) if _is_listed(rows) else []


@function("array_combine")
def array_combine(run: Rendering, keys: Any, values: Any) -> Any:
    """A map of these keys and values; [] if one of them is not a list or a map. Raises TemplateFailed for different
    sizes."""
    if not (_is_listed(keys) and _is_listed(values)):
        return []
    if len(keys) != len(values):
        raise TemplateFailed(f"array_combine takes as many values as keys; there are {len(keys)} and {len(values)}")
    return keyed((key_text(key), value) for key, value in zip(items(keys), items(values), strict=True))


@function("array_count_values")
def array_count_values(run: Rendering, values: Any) -> Any:
    """The number of occurrences of each value, by its text; lists and maps among the values are left out."""
    counts: dict[str, int] = {}
    for value in items(values):
        if not _is_listed(value):
            text = key_text(value)
            counts[text] = counts.get(text, 0) + 1
    return keyed(counts.items())


@function("array_diff")
def array_diff(run: Rendering, values: Any, others: Any) -> Any:
    """The entries of the first list whose text is not in the second; keys are preserved. null is an empty list; [] if
    one of the arguments is not a list or a map."""
    compared = _compared(values, others)
    return [] if compared is None else keyed((key, each) for key, each, is_there in compared if not is_there)


@function("array_intersect")
def array_intersect(run: Rendering, values: Any, others: Any) -> Any:
    """The entries of the first list whose text is also in the second; keys are preserved. null is an empty list; null
    if one of the arguments is not a list or a map."""
    compared = _compared(values, others)
    return None if compared is None else keyed((key, each) for key, each, is_there in compared if is_there)


def _compared(values: Any, others: Any) -> list[tuple[Any, Any, bool]] | None:
    """Returns [(key, value, whether its text is among the others)]; None if an argument is neither a list, a map nor
    null."""
    values, others = [[] if each is None else each for each in (values, others)]
    if not (_is_listed(values) and _is_listed(others)):
        return None
    texts = {printed(each) for each in items(others)}
    return [(key, each, printed(each) in texts) for key, each in pairs(values)]


@function("array_extract_keys")
def array_extract_keys(run: Rendering, rows: Any, keys: Any) -> Any:
    """A map of exactly these keys for each row, null for missing ones. A row that is not a map counts as a map with the
    key 0."""
    key_list = items(keys) if _is_listed(keys) else [keys]
    names = [key_text(each) for each in key_list]
    result = []
    for place, row in pairs(rows):
        run.budget.entries(1 + len(names) + (len(row) if _is_listed(row) else 1))
        row_map = {str(key): value for key, value in pairs(row if _is_listed(row) else [row])}
        result.append((place, keyed((name, row_map.get(name)) for name in names)))
    return keyed(result)


@function("array_fill_keys")
def array_fill_keys(run: Rendering, keys: Any, value: Any = None) -> Any:
    """A map in which all these keys have the same value."""
    run.budget.elements(len(items(keys)))
    return keyed((key_text(each), value) for each in items(keys))


@function("array_matches")
def array_matches(run: Rendering, values: Any, patterns: Any) -> list[Any]:
    """The entries of a list, or the text, that match one of the patterns, in which `*` stands for anything, in any
    letter case."""
    wanted_patterns = patterns_of(run, patterns)
    candidates = items(values) if _is_listed(values) else [values]
    return [each for each in candidates if fits_any(run, printed(each), wanted_patterns)]


@function("array_sort_keys")
def array_sort_keys(run: Rendering, values: Any) -> Any:
    """The map sorted by its keys."""
    return keyed(_sorted(run, pairs(values), lambda one, other: compare(one[0], other[0], run.budget.step)))


def _sorted(run: Rendering, entries: list[Any], order: Callable[[Any, Any], int]) -> list[Any]:
    run.budget.step(len(entries) * len(entries).bit_length())
    return sorted(entries, key=functools.cmp_to_key(order))


@function("array_sum")
def array_sum(run: Rendering, values: Any) -> Any:
    """The sum of a list, in which values that are not numbers count as 0; false if the value is not a list or a map."""
    if not _is_listed(values):
        return False
    total: Any = 0
    for each in items(values):
        total = add(run, total, number_or(each), 0)
    return total


@function("array_unique")
def array_unique(run: Rendering, values: Any) -> Any:
    """The list without values whose text occurred before; keys are preserved."""
    texts: set[str] = set()
    unique = []
    for key, each in pairs(values):
        text = printed(each)
        if text not in texts:
            texts.add(text)
            unique.append((key, each))
    return keyed(unique)


@function("array_values")
def array_values(run: Rendering, values: Any) -> list[Any]:
    """The values of a list or map as a list."""
    return list(items(values))


@function("cycle", charges_itself=True)
def cycle(run: Rendering, values: Any, position: Any) -> Any:
    """The element at a position, which wraps around at the end. Raises TemplateFailed if the value is not a list or a
    map, or is empty."""
    if not isinstance(values, (list, dict)) or not values:
        raise TemplateFailed(f"cycle takes a list with something in it, this is {_shown(values)}")
    run.budget.entries(len(values) if isinstance(values, dict) else 0)
    return items(values)[whole(position) % len(values)]


@function("max")
def max_(run: Rendering, *values: Any) -> Any:
    """The greatest of the arguments, or of one list or map. Raises TemplateFailed without values."""
    return _first(run, "max", values, 1)


@function("min")
def min_(run: Rendering, *values: Any) -> Any:
    """The least of the arguments, or of one list or map. Raises TemplateFailed without values."""
    return _first(run, "min", values, -1)


def _first(run: Rendering, name: str, arguments: tuple[Any, ...], sign: int) -> Any:
    candidates = items(arguments[0]) if len(arguments) == 1 else list(arguments)
    if not candidates:
        actual = _shown(arguments[0]) if arguments else "nothing"
        raise TemplateFailed(f"{name} takes several values, or a list with something in it; this is {actual}")
    best = candidates[0]
    for each in candidates[1:]:
        if compare(each, best, run.budget.step) == sign:
            best = each
    return best


def _is_listed(value: Any) -> bool:
    return isinstance(value, (list, dict))


def _shown(value: Any) -> str:
    return "an empty list" if value in ([], {}) else f"a {kind(value)}" if value is not None else "null"
