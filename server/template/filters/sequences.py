"""What texts, lists and maps have in common: length, first and last, parts, the other way round."""

from typing import Any

from server.template.registry import filter
from server.template.run import Rendering
from server.template.shared.texts import read
from server.template.shared.xml_tree import XmlNode
from server.template.values import items, keyed, pairs, printed, truthy, whole


@filter("length", charges_itself=True)
def length(run: Rendering, value: Any) -> int:
    """How many values a list or a map has, or characters anything else when printed."""
    if isinstance(value, XmlNode):
        return len(value.listed())
    return len(value) if isinstance(value, (list, dict)) else len(printed(value))


@filter("first", charges_itself=True)
def first(run: Rendering, value: Any) -> Any:
    """The first value of a list or a map, the first character of anything else; null or "" for none."""
    if isinstance(value, dict):
        return next(iter(value.values()), None)
    return next(iter(items(value)), None) if isinstance(value, list) else printed(value)[:1]


@filter("last", charges_itself=True)
def last(run: Rendering, value: Any) -> Any:
    """As first, from the end."""
    if isinstance(value, dict):
        return next(reversed(value.values()), None)
    return (value[-1] if value else None) if isinstance(value, list) else printed(value)[-1:]


@filter("slice", charges_itself=True)
def slice_(run: Rendering, value: Any, start: Any, length: Any = None, preserve_keys: Any = False) -> Any:
    """So many values or characters from a position on; both count from the end when negative. Numbered keys begin at 0
    again unless they are preserved."""
    size = len(value) if isinstance(value, (list, dict)) else len(printed(value))
    begin, end = _bounds(size, whole(start), None if length is None else whole(length))
    if not isinstance(value, (list, dict)):
        run.budget.text(max(end - begin, 0), value if isinstance(value, str) else "")
        return printed(value)[begin:end]
    run.budget.made(size if isinstance(value, dict) or truthy(preserve_keys) else max(end - begin, 0))
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
    """The other way round. Numbered keys begin at 0 again unless they are preserved."""
    if not isinstance(value, (list, dict)):
        return read(run, value)[::-1]
    return keyed(_renumbered(pairs(value)[::-1], truthy(preserve_keys)))


def _renumbered(listed: list[tuple[Any, Any]], preserve: bool) -> list[tuple[Any, Any]]:
    if preserve:
        return listed
    found, number = [], 0
    for key, each in listed:
        if isinstance(key, int):
            key, number = number, number + 1
        found.append((key, each))
    return found
