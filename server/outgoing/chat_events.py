"""Events of messages to chat programs, in words: a few things that happen to tickets.

New tickets and messages come from the change log, everything else from the activity log."""

from collections.abc import Mapping
from typing import Any

import peewee

from server.contexts import TICKET
from server.dataclass import dataclass
from server.errors import Invalid, nearest
from server.outgoing import event_names
from server.record_types.registry import Registry
from server.store.statements import in_list, slot
from server.store.transaction import Transaction
from server.translation import N_, Words

CREATED, WROTE, ASSIGNED = "ticket.created", "ticket.customer_wrote", "ticket.assigned"
DUE, LATE, CLOSED, RATED = "ticket.due", "ticket.late", "ticket.closed", "ticket.rated_bad"
# {event: (what happened, remark)}
EVENTS: dict[str, tuple[Words, Words]] = {
    CREATED: (N_("A ticket is new"), ""),
    WROTE: (N_("A customer wrote on a ticket"), N_("The first message of a ticket counts as a new ticket.")),
    ASSIGNED: (N_("A ticket was assigned"), ""),
    DUE: (N_("A service target is nearly missed"), ""),
    LATE: (N_("A service target was missed"), ""),
    CLOSED: (N_("A ticket was closed"), ""),
    RATED: (N_("A customer was not satisfied"), N_("Rated a closed ticket as bad.")),
}
OF_CHANGE = {("ticket", "created"): CREATED, ("message", "created"): WROTE}  # {(record type, event): event of a chat}
_OF_POINT = {
    "ticket.owner.assigned": ASSIGNED,
    "ticket.target.due": DUE,
    "ticket.target.missed": LATE,
    "ticket.status.closed": CLOSED,
    "ticket.rated": RATED,  # the log does not name the score; chat_notice.py drops good ratings
}
SCANNED_ROWS = 10_000  # ids that one page scans


@dataclass(frozen=True, slots=True)
class LoggedEntry:
    """An entry of the activity log. id: its cursor. event: of EVENTS. worker_id: to whom a ticket was assigned."""

    id: int
    event: str
    ticket_id: int
    at: int
    worker_id: int
    variables: Mapping[str, str]


def require_known(text: str) -> list[str]:
    """Returns the events in a text. Raises Invalid for an unknown one."""
    events = event_names.split(text)
    if not events:
        raise Invalid("events is required: choose at least one", field="events")
    for each in events:
        if each not in EVENTS:
            raise Invalid(
                f"events: '{each[:80]}' is not one of {', '.join(EVENTS)}{nearest(each, EVENTS)}", field="events"
            )
    return events


def newest_entry(registry: Registry, tx: Transaction) -> int:
    """The cursor after the newest entry that this transaction sees."""
    table = registry.type("activity_log").table
    if tx.store.is_shared:  # the last id of the sequence may belong to an open transaction
        sql: Any = table.sql
        last = tx.value(lambda: sql.select(peewee.fn.MAX(sql.id)))
        if last is not None:
            return int(last)
    return tx.next_ids(table, 1).start - 1


def entries_after(registry: Registry, tx: Transaction, cursor: int, limit: int) -> tuple[list[LoggedEntry], int]:
    """Returns the entries after a cursor that are events of chats, at most `limit`, and the cursor after them."""
    table, end = registry.type("activity_log").table, min(newest_entry(registry, tx), cursor + SCANNED_ROWS)
    if end <= cursor:
        return [], cursor
    sql: Any = table.sql
    rows = tx.rows(
        lambda: (
            sql.select(*table.all_columns)
            .where(sql.id > slot(0), sql.id <= slot(1), in_list(sql.activity_point, slot(2)))
            .order_by(sql.id)
            .limit(slot(3))
        ),
        (cursor, end, _POINTS, limit),
    )
    entries = [_entry(registry, row) for row in rows]
    end = int(rows[-1][0]) if len(rows) == limit else end
    return [each for each in entries if each is not None], end


def entry_of(registry: Registry, tx: Transaction, id: int) -> LoggedEntry | None:
    """An entry; None if it is gone."""
    row = tx.get(registry.type("activity_log").table, id)
    return _entry(registry, row) if row is not None else None


def first_entry_since(registry: Registry, tx: Transaction, at: int) -> int:
    """The cursor before the first entry of this Unix second or later."""
    table: Any = registry.type("activity_log").table.sql
    rows = tx.rows(
        lambda: table.select(table.id).where(table.created >= slot(0)).order_by(table.created, table.id).limit(1),
        (at,),
    )
    return int(rows[0][0]) - 1 if rows else newest_entry(registry, tx)


def _entry(registry: Registry, row: Any) -> LoggedEntry | None:
    record = registry.type("activity_log").record(row)
    event = _OF_POINT.get(record["activity_point"])
    if event is None or record["target__context"] != TICKET:
        return None
    params = record["params"] if isinstance(record["params"], dict) else {}
    variables, urls = params.get("variables") or {}, params.get("urls") or {}
    worker = str(urls.get("worker", "")).rpartition(":")[2]
    texts = {str(name): str(value) for name, value in variables.items()}
    worker_id = int(worker) if worker.isdecimal() else 0
    return LoggedEntry(record["id"], event, record["target_id"], record["created"], worker_id, texts)


_POINTS = "[" + ", ".join(f'"{each}"' for each in _OF_POINT) + "]"
