"""Undoes a change of a ticket together with the values that followed from it."""

from collections.abc import Mapping

from server.context import Context
from server.jobs.expiry import expire
from server.record_types.record_type import Record
from server.records.writing import RecordWriter
from server.store.transaction import Transaction
from server.tickets import assignment, properties, spam
from server.tickets.types.ticket_parts import before, status_names
from server.translation import N_

RETAINED_SECONDS = 86400


def restore(ctx: Context, id: int, fields: Mapping[str, str], expected: Mapping[str, str] | None = None) -> None:
    """Restores stored columns of a ticket, with the times, targets, score and counts that followed from the change.

    expected: columns with the values that they must still have; raises Conflict otherwise. Raises NotFound, Forbidden,
    Invalid."""
    words = spam.words_of_ticket(ctx.service, id) if "spam_training" in fields else frozenset()

    def write(tx: Transaction) -> None:
        writing = RecordWriter(ctx, tx)
        ticket = writing.retrieve("ticket", id)
        properties.require_seen(ticket, expected or {})
        following = {
            kind: before.columns_to_restore(tx, ticket, kind, fields[kind]) for kind in before.KINDS if kind in fields
        }
        kept = {assignment.FIELD: assignment.NOBODY, **_lost_name(writing, ticket, fields)}
        writing.update_sent(writing.registry.type("ticket"), id, {**fields, **kept})
        columns = {name: value for each in following.values() for name, value in each.items()}
        if columns:
            writing.set("ticket", id, columns)
        if following.get("spam_training") and not fields["spam_training"]:
            _untrain(writing, ticket, words)

    ctx.service.store.write(write)


def _lost_name(writing: RecordWriter, ticket: Record, fields: Mapping[str, str]) -> dict[str, str]:
    """Returns no name of a status in place of one that was deleted since, or that the ticket can no longer have in its
    state or its group."""
    id = int(fields.get("status_name_id") or 0)
    if not id:
        return {}
    named = status_names.read(writing.tx).by_id.get(id)
    bucket = writing.record("bucket", int(fields.get("bucket_id") or 0))
    group_id = bucket["group_id"] if bucket is not None else ticket["group_id"]
    state = fields.get("status_id") or str(ticket["status_id"])
    fits = named is not None and named.is_used_by(group_id) and str(named.status_id) == state
    return {} if fits else {"status_name_id": "0"}


def _untrain(writing: RecordWriter, ticket: Record, words: frozenset[str]) -> None:
    """Undoes a spam judgement: the counter of the sender and the counted words."""
    verdict = ticket["spam_training"]
    sender = writing.record("address", ticket["first_wrote_address_id"])
    column = "num_spam" if verdict == spam.SPAM else "num_nonspam"
    if sender is not None and not sender["mail_transport_id"] and sender[column]:
        writing.set("address", sender["id"], {column: sender[column] - 1})
    spam.unlearn(writing.tx, ticket["id"], verdict, words)


forget_old = expire(
    N_("old undo of tickets"),
    N_("Removes data older than a day."),
    before.TICKET_BEFORE,
    "changed_at",
    RETAINED_SECONDS,
)
