"""The full-text index of messages, and filters that only messages have."""

import hashlib
from typing import TYPE_CHECKING, Any

import peewee

from server.digits import is_whole
from server.search.ast import Items, SearchValue, Term
from server.search.conditions import NEVER, Condition, equals, negated, one_of
from server.search.filters import ChooserFilter, Filter, TextFilter
from server.search.filters.filter import is_null
from server.search.filters.link_filters import ANY, NONE
from server.search.filters.text_filters import text_condition
from server.search.values import integer, is_wildcard
from server.store.fulltext import TextIndex as TextIndex
from server.store.tables import table_named

if TYPE_CHECKING:
    from server.search.compile import SearchScope

MESSAGE_TEXT = TextIndex(
    "message_text",
    ("content", "header_subject", "header_from", "header_to", "header_cc", "header_delivered_to"),
    "message",
)


def id_hash(message_id: str) -> str:
    """Returns the lookup value of a Message-ID with its angle brackets, "" for none.

    >>> id_hash("<a@b>")[:8], id_hash("")
    ('81da381b', '')
    """
    return hashlib.sha1(message_id.encode(), usedforsecurity=False).hexdigest() if message_id else ""


class MessageIdFilter(TextFilter):
    """Compares `<id>` with the Message-ID, case-sensitively, and a value without angle brackets with its hash.

    With wildcards, searches the Message-ID or the hash."""

    def __init__(self, name: str, note: str) -> None:
        super().__init__(name, note, "hash_header_message_id", "exact", sortable=False)

    def one(self, text: SearchValue, scope: "SearchScope") -> Condition:
        value = text.value.strip()
        if not value.startswith("<"):
            return text_condition(self.column, text, "exact")
        if is_wildcard(value):
            return text_condition(peewee.Column(self.table.sql, "message_id"), text, "exact")
        return equals(self.column, id_hash(value))

    item = one


class NotesFilter(TextFilter):
    """Words of the notes about a mail; takes any and none."""

    def one(self, text: SearchValue, scope: "SearchScope") -> Condition:
        word = "" if text.quoted else text.value.strip().lower()
        if word in NONE:
            return equals(self.column, "[]")
        return negated(equals(self.column, "[]")) if word in ANY else super().one(text, scope)


class TicketColumnFilter(ChooserFilter):
    """A column of the message's ticket."""

    def __init__(self, name: str, note: str, ticket_column: str, target: str) -> None:
        super().__init__(name, note, "", target=target, sortable=False)
        self.ticket = table_named("ticket").alias("its_ticket")
        self.ticket_column = peewee.Column(self.ticket, ticket_column)

    def meaning(self, term: Term, scope: "SearchScope") -> Condition:
        value = term.value
        if isinstance(value, Items) and all(is_whole(item.value) for item in value.items):
            return self._behind(one_of(self.ticket_column, [integer(item.value) for item in value.items]))
        return Filter.meaning(self, term, scope)  # skips NumberFilter, which uses a column of this table

    def one(self, text: SearchValue, scope: "SearchScope") -> Condition:
        if is_null(text):
            return NEVER  # every message has a ticket, and every ticket a group
        return self._behind(self.number_condition(self.ticket_column, text))

    def order(self, scope: "SearchScope") -> Any:
        own = peewee.Column(self.table.sql, "ticket_id")
        return self.ticket.select(self.ticket_column).where(self.ticket.c.id == own)

    def _behind(self, inner: Condition) -> Condition:
        ticket, own = self.ticket, peewee.Column(self.table.sql, "ticket_id")

        def build(at: Any) -> Any:
            return own.in_(ticket.select(ticket.c.id).where(inner.build(at)))

        return Condition(("its ticket", inner.key), inner.values, build)
