"""The source of a message: the email as it arrived, or the first version of a written message."""

from server.context import Context
from server.errors import AdminOnly
from server.mail.reply_names import bytes_without_names, without_names
from server.records.reading import RecordReader
from server.store import blobs
from server.store.transaction import Transaction
from server.tickets.types.message_parts import revisions


def raw(ctx: Context, message_id: int) -> bytes:
    """Returns the bytes of an email as it arrived; of any other message, its original headers and text. Signed names of
    mail to workers are removed.

    Raises NotFound, Forbidden, and AdminOnly for a changed message, because only administrators may read earlier
    versions."""

    def read(tx: Transaction) -> bytes:
        message = RecordReader(ctx, tx).retrieve("message", message_id)
        if revisions.is_changed(tx, message_id):
            if not ctx.actor.is_admin:
                raise AdminOnly("this message was changed; only administrators may see what it said before")
            message = revisions.original(tx, message)
        if message["raw_blob_id"]:
            return bytes_without_names(blobs.read(tx, message["raw_blob_id"]))
        text = without_names(f"{message['headers'].rstrip()}\n\n{message['content']}")
        return text.encode("utf-8", "replace")

    return ctx.service.store.read(read)
