"""Inserts values for `${name}` into the tree of a search, so that no value can become a filter or a bracket. Within its
filter a value is still interpreted: `*` is a wildcard.

For searches that a program defines once and runs with external values."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from server.errors import BadQuery, nearest
from server.search.ast import BareWord, BooleanGroup, Items, Node, SearchValue, Subquery, Term, Value

MAX_LISTED = 1000  # elements of a list value
_PLACE = re.compile(r"\$\{([A-Za-z0-9_.]{1,64})\}")


def filled(group: BooleanGroup, values: Mapping[str, Any]) -> BooleanGroup:
    """Returns the tree with every `${name}` replaced. A text that is only a placeholder becomes a quoted text, or a
    list.

    values: texts, numbers, booleans, null, or lists of them. Raises BadQuery for an unknown name and for a value that
    is not allowed in its place."""
    return replace(
        group,
        children=tuple(_node(each, values) for each in group.children),
        controls=tuple(_term(each, values) for each in group.controls),
    )


def filled_text(q: str, values: Mapping[str, Any]) -> str:
    """Returns the search with placeholders replaced as text. Raises BadQuery for a value that cannot be written in a
    search."""

    def put(match: re.Match[str]) -> str:
        value = _named(match[1], values, match.start())
        if not isinstance(value, list):
            return value if _is_quoted(q, match.start()) else f'"{value}"'
        return "[" + ",".join(f'"{each}"' for each in value) + "]"

    for match in _PLACE.finditer(q):
        value = _named(match[1], values, match.start())
        if any('"' in each for each in (value if isinstance(value, list) else [value])):
            raise BadQuery(f"the value of ${{{match[1]}}} holds a double quote; leave it out", position=match.start())
    return _PLACE.sub(put, q)


def _is_quoted(q: str, position: int) -> bool:
    return q.count('"', 0, position) % 2 == 1


def _node(node: Node, values: Mapping[str, Any]) -> Node:
    if isinstance(node, BooleanGroup):
        return filled(node, values)
    if isinstance(node, Term):
        return _term(node, values)
    return _bare(node, values)


def _bare(node: BareWord, values: Mapping[str, Any]) -> BareWord:
    texts = list(_texts(node.text, values))
    if len(texts) != 1:
        raise BadQuery(f"a list cannot stand for a word, at position {node.position}", position=node.position)
    return replace(node, text=texts[0])


def _term(term: Term, values: Mapping[str, Any]) -> Term:
    return replace(term, value=_value(term.value, values))


def _value(value: Value, values: Mapping[str, Any]) -> Value:
    if isinstance(value, Subquery):
        return replace(value, root=filled(value.root, values))
    if isinstance(value, Items):
        return replace(value, items=tuple(text for each in value.items for text in _texts(each, values)))
    texts = list(_texts(value, values))
    return texts[0] if not _is_list(value, values) else Items(tuple(texts), value.position)


def _is_list(text: SearchValue, values: Mapping[str, Any]) -> bool:
    match = _PLACE.fullmatch(text.value)
    return match is not None and isinstance(values.get(match[1]), (list, dict))


def _texts(text: SearchValue, values: Mapping[str, Any]) -> Iterator[SearchValue]:
    """Yields one text, or the texts of the list that replaces a placeholder."""
    alone = _PLACE.fullmatch(text.value)
    if alone is not None:
        value = _named(alone[1], values, text.position)
        for each in value if isinstance(value, list) else [value]:
            yield SearchValue(each, True, text.position)
        return

    def put(match: re.Match[str]) -> str:
        value = _named(match[1], values, text.position)
        if isinstance(value, list):
            raise BadQuery(f"the list ${{{match[1]}}} cannot be a part of a word", position=text.position)
        return value

    yield replace(text, value=_PLACE.sub(put, text.value)) if "${" in text.value else text


def _named(name: str, values: Mapping[str, Any], position: int) -> "str | list[str]":
    if name not in values:
        raise BadQuery(f"there is no value for ${{{name}}}{nearest(name, values)}", position=position)
    value = values[name]
    if not isinstance(value, (list, dict)):
        return _printed(value, name, position)
    elements = list(value.values()) if isinstance(value, dict) else value
    if len(elements) > MAX_LISTED:
        raise BadQuery(f"the list ${{{name}}} has {len(elements)} values, at most {MAX_LISTED}", position=position)
    return [_printed(each, name, position) for each in elements]


def _printed(value: Any, name: str, position: int) -> str:
    if isinstance(value, (list, dict)):
        raise BadQuery(f"the list ${{{name}}} holds another list", position=position)
    if value is None or isinstance(value, bool):
        return "1" if value else ""
    return f"{value:.15g}" if isinstance(value, float) else str(value)
