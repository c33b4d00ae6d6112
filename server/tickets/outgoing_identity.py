"""The outgoing identity of a ticket's mail, for the page on which a worker writes: sender, signature, and whether mail
can be sent."""

from server.context import Context
from server.dataclass import dataclass
from server.errors import Invalid
from server.outbox.content import Placeholders, signature_of
from server.outbox.sender import sender_of, way_of
from server.people.types.group import LAST, THREAD
from server.records.reading import RecordReader
from server.store.transaction import Transaction


@dataclass(frozen=True, slots=True)
class OutgoingIdentity:
    """email: the sender address, "" for none. problem: `no sender` or `no transport` if mail cannot be sent, else "".
    signature: the text that replaces `#signature`. is_quoting: whether a new reply quotes."""

    email: str
    problem: str
    signature: str
    is_quoting: bool = False


UNKNOWN = OutgoingIdentity("", "", "")


def outgoing_identity(ctx: Context, group_id: int, bucket_id: int, ticket_id: int = 0) -> OutgoingIdentity:
    """Returns the outgoing identity of mail from a bucket of a group. Ids are 0 for none."""

    def read(tx: Transaction) -> OutgoingIdentity:
        reader = RecordReader(ctx, tx)
        group, bucket = reader.record("group", group_id), reader.record("bucket", bucket_id)
        try:
            sender = sender_of(tx, reader.registry, group, bucket) if group else None
        except Invalid:
            sender = None
        if sender is None:
            return OutgoingIdentity("", "no sender", "")
        ids = {"worker": ctx.actor.worker_id, "group": group_id, "bucket": bucket_id, "ticket": ticket_id}
        signature = signature_of(sender.signature, Placeholders(ctx, tx, ids))
        way = way_of(tx, reader.registry, sender.address_id)
        is_quoting = group is not None and group["quoted_history"] in (LAST, THREAD)
        return OutgoingIdentity(sender.email, "" if way is not None else "no transport", signature.text, is_quoting)

    return ctx.service.store.read(read)
