"""Lists and maps: their parts, in another order, changed by arrow functions."""

import functools
from typing import Any

from server.errors import TemplateFailed
from server.template.registry import filter
from server.template.run import Arrow, Rendering
from server.template.shared import lists
from server.template.shared.lists import arrow_of, entries
from server.template.values import compare, keyed, pairs, truthy, whole

CHARS_A_STEP = 256  # compared at once
Pair = tuple[Any, Any]


@filter("keys")
def keys(run: Rendering, value: Any) -> list[Any]:
    """The keys of a map, the positions of a list, nothing of anything else."""
    return [key for key, _ in pairs(value)]


@filter("values")
def values(run: Rendering, value: Any) -> list[Any]:
    """The values of a list or a map. Raises TemplateFailed for anything else."""
    return [each for _, each in entries(value, "values")]


@filter("column")
def column(run: Rendering, value: Any, key: Any, index: Any = None) -> Any:
    """What stands under a key in each row that has it. Raises TemplateFailed for what is no list."""
    entries(value, "column")
    return lists.column(value, key, index)


@filter("merge")
def merge(run: Rendering, value: Any, others: Any) -> Any:
    """Two lists or maps in one: numbered entries follow each other, named ones of the second replace those of the
    first. Raises TemplateFailed for anything else."""
    found: dict[str, Any] = {}
    number = 0
    listed, more = entries(value, "merge"), entries(others, "merge")
    run.budget.elements(len(listed) + len(more))
    for key, each in listed + more:
        if isinstance(key, int):
            key, number = str(number), number + 1
        found[key] = each
    return keyed(found.items())


@filter("batch")
def batch(run: Rendering, value: Any, size: Any, fill: Any = None, preserve_keys: Any = True) -> list[Any]:
    """Parts of so many entries, which keep their keys. fill: what the last part is filled up with.
    Raises TemplateFailed for what is no list and for a size below 1."""
    listed, most = entries(value, "batch"), whole(size)
    if most < 1:
        raise TemplateFailed(f"a part has at least 1 entry, not {most}")
    parts = [listed[start : start + most] for start in range(0, len(listed), most)]
    if not truthy(preserve_keys):
        parts = [[(place, each) for place, (_, each) in enumerate(part)] for part in parts]
    if parts and fill is not None:
        missing = most - len(parts[-1])
        run.budget.elements(missing)
        after = max([key for key, _ in parts[-1] if isinstance(key, int)], default=-1) + 1
        parts[-1] += [(after + place, fill) for place in range(missing)]
    return [keyed(part) for part in parts]


# -- order ------------------------------------------------------------------------------------------------------------


@filter("sort", takes_arrow=True)
def sort(run: Rendering, value: Any, arrow: Any = None) -> Any:
    """By value, each under its key. arrow: `(a, b) => a.n <=> b.n`. Raises TemplateFailed for what is no list."""
    listed = entries(value, "sort")
    order = functools.partial(_by_value, run) if arrow is None else functools.partial(_by, arrow_of(arrow, "sort"))
    return keyed(sorted(listed, key=functools.cmp_to_key(order)))


def _by_value(run: Rendering, left: Pair, right: Pair) -> int:
    one, other = left[1], right[1]
    chars = sum(len(each) for each in (one, other) if isinstance(each, str))
    run.budget.step(1 + chars // CHARS_A_STEP)
    return compare(one, other, run.budget.step)


def _by(arrow: Arrow, left: Pair, right: Pair) -> int:
    one, other = left[1], right[1]
    found = arrow(one, other)
    if found is False:  # `a > b` tells too little when it is not so
        return -1 if truthy(arrow(other, one)) else 0
    return whole(found)


# -- arrow functions --------------------------------------------------------------------------------------------------


@filter("map", takes_arrow=True)
def map_(run: Rendering, value: Any, arrow: Any) -> Any:
    """What the arrow function makes of each value and key, under the same keys."""
    change = arrow_of(arrow, "map")
    return keyed([(key, change(each, key)) for key, each in pairs(value)])


@filter("filter", takes_arrow=True)
def filter_(run: Rendering, value: Any, arrow: Any) -> Any:
    """The entries for which the arrow function of value and key is true, under their keys.
    Raises TemplateFailed for what is no list."""
    fits = arrow_of(arrow, "filter")
    return keyed([(key, each) for key, each in entries(value, "filter") if truthy(fits(each, key))])


@filter("reduce", takes_arrow=True)
def reduce(run: Rendering, value: Any, arrow: Any, initial: Any = None) -> Any:
    """One value, made by the arrow function of what there is so far, the next value and its key.
    Raises TemplateFailed for what is no list."""
    step, found = arrow_of(arrow, "reduce"), initial
    for key, each in entries(value, "reduce"):
        found = step(found, each, key)
    return found
