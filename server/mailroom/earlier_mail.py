"""Mail that was handled elsewhere: imported files, and the content of a mailbox before its first fetch."""

from server import clock
from server.dataclass import dataclass
from server.mailroom.incoming import IncomingMail
from server.record_types.record_type import Record
from server.records.writing import RecordWriter
from server.tickets import due_times
from server.tickets.types.ticket_parts.status import CLOSED, OPEN


@dataclass(frozen=True, slots=True)
class History:
    """How to store old mail. Its Date is trusted: tickets and messages get that time. No group acknowledges it, and a
    reply does not reopen a ticket.

    status_id: status of new tickets. group_id: group of new tickets, 0 for the usual routing."""

    status_id: int = OPEN
    group_id: int = 0


def instant(incoming: IncomingMail, now: int) -> int:
    """The time when an old mail was written; never in the future."""
    return min(incoming.mail.date, now)


def settle_new_ticket(writing: RecordWriter, ticket_id: int) -> None:
    """Stops all service targets of a ticket that is created from old mail."""
    writing.set("ticket", ticket_id, dict.fromkeys(due_times.NAMES, 0) | {"changed_at": clock.now()})


def settle_reply(writing: RecordWriter, ticket: Record) -> None:
    """Restores the last activity and the due times of a ticket that an older message joined; a closed ticket ends with
    its last message.

    ticket: its values before."""
    values = {"updated": max(ticket["updated"], writing.now), "changed_at": clock.now()}
    values |= {name: ticket[name] for name in due_times.NAMES}
    if ticket["status_id"] == CLOSED and ticket["closed"] < writing.now:
        values["closed"] = writing.now
    writing.set("ticket", ticket["id"], values)
