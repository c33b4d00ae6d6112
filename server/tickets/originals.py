"""The source of a message: the mail as it arrived. Source: ours."""

from server.context import Context
from server.desk.reading import RecordReader
from server.mail.signed_names import bytes_without_names, without_names
from server.store import blobs
from server.store.transaction import Transaction


def raw(ctx: Context, message_id: int) -> bytes:
    """The bytes of a mail; of a message that came another way its headers and text. Signed names are left out. Raises
    NotFound, Forbidden."""

    def read(tx: Transaction) -> bytes:
        message = RecordReader(ctx, tx).retrieve("message", message_id)
        if message["raw_blob_id"]:
            return bytes_without_names(blobs.read(tx, message["raw_blob_id"]))
        text = without_names(f"{message['headers'].rstrip()}\n\n{message['content']}")
        return text.encode("utf-8", "replace")

    return ctx.service.store.read(read)
