"""Merge: combines several tickets into one."""

from collections.abc import Sequence
from typing import Any

from server.access.actor import WORKER
from server.context import Context
from server.contexts import TICKET
from server.errors import Forbidden, Invalid, NotFound
from server.record_types.record_type import Record
from server.record_types.shared import tags
from server.record_types.shared.dangling_references import redirect
from server.record_types.shared.relation_tables import REQUESTER, TICKET_TAG
from server.records import event_publishing, merging_records
from server.records.writing import RecordWriter
from server.store.transaction import Transaction
from server.tickets import requesters, unmerge
from server.tickets.types.message_parts import counters
from server.tickets.types.ticket_parts.status import DELETED, OPEN
from server.translation import about_field, lazy_gettext

MAX_MERGED = 100


def merge(ctx: Context, ticket_ids: Sequence[int]) -> int:
    """Moves messages, requesters, comments, files, links and drafts of tickets onto the oldest of them and returns its
    id.

    The others are deleted and point to it, so that their masks still resolve. It is opened if one of them was open.
    unmerge.py can undo a merge for a day.

    Raises Invalid for fewer than two tickets, NotFound, Forbidden; nothing is changed then."""
    ids = sorted(dict.fromkeys(ticket_ids))
    if not 2 <= len(ids) <= MAX_MERGED:
        raise Invalid(f"ticket_ids: send 2 to {MAX_MERGED} tickets to merge", field="ticket_ids")
    _require_assent(ctx, ids)
    return ctx.service.store.write(lambda tx: _merge(ctx, tx, ids))


def _merge(ctx: Context, tx: Transaction, ids: list[int]) -> int:
    writing = RecordWriter(ctx, tx)
    tickets = [_writable(writing, id) for id in ids]
    survivor, others = tickets[0], tickets[1:]
    unmerge.store(writing, [unmerge.part_of(writing, each) for each in tickets])
    target = writing.label("ticket", survivor["id"])
    for other in others:
        source = writing.label("ticket", other["id"])
        _move(writing, other["id"], survivor["id"])
        writing.log("ticket.merge", TICKET, survivor["id"], {"source": source, "target": target})
    if survivor["status_id"] != OPEN and any(each["status_id"] == OPEN for each in others):
        writing.update("ticket", survivor["id"], {"status_id": OPEN, "reopen_date": 0})
    for other in others:
        writing.update("ticket", other["id"], {"status_id": DELETED, "merged_into": survivor["id"]})
        counters.recount(writing, other["id"])
    counters.recount(writing, survivor["id"])
    event_publishing.publish(writing, "record.merged", _values(ctx, ids))
    return int(survivor["id"])


def _values(ctx: Context, ids: list[int]) -> dict[str, Any]:
    """The values that automations get before and after a merge. ids: sorted, the surviving ticket first."""
    return {
        "record_type": "ticket",
        "source_ids": ids[1:],
        "target_id": ids[0],
        "records": {str(id): {"_context": TICKET, "id": id} for id in ids},
        **event_publishing.record_values("worker", WORKER, ctx.actor.worker_id),
    }


def _require_assent(ctx: Context, ids: list[int]) -> None:
    """Raises Forbidden if an automation of record.merge denies it."""
    for result in event_publishing.automation_results(ctx, "record.merge", lambda: _values(ctx, ids)):
        if result.get("deny"):
            raise Forbidden(f"an automation refused to merge these tickets: {str(result['deny'])[:200]}")
        return  # the first automation that returns decides


def _writable(writing: RecordWriter, id: int) -> Record:
    ticket = writing.record("ticket", id)
    if ticket is None:
        raise NotFound(f"there is no ticket {id}", type="ticket", id=id)
    tickets = writing.registry.type("ticket")
    writing.rules.require(writing.tx, "read", tickets, ticket)
    writing.rules.require(writing.tx, "update", tickets, ticket)
    if ticket["merged_into"]:
        raise Invalid(
            about_field(
                "ticket_ids",
                lazy_gettext("ticket {id} was already merged into {other}", id=id, other=ticket["merged_into"]),
            ),
            field="ticket_ids",
        )
    return ticket


def _move(writing: RecordWriter, old: int, new: int) -> None:
    """Moves everything attached to one ticket to another."""
    tx = writing.tx
    for table in ("message", "draft"):
        redirect(writing, table, "ticket_id", old, new)
    if writing.find("rating", ticket_id=new) is None:  # a ticket has at most one; another stays with its own ticket
        redirect(writing, "rating", "ticket_id", old, new)
    redirect(writing, "ticket", "merged_into", old, new)
    requesters.add(writing, new, requesters.ids_of(tx, old))
    tx.delete(REQUESTER, ticket_id=old)
    tags.move(tx, TICKET_TAG, old, new)
    merging_records.move_data(writing, writing.registry.type("ticket"), old, new)
