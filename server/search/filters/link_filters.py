"""Filters on links and on the target of a pair of context and id: by record type, or by a query on one type."""

from typing import TYPE_CHECKING, Any

import peewee

from server.errors import Invalid, nearest
from server.search.ast import SearchValue
from server.search.conditions import ALWAYS, Condition, all_of, compared, equals, negated
from server.search.filters.filter import Filter
from server.search.filters.service_filter import APP
from server.search.searchable import Searchable
from server.search.values import integer
from server.store.tables import table_named
from server.translation import lazy_gettext

if TYPE_CHECKING:
    from server.search.compile import SearchScope

ANY = frozenset(("*", "y", "yes", "any", "true"))
NONE = frozenset(("n", "no", "none", "null"))


class TypeFilter(Filter):
    """prefix: of the columns `<prefix>__context` and `<prefix>_id`. Accepts record types, any, none, app for the
    service itself, and `"worker:5"` in quotes for one record, even a deleted one."""

    type = "links"
    splits_commas = True

    def __init__(self, name: str, note: str, prefix: str, **options: Any) -> None:
        super().__init__(name, note, sortable=False, **options)
        self.prefix = prefix

    def one(self, text: SearchValue, scope: "SearchScope") -> Condition:
        column = peewee.Column(self.table.sql, f"{self.prefix}__context")
        word = text.value.strip().lower()
        name, colon, id = word.rpartition(":")
        if text.quoted and colon:
            return all_of([self._context_equals(column, name, scope), equals(self._id_column(), integer(id))])
        if word in ANY:
            return compared(column, "!=", "")
        if word in NONE:
            return equals(column, "")
        return self._context_equals(column, word, scope)

    def _id_column(self) -> peewee.Column:
        return peewee.Column(self.table.sql, f"{self.prefix}_id")

    def _context_equals(self, column: Any, name: str, scope: "SearchScope") -> Condition:
        return equals(column, APP if name in ("app", APP) else context_named(name, scope))


class LinksFilter(Filter):
    """Matches if the record is linked to a record of these types."""

    type = "links"
    splits_commas = True

    def __init__(self, name: str, note: str, context: str, **options: Any) -> None:
        super().__init__(name, note, sortable=False, **options)
        self.context = context

    def one(self, text: SearchValue, scope: "SearchScope") -> Condition:
        word = text.value.strip().lower()
        if word in ANY:
            return self._linked(None, scope)
        if word in NONE:
            return negated(self._linked(None, scope))
        return self._linked(type_named(word, scope), scope)

    def _linked(self, other: Searchable | None, scope: "SearchScope") -> Condition:
        link = table_named("link").alias("links")
        own, context = peewee.Column(self.table.sql, "id"), self.context
        inner = linked_to(link, other, scope)

        def build(at: Any) -> Any:
            query = link.select(link.c.from_id).where(link.c.from_context == context)
            return own.in_(query if inner is ALWAYS else query.where(inner.build(at)))

        return Condition(("linked", context, inner.key), inner.values, build)


def linked_to(link: Any, other: Searchable | None, scope: "SearchScope") -> Condition:
    """Returns the condition on a link that its other end is a readable record, of this type if one is named."""
    if other is None:
        return scope.links_to_readable(link.c.to_context, link.c.to_id)
    return scope.points_to(link.c.to_context, link.c.to_id, other)


def context_named(word: str, scope: "SearchScope") -> str:
    """Returns the full context of a record type, or of the service. Raises Invalid with the nearest one."""
    if word in ("app", APP):
        return APP
    return type_named(word, scope).context


def type_named(word: str, scope: "SearchScope") -> Searchable:
    """Returns a record type by name. Raises Invalid with the nearest one."""
    record_type = scope.record_type(word)
    if record_type is None:
        raise Invalid(
            lazy_gettext(
                "'{value}' is not a record type{nearest}", value=word[:50], nearest=nearest(word, scope.type_names())
            )
        )
    return record_type
