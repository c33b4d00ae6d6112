"""Parses the text of a data query into values: checks every key against its declaration and reports errors with
positions.

Knows neither types of query nor record types; data_query.py and the types interpret the values."""

from collections.abc import Iterator, Mapping
from typing import Any

from server.dataclass import dataclass
from server.errors import BadDataQuery, nearest
from server.queries.query_type import KINDS, QueryKey
from server.search.ast import BooleanGroup, Items, SearchValue, Subquery, Term
from server.search.placeholders import filled
from server.search.query_parser import parse_group
from server.search.query_tokens import TokenKind, tokens

MAX_KEYS = 100  # keys of one data query or group


@dataclass(frozen=True)
class KeyValue:
    """A key in the query. key: its declaration. id: the free part of a pattern's name.

    inner: the values of a group, by name."""

    name: str
    key: QueryKey
    id: str
    term: Term
    inner: "dict[str, KeyValue]"

    @property
    def position(self) -> int:
        """The position of its value."""
        return self.term.value_position

    @property
    def texts(self) -> tuple[SearchValue, ...]:
        """The value, or the items of a list."""
        value = self.term.value
        if isinstance(value, Items):
            return value.items
        return (value,) if isinstance(value, SearchValue) else ()


def terms_of(q: str, values: Mapping[str, Any] | None = None) -> tuple[Term, ...]:
    """Returns the keys of the outermost level with their values. Raises BadQuery for anything else.

    values: of each `${name}`, None to read `${name}` literally."""
    group = parse_group(q)
    return tuple(_terms(group if values is None else filled(group, values)))


def read_keys(terms: tuple[Term, ...], keys: tuple[QueryKey, ...], where: str) -> dict[str, KeyValue]:
    """Returns {name: KeyValue} in the order of the text; an alias gets the name of its key.

    where: the owner of the keys, for messages. Raises BadDataQuery for an unknown key, a duplicate, or a value of the
    wrong kind."""
    values: dict[str, KeyValue] = {}
    for term in terms:
        key, id = _declared(term, keys, where)
        name = key.prefix + id if key.is_pattern else key.name
        if name in values:
            raise BadDataQuery(
                f"'{term.field[:80]}:' appears twice; write it once", position=term.position, field=term.field
            )
        if len(values) >= MAX_KEYS:
            raise BadDataQuery(f"{where} has more than {MAX_KEYS} keys", position=term.position, limit=MAX_KEYS)
        _check_kind(term, key)
        values[name] = KeyValue(name, key, id, term, _inner(term, key))
    return values


def require(values: dict[str, KeyValue], keys: tuple[QueryKey, ...], position: int, where: str) -> None:
    """Raises BadDataQuery for a missing required key; position: where it should be."""
    for key in keys:
        is_there = any(each.key is key for each in values.values())
        if key.required and not is_there:
            raise BadDataQuery(
                f"{where} needs '{key.name}:', {key.note[:1].lower()}{key.note[1:]}", position=position, field=key.name
            )


def source_of(q: str, position: int) -> str:
    """Returns the text from the bracket at `position` to the matching bracket, inclusive."""
    depth = 0
    for token in tokens(q[position:]):
        if token.kind is TokenKind.OPEN:
            depth += 1
        elif token.kind is TokenKind.CLOSE:
            depth -= 1
            if not depth:
                return q[position : position + token.position + 1]
    return q[position:]


def _terms(group: BooleanGroup) -> Iterator[Term]:
    if group.op == "or":
        raise BadDataQuery("keys cannot be combined with OR; write them side by side", position=group.position)
    terms: list[Term] = []
    for child in (*group.children, *group.controls):
        if not isinstance(child, Term):
            raise BadDataQuery(
                f"what stands at position {child.position} is not a key with a value, such as of:ticket; a value with "
                "spaces needs quotes",
                position=child.position,
            )
        if child.negated:
            raise BadDataQuery(f"'{child.field[:80]}:' takes no '!'", position=child.position, field=child.field)
        terms.append(child)
    return iter(sorted(terms, key=lambda term: term.position))


def _declared(term: Term, keys: tuple[QueryKey, ...], where: str) -> tuple[QueryKey, str]:
    name = term.field
    for key in keys:
        if name == key.name or name in key.aliases:
            return key, ""
    for key in keys:
        if key.is_pattern and name.startswith(key.prefix) and len(name) > len(key.prefix):
            return key, name[len(key.prefix) :]
    names = [key.name for key in keys]
    raise BadDataQuery(
        f"'{name[:80]}:' is not a key of {where}{nearest(name, names)}", position=term.position, field=name
    )


def _check_kind(term: Term, key: QueryKey) -> None:
    value, kind = term.value, key.kind
    fits = (
        isinstance(value, Subquery) and not value.all
        if kind in ("group", "query")
        else isinstance(value, SearchValue)
        if kind in ("text", "number")
        else not isinstance(value, Subquery)
    )
    if not fits:
        raise BadDataQuery(f"'{term.field[:80]}:' takes {KINDS[kind]}", position=term.value_position, field=term.field)


def _inner(term: Term, key: QueryKey) -> dict[str, KeyValue]:
    if key.kind != "group":
        return {}
    assert isinstance(term.value, Subquery)
    where = f"'{term.field[:80]}:'"
    values = read_keys(tuple(_terms(term.value.root)), key.keys, where)
    require(values, key.keys, term.value_position, where)
    return values
