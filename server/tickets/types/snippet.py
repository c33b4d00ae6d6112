"""Snippets: texts that workers insert into replies and comments, with placeholders for the current record.

tickets/snippets.py fills them in and counts the uses."""

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import peewee

from server.fields import Name, Text, Uint, UpdatedAt
from server.record_types.record_type import Access, Change, Key, Record, RecordType, Subtotals, Writing
from server.record_types.shared import record_owners
from server.record_types.shared.relation_tables import SNIPPET_USE
from server.record_types.traits import Comments, CustomFields, Links, Search
from server.search.ast import SearchValue as Value
from server.search.ast import Subquery, Term
from server.search.conditions import ALWAYS, NEVER, Condition, equals, negated
from server.search.filters import ContextFilter, Filter, UsableByFilter
from server.search.filters.date import date_condition
from server.search.filters.filter import is_null
from server.store.tables import Column, Index
from server.tickets.types.ticket_parts.ticket_filters import comparison

if TYPE_CHECKING:
    from server.record_types.registry import Registry
    from server.search.compile import SearchScope

PLAIN = "plaintext"


class KindFilter(ContextFilter):
    """Matches `plaintext`, a record type by any of its names, or part of a context."""

    type = "virtual"

    def one(self, text: Value, scope: "SearchScope") -> Condition:
        is_plain = text.value.strip().lower() == PLAIN
        return equals(self.column, "") if is_plain else super().one(text, scope)

    item = one


class OwnUsesFilter(Filter):
    """Matches the number of uses by the caller, `>10`, or within a time, `(hits:>10 date:"-30 days")`, to the hour."""

    type = "virtual"
    splits_commas = True

    def __init__(self, name: str, note: str) -> None:
        super().__init__(name, note, sortable=True)

    def meaning(self, term: Term, scope: "SearchScope") -> Condition:
        if not isinstance(term.value, Subquery):
            return super().meaning(term, scope)
        hits, since = ">0", ALWAYS
        for child in term.value.root.children:
            name = child.field if isinstance(child, Term) else ""
            if not isinstance(child, Term) or not isinstance(child.value, Value) or name not in ("hits", "date"):
                raise self.bad(term, "in parentheses takes hits: and date:")
            if name == "hits":
                hits = child.value.value
            else:
                since = date_condition(peewee.Column(SNIPPET_USE.sql, "hour"), child.value.value, scope)
        return self._used(hits, since, scope)

    def one(self, text: Value, scope: "SearchScope") -> Condition:
        return NEVER if is_null(text) else self._used(text.value, ALWAYS, scope)

    def _used(self, hits: str, since: Condition, scope: "SearchScope") -> Condition:
        wanted_hits = comparison(hits)
        # An unused snippet has no row to count: a comparison that 0 satisfies is evaluated by its complement.
        fits_none = wanted_hits.holds(0)
        table: Any = SNIPPET_USE.sql
        own, first = peewee.Column(self.table.sql, "id"), len(since.values)

        def build(at: Any) -> Any:
            query = table.select(table.snippet_id).where(table.worker_id == at(first))
            if since is not ALWAYS:
                query = query.where(since.build(at))
            holds = wanted_hits.expression(peewee.fn.SUM(table.uses), lambda index: at(first + 1 + index))
            return own.in_(query.group_by(table.snippet_id).having(~holds if fits_none else holds))

        key = ("own uses", wanted_hits.operator, fits_none, since.key)
        condition = Condition(key, (*since.values, scope.actor_id, *wanted_hits.values), build)
        return negated(condition) if fits_none else condition

    def order(self, scope: "SearchScope") -> Any:
        use: Any = SNIPPET_USE.sql.alias("own_use")
        uses = use.select(peewee.fn.SUM(use.uses)).where(
            use.snippet_id == peewee.Column(self.table.sql, "id"), use.worker_id == scope.actor_id
        )
        return peewee.fn.COALESCE(uses, 0)

    def order_key(self, scope: "SearchScope") -> Hashable:
        return scope.actor_id


class Snippet(RecordType):
    """A text with `{{placeholders}}`, for records of one type or without a record."""

    uri = "snippet"
    tier = 2
    traits = (Comments(), CustomFields(), Links(), Search())
    access = Access(read="owner", write=("privilege", "owner"))
    fields = {
        "content": Text(
            "The text, with placeholders such as {{mask}}.", 4294967295, required=True, filter_note="The text."
        ),
        "context": Text("Record type whose keys the placeholders use; blank for a text without a record.", filter=None),
        **record_owners.fields(),
        "prompts_kata": Text("Prompts to fill in first, in KATA.", 16777215, form="kata", shown=False),
        "title": Name(),
        "total_uses": Uint("How often it was used."),
        "updated_at": UpdatedAt(),
    }
    columns = (Column("last_used_at"),)
    keys = (
        Key(
            "last_used_at",
            "timestamp",
            "When it was last used.",
            lambda record, shown: record["last_used_at"],
            on_expand=True,
            origin="ours",
        ),
    )
    indexes = (
        Index(("title",), "snippets by title"),
        Index(("owner__context", "owner_id"), "what somebody owns"),
    )
    filters = (
        OwnUsesFilter("myUses", 'How often the caller used it: a number, or (hits:>10 date:"-30 days").'),
        KindFilter(
            "type", "plaintext, a record type, or part of its context; lists are allowed.", "context", "partial"
        ),
        UsableByFilter("Snippets that this worker may use: me, an id or a name."),
    )
    subtotals = Subtotals(search=("fieldset", "links", "owner", "type"), virtual=("owner",))
    label_column = "title"

    def bind(self, registry: "Registry") -> None:
        self.registry = registry

    def privileged(self, change: Change, writing: Writing) -> None:
        record_owners.require(change, writing)

    def prepare(self, change: Change, writing: Writing) -> None:
        """Stores any name of a record type as its full context; an unknown one stays unchanged."""
        record_owners.check(change, writing)
        record_type = self.registry.find(change.value("context").strip().lower())
        if record_type is not None:
            change.new["context"] = record_type.context

    def after_delete(self, record: Record, writing: Writing) -> None:
        writing.tx.delete(SNIPPET_USE, snippet_id=record["id"])
