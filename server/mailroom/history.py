"""Email that was answered elsewhere: files that are imported, and what a mailbox held before it was first read."""

from server import clock
from server.dataclass import dataclass
from server.mailroom.incoming import IncomingMail
from server.record_types.base import Record
from server.records.writing import RecordWriter
from server.tickets import due_times
from server.tickets.types.ticket_parts.status import CLOSED, OPEN


@dataclass(frozen=True, slots=True)
class History:
    """How email of the past is stored. Its Date is believed: tickets and messages have the times of then. No group
    acknowledges it, and a reply opens no ticket again.

    status_id: of new tickets. group_id: of new tickets, 0 for the one that routing finds."""

    status_id: int = OPEN
    group_id: int = 0


def instant(incoming: IncomingMail, now: int) -> int:
    """When an email of the past was written; never in the future."""
    return min(incoming.mail.date, now)


def settle_new_ticket(writing: RecordWriter, ticket_id: int) -> None:
    """Let no service target run on a ticket of the past, which is written now all the same."""
    writing.set("ticket", ticket_id, dict.fromkeys(due_times.NAMES, 0) | {"changed_at": clock.now()})


def settle_reply(writing: RecordWriter, ticket: Record) -> None:
    """Keep the last activity of a ticket that an older message joined; a closed one ends with its last message.

    ticket: as it was before."""
    values = {"updated": max(ticket["updated"], writing.now), "changed_at": clock.now()}
    if ticket["status_id"] == CLOSED and ticket["closed"] < writing.now:
        values["closed"] = writing.now
    writing.set("ticket", ticket["id"], values)
