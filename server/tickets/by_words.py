"""Tickets by their mask, by words of their subject and messages, or by their requesters."""

from typing import Any

from server.context import Context
from server.records import records
from server.records.records import LABEL, MAX_NAMED_WORDS, SearchRequest
from server.tickets import masks

MAX_REQUESTERS = 10  # requesters whose other tickets are searched


def find_by_words(ctx: Context, text: str, limit: int) -> list[tuple[str, str]]:
    """Returns (label, mask) of the ticket with this mask, else of tickets whose subject has every word, then of tickets
    with such a message."""
    exact = masks.ticket_id(ctx, text.strip("#[] "))
    if exact is not None and records.may_read(ctx, "ticket", exact):
        ticket = records.retrieve(ctx, "ticket", exact)
        return [(str(ticket[LABEL]), str(ticket["mask"]))]
    by_subject = records.search_names(ctx, "ticket", text, limit)["results"]
    hits = [(str(each[LABEL]), str(each["mask"])) for each in by_subject]
    words = [word for word in text.replace('"', " ").split() if word.strip("*?")][:MAX_NAMED_WORDS]
    if len(hits) < limit and words:
        terms = " ".join(f'content:"{word}*"' for word in words)
        request = SearchRequest(f"{terms} sort:-created", limit, 1, "ticket_")
        messages = records.search(ctx, "message", request)["results"]
        hits += [(str(each["ticket__label"]), str(each["ticket_mask"])) for each in messages if each.get("ticket_mask")]
    return list(dict.fromkeys(hits))[:limit]


def find_similar(ctx: Context, ticket: dict[str, Any], words: str, limit: int) -> list[dict[str, Any]]:
    """Returns tickets that are not deleted: those whose names have these words, the ones of the same requesters first,
    or for "" all of the same requesters. The ticket itself may be among them. ticket: with `requesters`."""
    q = "status:![deleted] sort:-updated"
    ids = [each["id"] for each in (ticket["requesters"] or {}).values()][:MAX_REQUESTERS]
    theirs = f"({' OR '.join(f'participant.id:{id}' for id in ids)}) {q}"
    if not words:
        return list(records.search(ctx, "ticket", SearchRequest(theirs, limit, 1, LABEL))["results"]) if ids else []
    similar = records.search_names(ctx, "ticket", words, limit, theirs)["results"] if ids else []
    similar += records.search_names(ctx, "ticket", words, limit, q)["results"]
    return list({each["id"]: each for each in similar}.values())[:limit]
