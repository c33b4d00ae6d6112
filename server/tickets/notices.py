"""Notices about a ticket that automations send to its owner, its watchers, chosen workers and members of groups."""

from collections.abc import Iterable

from server.context import Context
from server.contexts import TICKET
from server.digits import is_whole
from server.errors import Invalid
from server.record_types.shared.relation_tables import GROUP_MEMBER
from server.record_types.traits.links import Watchers
from server.records import activity
from server.records.writing import RecordWriter
from server.store.transaction import Transaction

POINT = "custom.other"
OWNER, WATCHERS = "owner", "watchers"
MAX_NOTIFIED = 1000  # workers of one notice


def notify(ctx: Context, ticket_id: int, recipients: Iterable[str], message: str) -> list[int]:
    """Notifies each recipient once, except the caller and workers who may not read the ticket; returns the ids of all
    recipients. recipients: `owner`, `watchers`, `worker:<id>`, `group:<id>` for its members.

    Raises NotFound and Forbidden for a ticket that the caller may not change, Invalid for an unknown recipient."""

    def write(tx: Transaction) -> list[int]:
        writing = RecordWriter(ctx, tx)
        writing.require("update", "ticket", ticket_id)
        worker_ids = sorted({id for each in recipients for id in _workers(writing, ticket_id, each) if id})
        if len(worker_ids) > MAX_NOTIFIED:
            problem = f"at most {MAX_NOTIFIED:,} workers are notified at once, not {len(worker_ids):,}"
            raise Invalid(problem, field="to")
        for id in worker_ids:
            activity.notify_reader(writing, id, POINT, "{{message}}", TICKET, ticket_id, {"message": message})
        return worker_ids

    return ctx.service.store.write(write)


def _workers(writing: RecordWriter, ticket_id: int, recipient: str) -> list[int]:
    """Returns the ids of the workers that a recipient names."""
    if recipient == OWNER:
        ticket = writing.record("ticket", ticket_id)
        return [ticket["owner_id"]] if ticket is not None else []
    if recipient == WATCHERS:
        return Watchers().listeners(TICKET, ticket_id, writing.tx)
    uri, _colon, id = recipient.partition(":")
    if uri not in ("worker", "group") or not is_whole(id):
        raise Invalid(f"to: '{recipient[:80]}' is not owner, watchers, worker:<id> or group:<id>", field="to")
    if writing.record(uri, int(id)) is None:
        raise Invalid(f"to: there is no {uri} {id}", field="to")
    if uri == "worker":
        return [int(id)]
    place = GROUP_MEMBER.position["worker_id"]
    return [row[place] for row in writing.tx.find(GROUP_MEMBER, group_id=int(id))]
