"""Undoes a merge: every ticket gets its records back, and messages that arrived since go to the ticket they belong to.

A merge stores a row with the moved records; it can be undone for a day."""

import json
from collections.abc import Sequence
from typing import Any

from server import contexts
from server.context import Context
from server.dataclass import dataclass
from server.errors import Conflict, NotFound
from server.jobs.expiry import expire
from server.mail.headers import ids_in
from server.record_types.record_type import Record
from server.record_types.shared import tags
from server.record_types.shared.dangling_references import ids_pointing
from server.record_types.shared.relation_tables import REQUESTER, TICKET_TAG
from server.records import merging_records
from server.records.writing import RecordWriter
from server.store.statements import in_list, slot
from server.store.tables import Column, Index, Table, table_named
from server.store.transaction import Transaction
from server.tickets import requesters
from server.tickets.types.message_parts import counters, stored_headers
from server.tickets.types.ticket_parts.before import KINDS
from server.tickets.types.ticket_parts.status import OPEN
from server.translation import N_

RETAINED_SECONDS = 86400
TICKET_MERGE = Table(
    "ticket_merge",
    [Column("kept_id", references="ticket(id)"), Column("parts", "TEXT"), Column("merged_at")],
    [Index(("kept_id",), "the merges of a ticket"), Index(("merged_at",), "rows that are too old")],
)  # parts: JSON, the state of each ticket before the merge, the surviving one first
STATUS = ("status_id", "status_name_id", "reopen_date", *KINDS["status_id"])
MOVED = ("message", "draft", "rating")


@dataclass(frozen=True, slots=True)
class Unmerged:
    """kept_id, ids: the surviving ticket and the restored ones. moved, stayed: how many messages that arrived since the
    merge were moved or stayed."""

    kept_id: int
    ids: tuple[int, ...]
    moved: int
    stayed: int


def part_of(writing: RecordWriter, ticket: Record) -> dict[str, Any]:
    """Returns the state of a ticket before a merge, as JSON data."""
    tx, id = writing.tx, ticket["id"]
    return {
        "id": id,
        "status": {name: ticket[name] for name in STATUS},
        "requesters": requesters.ids_of(tx, id),
        "tags": tags.ids_of(tx, TICKET_TAG, id),
        "merged": ids_pointing(tx, "ticket", "merged_into", id),
        "moved": {uri: ids_pointing(tx, uri, "ticket_id", id) for uri in MOVED},
        "hung": merging_records.attached_data(tx, contexts.TICKET, id),
    }


def store(writing: RecordWriter, parts: Sequence[dict[str, Any]]) -> int:
    """Stores the records that a merge moves, and returns the id of the merge."""
    row = {"kept_id": parts[0]["id"], "parts": json.dumps(list(parts)), "merged_at": writing.now}
    return writing.tx.insert(TICKET_MERGE, row)


def newest(ctx: Context, kept_id: int) -> int:
    """Returns the newest merge into a ticket that can still be undone, 0 for none."""
    rows = ctx.service.store.read(lambda tx: tx.find(TICKET_MERGE, kept_id=kept_id))
    fresh = [row[0] for row in rows if row[TICKET_MERGE.position["merged_at"]] + RETAINED_SECONDS > ctx.now]
    return int(max(fresh, default=0))


def unmerge(ctx: Context, kept_id: int, merge_id: int) -> Unmerged:
    """Undoes the newest merge into a ticket.

    Raises NotFound for one that is too old, Conflict if a ticket was merged again or deleted since, Forbidden."""

    def write(tx: Transaction) -> Unmerged:
        row = tx.get(TICKET_MERGE, merge_id)
        if row is None or row[TICKET_MERGE.position["kept_id"]] != kept_id:
            raise NotFound(N_("this merge can no longer be undone"))
        later = [each[0] for each in tx.find(TICKET_MERGE, kept_id=kept_id) if each[0] > merge_id]
        if later:
            raise Conflict(N_("more tickets were merged into this one since; undo that merge first"))
        writing = RecordWriter(ctx, tx)
        survivor, *others = json.loads(row[TICKET_MERGE.position["parts"]])
        for part in (survivor, *others):
            _require_unchanged(writing, part["id"], 0 if part is survivor else survivor["id"])
        tx.delete(TICKET_MERGE, id=merge_id)
        return _take_apart(writing, survivor, others)

    return ctx.service.store.write(write)


def _require_unchanged(writing: RecordWriter, id: int, merged_into: int) -> None:
    ticket = writing.record("ticket", id)
    if ticket is None or ticket["merged_into"] != merged_into:
        raise Conflict(N_("one of the tickets has since been merged further or removed; this merge cannot be undone"))
    tickets = writing.registry.type("ticket")
    writing.rules.require(writing.tx, "read", tickets, ticket)
    writing.rules.require(writing.tx, "update", tickets, ticket)


def _take_apart(writing: RecordWriter, survivor: dict[str, Any], others: list[dict[str, Any]]) -> Unmerged:
    kept_id, tx = survivor["id"], writing.tx
    merged_messages = {id for part in (survivor, *others) for id in part["moved"]["message"]}
    arrived = [id for id in ids_pointing(tx, "message", "ticket_id", kept_id) if id not in merged_messages]
    moved = 0
    for other in others:
        own = _belonging(writing, arrived, survivor, other)
        arrived = [id for id in arrived if id not in own]
        moved += len(own)
        _give_back(writing, kept_id, other, own)
    _restore_kept(writing, survivor, others, has_news=bool(arrived))
    for part in (survivor, *others):
        counters.recount(writing, part["id"])
    return Unmerged(kept_id, tuple(each["id"] for each in others), moved, len(arrived))


def _belonging(writing: RecordWriter, arrived: list[int], survivor: dict[str, Any], other: dict[str, Any]) -> list[int]:
    """The messages that arrived since and belong to a merged ticket: they reply to one of its messages, or reply to
    none and only that ticket has the sender as requester."""
    names = {
        str(record["message_id"]).strip("<>").lower()
        for id in other["moved"]["message"]
        if (record := writing.record("message", id)) is not None
    } - {""}
    own_senders = set(other["requesters"]) - set(survivor["requesters"])
    own_messages: list[int] = []
    for id in arrived:
        record = writing.record("message", id)
        if record is None:
            continue
        head = stored_headers.head(record["headers"])
        answered = [each.strip("<>").lower() for each in ids_in(" ".join(head.all("references")))]
        answered = [*answered, str(record["in_reply_to"]).strip("<> ").lower()]
        if names.intersection(answered) or (not any(answered) and record["sender_id"] in own_senders):
            own_messages.append(id)
            names.add(str(record["message_id"]).strip("<>").lower())
    return own_messages


def _give_back(writing: RecordWriter, kept_id: int, other: dict[str, Any], arrived: list[int]) -> None:
    tx, id = writing.tx, other["id"]
    for uri in MOVED:
        ids = [*other["moved"].get(uri, ()), *(arrived if uri == "message" else ())]
        _point(writing, uri, "ticket_id", ids, kept_id, id)
    _point(writing, "ticket", "merged_into", other["merged"], kept_id, id)
    for address_id in other["requesters"]:
        tx.add(REQUESTER, {"ticket_id": id, "address_id": address_id})
    tags.add(tx, TICKET_TAG, id, other.get("tags", []))
    merging_records.move_back(writing, writing.registry.type("ticket"), kept_id, id, other["hung"])
    writing.update("ticket", id, {"merged_into": 0, "status_id": other["status"]["status_id"]})
    writing.set("ticket", id, other["status"])
    source, target = writing.label("ticket", kept_id), writing.label("ticket", id)
    writing.log("ticket.unmerge", contexts.TICKET, id, {"source": source, "target": target})
    writing.log("ticket.unmerge", contexts.TICKET, kept_id, {"source": source, "target": target})


def _restore_kept(
    writing: RecordWriter, survivor: dict[str, Any], others: list[dict[str, Any]], has_news: bool
) -> None:
    """Removes what the merge added to the surviving ticket, and restores its status unless a message has arrived
    since."""
    id = survivor["id"]
    added = {address for other in others for address in other["requesters"]} - set(survivor["requesters"])
    requesters.remove(writing, id, [each for each in requesters.ids_of(writing.tx, id) if each in added])
    for tag_id in {tag for other in others for tag in other.get("tags", [])} - set(survivor.get("tags", [])):
        writing.tx.delete(TICKET_TAG, ticket_id=id, tag_id=tag_id)
    merging_records.remove_moved(writing, contexts.TICKET, id, survivor["hung"], [other["hung"] for other in others])
    ticket = writing.record("ticket", id)
    was = survivor["status"]
    is_opened = any(other["status"]["status_id"] == OPEN for other in others) and was["status_id"] != OPEN
    if ticket is not None and is_opened and ticket["status_id"] == OPEN and not has_news:
        writing.update("ticket", id, {name: was[name] for name in ("status_id", "reopen_date")})
        writing.set("ticket", id, was)


def _point(writing: RecordWriter, uri: str, column: str, ids: Sequence[int], old: int, new: int) -> None:
    """Sets a column of these records from `old` to `new`."""
    table = table_named(uri)
    for id in ids:
        writing.touch(uri, id=id)
    writing.tx.run(
        lambda: table.update({getattr(table.c, column): slot(0)}).where(
            in_list(table.c.id, slot(1)), getattr(table.c, column) == slot(2)
        ),
        (new, json.dumps(list(ids)), old),
    )


forget_old = expire(
    N_("old undo of merges"), N_("Removes data older than a day."), TICKET_MERGE, "merged_at", RETAINED_SECONDS
)
