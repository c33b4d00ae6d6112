"""Lists and maps: parts, order, and arrow functions."""

import functools
from typing import Any

from server.errors import TemplateFailed
from server.template.registry import filter
from server.template.run import Arrow, Rendering
from server.template.shared import list_arguments
from server.template.shared.list_arguments import arrow_of, entries
from server.template.values import compare, keyed, pairs, truthy, whole

CHARS_A_STEP = 256  # compared for one step
Pair = tuple[Any, Any]


@filter("keys")
def keys(run: Rendering, value: Any) -> list[Any]:
    """The keys of a map or the positions of a list; an empty list for any other value."""
    return [key for key, _ in pairs(value)]


@filter("values")
def values(run: Rendering, value: Any) -> list[Any]:
    """The values of a list or a map. Raises TemplateFailed for any other value."""
    return [each for _, each in entries(value, "values")]


@filter("column")
def column(run: Rendering, value: Any, key: Any, index: Any = None) -> Any:
    """The entry under a key of each row that has it. Raises TemplateFailed if the value is not a list or a map."""
    entries(value, "column")
    return list_arguments.column(value, key, index)


@filter("merge")
def merge(run: Rendering, value: Any, others: Any) -> Any:
    """Two lists or maps joined: numbered entries are appended, named entries of the second replace those of the first.
    Raises TemplateFailed for any other value."""
    merged: dict[str, Any] = {}
    number = 0
    own, more = entries(value, "merge"), entries(others, "merge")
    run.budget.elements(len(own) + len(more))
    for key, each in own + more:
        if isinstance(key, int):
            key, number = str(number), number + 1
        merged[key] = each
    return keyed(merged.items())


@filter("batch")
def batch(run: Rendering, value: Any, size: Any, fill: Any = None, preserve_keys: Any = True) -> list[Any]:
    """The value split into parts of `size` entries, which keep their keys. fill: fills up the last part. Raises
    TemplateFailed if the value is not a list or a map, and for a size below 1."""
    numbered, most = entries(value, "batch"), whole(size)
    if most < 1:
        raise TemplateFailed(f"a part has at least 1 entry, not {most}")
    parts = [numbered[start : start + most] for start in range(0, len(numbered), most)]
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
    """The entries sorted by value, with their keys. arrow: `(a, b) => a.n <=> b.n`. Raises TemplateFailed if the value
    is not a list or a map."""
    numbered = entries(value, "sort")
    order = functools.partial(_by_value, run) if arrow is None else functools.partial(_by, arrow_of(arrow, "sort"))
    return keyed(sorted(numbered, key=functools.cmp_to_key(order)))


def _by_value(run: Rendering, left: Pair, right: Pair) -> int:
    one, other = left[1], right[1]
    chars = sum(len(each) for each in (one, other) if isinstance(each, str))
    run.budget.step(1 + chars // CHARS_A_STEP)
    return compare(one, other, run.budget.step)


def _by(arrow: Arrow, left: Pair, right: Pair) -> int:
    one, other = left[1], right[1]
    order = arrow(one, other)
    if order is False:  # false from `a > b` does not distinguish less from equal
        return -1 if truthy(arrow(other, one)) else 0
    return whole(order)


# -- arrow functions --------------------------------------------------------------------------------------------------


@filter("map", takes_arrow=True)
def map_(run: Rendering, value: Any, arrow: Any) -> Any:
    """The results of the arrow function for each value and key, under the same keys."""
    change = arrow_of(arrow, "map")
    return keyed([(key, change(each, key)) for key, each in pairs(value)])


@filter("filter", takes_arrow=True)
def filter_(run: Rendering, value: Any, arrow: Any) -> Any:
    """The entries for which the arrow function of value and key is true, under their keys. Raises TemplateFailed if the
    value is not a list or a map."""
    fits = arrow_of(arrow, "filter")
    return keyed([(key, each) for key, each in entries(value, "filter") if truthy(fits(each, key))])


@filter("reduce", takes_arrow=True)
def reduce(run: Rendering, value: Any, arrow: Any, initial: Any = None) -> Any:
    """One value, computed by the arrow function of the result so far, the next value and its key. Raises TemplateFailed
    if the value is not a list or a map."""
    step, result = arrow_of(arrow, "reduce"), initial
    for key, each in entries(value, "reduce"):
        result = step(result, each, key)
    return result
