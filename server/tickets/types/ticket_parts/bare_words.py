"""Free-text search of tickets: in a message with its subject and sender, in the ticket's subject, in the names of its
requesters and organization, and by the beginning of its mask.

All words of a search must occur in one of these: `gondola ana` finds Ana's mail about a gondola."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import peewee

from server.people.types.address import ADDRESS_TEXT
from server.people.types.org import ORG_TEXT
from server.search.ast import SearchValue
from server.search.conditions import NEVER, At, Condition
from server.search.filters import TextFilter, WordsFilter
from server.search.filters.text_filters import LAST_CHARACTER
from server.store import fulltext
from server.store.tables import table_named
from server.tickets.types.message_parts.message_filters import MESSAGE_TEXT

if TYPE_CHECKING:
    from server.search.compile import SearchScope

TICKET_TEXT = fulltext.TextIndex("ticket_text", ("subject",), "ticket")
IN_MESSAGE = "content header_subject header_from"  # parts of the message index


class MaskFilter(TextFilter):
    """Matches a mask, also in the form of subjects: `[#ABC-12345-678]`."""

    def one(self, text: SearchValue, scope: "SearchScope") -> Condition:
        return super().one(replace(text, value=bare_mask(text.value)), scope)

    def item(self, text: SearchValue, scope: "SearchScope") -> Condition:
        return super().item(replace(text, value=bare_mask(text.value)), scope)


def bare_mask(text: str) -> str:
    """Removes the signs that surround a mask in subjects.

    >>> bare_mask("[#ABC-12345-678]"), bare_mask("#ABC"), bare_mask("ABC")
    ('ABC-12345-678', 'ABC', 'ABC')
    """
    return text.strip().removeprefix("[").removesuffix("]").removeprefix("#")


class TicketWords(WordsFilter):
    """The filter `text` of tickets. Its condition is one list of ids, so that a search starts from the matches of all
    indexes."""

    def __init__(self) -> None:
        super().__init__(
            "text",
            "Words of a message with its subject and sender, of the subject, of the requesters, of the "
            "organization, or the beginning of the mask.",
            MESSAGE_TEXT,
            default=True,
        )

    @property
    def indexes(self) -> tuple[fulltext.TextIndex, ...]:
        return (MESSAGE_TEXT, TICKET_TEXT, ADDRESS_TEXT, ORG_TEXT)

    def words(self, texts: list[SearchValue]) -> Condition:
        queries = [[fulltext.words_query(each.value, each.quoted, part) for each in texts] for part in (IN_MESSAGE, "")]
        message_query, name_query = (" AND ".join(filter(None, each)) for each in queries)
        if not message_query:
            return NEVER
        values: tuple[Any, ...] = (message_query, name_query)
        mask = bare_mask(texts[0].value) if len(texts) == 1 else ""
        if mask.isascii() and mask.replace("-", "").isalnum():
            values += (mask, mask + LAST_CHARACTER)
        own = peewee.Column(self.table.sql, "id")
        return Condition(
            ("ticket words", len(values)), values, lambda at: own.in_(_ticket_ids(at, len(values) > 2)), makes_list=True
        )


def _ticket_ids(at: At, has_mask: bool) -> Any:
    """Selects the ticket ids. at: the query for messages, the query for names, and the bounds of the mask."""
    message, requester, of_org, masked = (
        table_named(name).alias(f"{name}_{alias}")
        for name, alias in (("message", "said"), ("requester", "named"), ("ticket", "of_org"), ("ticket", "masked"))
    )
    ticket_ids: Any = message.select(message.c.ticket_id).where(message.c.id.in_(_rows(MESSAGE_TEXT, at(0))))
    ticket_ids = ticket_ids.union_all(_rows(TICKET_TEXT, at(1)))
    ticket_ids = ticket_ids.union_all(
        requester.select(requester.c.ticket_id).where(requester.c.address_id.in_(_rows(ADDRESS_TEXT, at(1))))
    )
    ticket_ids = ticket_ids.union_all(of_org.select(of_org.c.id).where(of_org.c.org_id.in_(_rows(ORG_TEXT, at(1)))))
    if has_mask:
        in_range = (masked.c.mask >= at(2)) & (masked.c.mask < at(3))
        ticket_ids = ticket_ids.union_all(masked.select(masked.c.id).where(in_range))
    return ticket_ids


def _rows(text: fulltext.TextIndex, query: Any) -> Any:
    return text.sql.select(text.sql.rowid).where(fulltext.match(text, query))
