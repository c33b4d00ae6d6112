"""Operations of texts, lists and maps alike: length, first and last, slices, reversal."""

from typing import Any

from server.template.registry import filter
from server.template.run import Rendering
from server.template.shared.text_values import read
from server.template.shared.xml_tree import XmlNode
from server.template.values import items, keyed, pairs, printed, truthy, whole


@filter("length", charges_itself=True)
def length(run: Rendering, value: Any) -> int:
    """The number of values of a list or a map, or the number of characters of any other value."""
    if isinstance(value, XmlNode):
        return len(value.listed())
    return len(value) if isinstance(value, (list, dict)) else len(printed(value))


@filter("first", charges_itself=True)
def first(run: Rendering, value: Any) -> Any:
    """The first value of a list or a map, or the first character of any other value; null or "" if it is empty."""
    if isinstance(value, dict):
        return next(iter(value.values()), None)
    return next(iter(items(value)), None) if isinstance(value, list) else printed(value)[:1]


@filter("last", charges_itself=True)
def last(run: Rendering, value: Any) -> Any:
    """The last value of a list or a map, or the last character of any other value; null or "" if it is empty."""
    if isinstance(value, dict):
        return next(reversed(value.values()), None)
    return (value[-1] if value else None) if isinstance(value, list) else printed(value)[-1:]


@filter("slice", charges_itself=True)
def slice_(run: Rendering, value: Any, start: Any, length: Any = None, preserve_keys: Any = False) -> Any:
    """`length` values or characters from the position `start` on; both count from the end if negative. Numbered keys
    begin at 0 again unless they are preserved."""
    size = len(value) if isinstance(value, (list, dict)) else len(printed(value))
    begin, end = _bounds(size, whole(start), None if length is None else whole(length))
    if not isinstance(value, (list, dict)):
        run.budget.text(max(end - begin, 0), value if isinstance(value, str) else "")
        return printed(value)[begin:end]
    run.budget.entries(size if isinstance(value, dict) or truthy(preserve_keys) else max(end - begin, 0))
    if isinstance(value, list) and not truthy(preserve_keys):
        return value[begin:end]
    return keyed(_renumbered(pairs(value)[begin:end], truthy(preserve_keys)))


def _bounds(size: int, start: int, length: int | None) -> tuple[int, int]:
    begin = min(start, size) if start >= 0 else max(size + start, 0)
    if length is None:
        return begin, size
    return begin, min(begin + length, size) if length >= 0 else max(size + length, begin)


@filter("reverse")
def reverse(run: Rendering, value: Any, preserve_keys: Any = False) -> Any:
    """The value in reverse order. Numbered keys begin at 0 again unless they are preserved."""
    if not isinstance(value, (list, dict)):
        return read(run, value)[::-1]
    return keyed(_renumbered(pairs(value)[::-1], truthy(preserve_keys)))


def _renumbered(entries: list[tuple[Any, Any]], preserve: bool) -> list[tuple[Any, Any]]:
    if preserve:
        return entries
    renumbered, number = [], 0
    for key, each in entries:
        if isinstance(key, int):
            key, number = number, number + 1
        renumbered.append((key, each))
    return renumbered
