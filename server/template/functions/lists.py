"""Functions of lists and maps: columns, sets, counting, choosing."""

import functools
from collections.abc import Callable
from typing import Any

from server.errors import TemplateFailed
from server.template.operators import add
from server.template.registry import function
from server.template.run import Rendering
from server.template.shared.lists import column
from server.template.shared.wildcards import fits_any, patterns_of
from server.template.values import compare, items, key_text, keyed, kind, number_or, pairs, printed, whole


@function("array_column")
def array_column(run: Rendering, rows: Any, key: Any, index_key: Any = None) -> Any:
    """The values of one column of rows, under those of another one. Rows without the column are left out; [] for no
    list."""
    return column(rows, key, index_key) if _is_listed(rows) else []


@function("array_combine")
def array_combine(run: Rendering, keys: Any, values: Any) -> Any:
    """A map of these keys and values; [] where one is no list. Raises TemplateFailed for different sizes."""
    if not (_is_listed(keys) and _is_listed(values)):
        return []
    if len(keys) != len(values):
        raise TemplateFailed(f"array_combine takes as many values as keys; there are {len(keys)} and {len(values)}")
    return keyed((key_text(key), value) for key, value in zip(items(keys), items(values), strict=True))


@function("array_count_values")
def array_count_values(run: Rendering, values: Any) -> Any:
    """How often each value is there, by its text; lists and maps in it are left out."""
    found: dict[str, int] = {}
    for value in items(values):
        if not _is_listed(value):
            text = key_text(value)
            found[text] = found.get(text, 0) + 1
    return keyed(found.items())


@function("array_diff")
def array_diff(run: Rendering, values: Any, others: Any) -> Any:
    """What is in the first list and not, by its text, in the second; keys stay. null is an empty list; [] where one
    is no list."""
    found = _compared(values, others)
    return [] if found is None else keyed((key, each) for key, each, is_there in found if not is_there)


@function("array_intersect")
def array_intersect(run: Rendering, values: Any, others: Any) -> Any:
    """What is in both lists, by its text; keys are those of the first. null is an empty list; null where one is no
    list."""
    found = _compared(values, others)
    return None if found is None else keyed((key, each) for key, each, is_there in found if is_there)


def _compared(values: Any, others: Any) -> list[tuple[Any, Any, bool]] | None:
    """[(key, value, whether its text is among the others)]; None where one is neither a list nor null."""
    values, others = [[] if each is None else each for each in (values, others)]
    if not (_is_listed(values) and _is_listed(others)):
        return None
    known = {printed(each) for each in items(others)}
    return [(key, each, printed(each) in known) for key, each in pairs(values)]


@function("array_extract_keys")
def array_extract_keys(run: Rendering, rows: Any, keys: Any) -> Any:
    """For each row a map of exactly these keys, null where it has none. A row that is no map is one with the key 0."""
    wanted = items(keys) if _is_listed(keys) else [keys]
    names = [key_text(each) for each in wanted]
    found = []
    for place, row in pairs(rows):
        run.budget.made(1 + len(names) + (len(row) if _is_listed(row) else 1))
        held = {str(key): value for key, value in pairs(row if _is_listed(row) else [row])}
        found.append((place, keyed((name, held.get(name)) for name in names)))
    return keyed(found)


@function("array_fill_keys")
def array_fill_keys(run: Rendering, keys: Any, value: Any = None) -> Any:
    """A map in which all these keys have the same value."""
    run.budget.elements(len(items(keys)))
    return keyed((key_text(each), value) for each in items(keys))


@function("array_matches")
def array_matches(run: Rendering, values: Any, patterns: Any) -> list[Any]:
    """The entries of a list, or the text, that fit one of the patterns: `*` for anything, in any letter case."""
    wanted = patterns_of(run, patterns)
    listed = items(values) if _is_listed(values) else [values]
    return [each for each in listed if fits_any(run, printed(each), wanted)]


@function("array_sort_keys")
def array_sort_keys(run: Rendering, values: Any) -> Any:
    """The map in the order of its keys."""
    return keyed(_sorted(run, pairs(values), lambda one, other: compare(one[0], other[0], run.budget.step)))


def _sorted(run: Rendering, listed: list[Any], order: Callable[[Any, Any], int]) -> list[Any]:
    run.budget.step(len(listed) * len(listed).bit_length())
    return sorted(listed, key=functools.cmp_to_key(order))


@function("array_sum")
def array_sum(run: Rendering, values: Any) -> Any:
    """The sum of a list, where what is no number counts as 0; false for no list."""
    if not _is_listed(values):
        return False
    total: Any = 0
    for each in items(values):
        total = add(run, total, number_or(each), 0)
    return total


@function("array_unique")
def array_unique(run: Rendering, values: Any) -> Any:
    """The list without the values whose text was there before; keys stay."""
    seen: set[str] = set()
    found = []
    for key, each in pairs(values):
        text = printed(each)
        if text not in seen:
            seen.add(text)
            found.append((key, each))
    return keyed(found)


@function("array_values")
def array_values(run: Rendering, values: Any) -> list[Any]:
    """The values of a list or map as a list."""
    return list(items(values))


@function("cycle", charges_itself=True)
def cycle(run: Rendering, values: Any, position: Any) -> Any:
    """The element at a position, counted round and round. Raises TemplateFailed for no list and an empty one."""
    if not isinstance(values, (list, dict)) or not values:
        raise TemplateFailed(f"cycle takes a list with something in it, this is {_shown(values)}")
    run.budget.made(len(values) if isinstance(values, dict) else 0)
    return items(values)[whole(position) % len(values)]


@function("max")
def max_(run: Rendering, *values: Any) -> Any:
    """The greatest of the arguments, or of one list or map. Raises TemplateFailed where there is nothing."""
    return _first(run, "max", values, 1)


@function("min")
def min_(run: Rendering, *values: Any) -> Any:
    """The least of the arguments, or of one list or map. Raises TemplateFailed where there is nothing."""
    return _first(run, "min", values, -1)


def _first(run: Rendering, name: str, given: tuple[Any, ...], wanted: int) -> Any:
    listed = items(given[0]) if len(given) == 1 else list(given)
    if not listed:
        shown = _shown(given[0]) if given else "nothing"
        raise TemplateFailed(f"{name} takes several values, or a list with something in it; this is {shown}")
    best = listed[0]
    for each in listed[1:]:
        if compare(each, best, run.budget.step) == wanted:
            best = each
    return best


def _is_listed(value: Any) -> bool:
    return isinstance(value, (list, dict))


def _shown(value: Any) -> str:
    return "an empty list" if value in ([], {}) else f"a {kind(value)}" if value is not None else "null"
