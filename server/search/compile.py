"""Compiles a search tree into one condition, for any record type: each term is compiled by the type's filter of that
name.

Independent of record types and tables, which it reaches through SearchScope. Counting and sorting are in select.py."""

import re
from collections.abc import Callable
from dataclasses import field, replace
from datetime import tzinfo
from typing import TYPE_CHECKING, Any

from server.dataclass import dataclass
from server.errors import BadQuery, ScopeDenied, nearest
from server.search.ast import BareWord, BooleanGroup, Items, SearchValue, Subquery, Term
from server.search.conditions import ALWAYS, At, Condition, all_of, any_of, equals, negated
from server.search.readable import Readable, behind, points_to_readable
from server.search.searchable import Searchable, SearchableTypes
from server.translation import lazy_gettext

if TYPE_CHECKING:
    from server.store.transaction import Transaction

_COMPARISON = re.compile(r"([A-Za-z][A-Za-z0-9_.]*)(==|<>|[<>!]=|[=<>])(.+)", re.DOTALL)


@dataclass(frozen=True)
class SearchScope:
    """The context of a search: the types, the caller, the time and the zone.

    readable(type): the condition for records that the caller may read, applied to every record a search touches.
    covers(uri): whether the scopes of the caller's token allow a search in related records of a type."""

    registry: SearchableTypes
    tx: "Transaction"
    actor_id: int
    now: int
    tz: tzinfo
    readable: Readable
    memo: dict[Any, Any] = field(default_factory=dict, compare=False)
    covers: Callable[[str], bool] = field(default=lambda uri: True, compare=False)
    language: str = ""  # the caller's, for the sort order of texts

    def record_type(self, name: str) -> Searchable | None:
        """Returns the type with this uri, alias or context, None for an unknown one."""
        return self.registry.find(name)

    def type_spelled(self, name: str) -> Searchable | None:
        """Returns the type named in a filter, where dots replace spaces."""
        return self.record_type(name if name.startswith("svc.") else name.replace(".", " "))

    def type_names(self) -> list[str]:
        """Returns every uri, for error messages."""
        return self.registry.uris()

    def points_to_readable(self, context: Any, id: Any) -> Condition:
        """Returns the condition that a pair of columns, context and id, points to a record that the caller may read."""
        return points_to_readable(self.registry, self.readable, context, id)

    def links_to_readable(self, context: Any, id: Any) -> Condition:
        """Returns the condition of points_to_readable for a pair that only points to linkable records."""
        linkable = [each for each in self.registry if each.can_be_linked]
        return points_to_readable(linkable, self.readable, context, id)

    def points_to(self, context: Any, id: Any, record_type: Searchable) -> Condition:
        """Returns the condition of points_to_readable for records of one type."""
        is_of_type, readable = equals(context, record_type.context), self.readable(record_type)
        return is_of_type if readable is ALWAYS else all_of([is_of_type, behind(id, record_type, readable)])

    def require_covered(self, record_type: Searchable) -> None:
        """Raises ScopeDenied if the token's scopes do not cover a type, because a search for its values would reveal
        them."""
        if not self.covers(record_type.uri):
            raise ScopeDenied(
                f"the token's scopes do not cover {record_type.uri}, which this search uses; leave the filter out, "
                f"or request a scope with records/{record_type.uri}/search",
                scope=f"records/{record_type.uri}/search",
            )

    def ids_of(self, target: str, group: BooleanGroup, *, is_readable: bool = False) -> Condition:
        """Returns a condition whose expression selects the ids of the records that match `group`. is_readable: the
        caller may read all of them in any case."""
        record_type = self.registry.type(target)
        self.require_covered(record_type)
        readable = ALWAYS if is_readable else self.readable(record_type)
        inner = all_of([readable, compile_group(record_type, group, self)])
        table = record_type.table.sql

        def build(at: At) -> Any:
            return table.select(table.id) if inner is ALWAYS else table.select(table.id).where(inner.build(at))

        return Condition(("ids", record_type.table.name, inner.key), inner.values, inner.ids or build)

    def in_zone(self, tz: tzinfo) -> "SearchScope":
        """Returns a copy with another zone, for `set.timezone:`."""
        return replace(self, tz=tz)


def compile_group(record_type: Searchable, group: BooleanGroup, scope: SearchScope) -> Condition:
    """Compiles a group of terms into a condition on records of this type.

    Raises BadQuery with the position of the first error."""
    parts: list[Condition] = []
    words: list[BareWord] = []

    def flush() -> None:
        if words:
            parts.append(_bare(record_type, words, scope))
            words.clear()

    for child in group.children:
        if isinstance(child, BareWord) and not child.negated and group.op == "and":
            words.append(child)  # adjacent words form one full-text value
            continue
        flush()
        if isinstance(child, BareWord):
            condition = _bare(record_type, [child], scope)
            parts.append(negated(condition) if child.negated else condition)
        elif isinstance(child, BooleanGroup):
            parts.append(compile_group(record_type, child, scope))
        else:
            parts.append(_term(record_type, child, scope))
    flush()
    if not parts:
        return ALWAYS
    condition = any_of(parts) if group.op == "or" else all_of(parts)
    return negated(condition) if group.negated else condition


def _bare(record_type: Searchable, words: list[BareWord], scope: SearchScope) -> Condition:
    for word in words:
        _refuse_comparison(record_type, word.text, scope)
    default = record_type.default_filter
    if default is None:
        raise BadQuery(f"{record_type.uri} takes no bare words; write filter:value", position=words[0].position)
    group = BooleanGroup(
        "and", tuple(BareWord(word.text, False, word.position) for word in words), False, words[0].position
    )
    if default.type == "fulltext":
        return default.condition(Term("text", Subquery(group, False, group.position), False, group.position), scope)
    return all_of([default.condition(Term("text", word.text, False, word.position), scope) for word in words])


def _term(record_type: Searchable, term: Term, scope: SearchScope) -> Condition:
    filter = record_type.filter_named(term.field, scope)
    if filter is None:
        raise unknown_filter(record_type, term.field, term.position)
    _refuse_range(term)
    return filter.condition(term, scope)


def _refuse_comparison(record_type: Searchable, text: SearchValue, scope: SearchScope) -> None:
    """Raises BadQuery for a word such as `importance>50`, a comparison in other search languages."""
    match = None if text.quoted else _COMPARISON.fullmatch(text.value)
    if match is None or record_type.filter_named(match[1], scope) is None:
        return
    sign = {"=": "", "==": "", "<>": "!", "!=": "!"}.get(match[2], match[2])
    raise BadQuery(
        f"'{text.value[:60]}' at position {text.position}: a filter ends with a colon; write "
        f"{match[1]}:{sign}{match[3][:60]}, or put quotes round it",
        position=text.position,
    )


def _refuse_range(term: Term) -> None:
    """Raises BadQuery for `[a TO b]`, a range in other search languages but a list of three here."""
    items = term.value.items if isinstance(term.value, Items) else ()
    if len(items) == 3 and items[1].value == "TO" and not items[1].quoted:
        low, _, high = (each.value[:60] for each in items)
        raise BadQuery(
            f"'{term.field}:' at position {term.position}: write a range as {term.field}:\"{low} to {high}\"",
            position=items[1].position,
            field=term.field,
        )


def unknown_filter(record_type: Searchable, name: str, position: int) -> BadQuery:
    """Returns the error for an unknown filter name, with the nearest one."""
    message = lazy_gettext(
        "'{value}' is not a filter of {type}{nearest}",
        value=name[:80],
        type=record_type.uri,
        nearest=nearest(name, record_type.filter_names()),
    )
    return BadQuery(message, position=position, field=name)
