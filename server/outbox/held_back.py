"""Holds back scheduled mail when its recipient has written first."""

from server.contexts import TICKET
from server.record_types.record_type import Record, Writing
from server.record_types.shared.sending_addresses import UNTIL_ANSWERED

POINT = "ticket.message.held"


def hold_back(writing: Writing, ticket_id: int) -> None:
    """Turns scheduled mail that waits only for a message of the requester into a draft again, and notifies its writer.

    The requester's message may have made it wrong."""
    drafts = writing.registry.type("draft")
    for row in writing.tx.find(drafts.table, ticket_id=ticket_id):
        draft = drafts.record(row)
        if draft["is_queued"] and _waits_for_answer(draft, writing.now):
            writing.update("draft", draft["id"], {"is_queued": 0})
            values = {"target": writing.label("ticket", ticket_id)}
            writing.log(POINT, TICKET, ticket_id, values, also_notify=tuple(filter(None, (draft["worker_id"],))))


def _waits_for_answer(draft: Record, now: int) -> bool:
    params = draft["params"] if isinstance(draft["params"], dict) else {}
    return bool(params.get(UNTIL_ANSWERED)) and draft["queue_delivery_date"] > now
