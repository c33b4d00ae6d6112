"""Mail of ours that came back: the address that takes none is marked.

Anybody can write a bounce; it counts only for mail of ours, and for an address that this mail went to."""

from server.mail.bounce import Bounce
from server.mailroom.sender import Addresses
from server.mailroom.threading import Thread
from server.records.writing import RecordWriter
from server.tickets import requesters


def is_ours(writing: RecordWriter, bounce: Bounce | None, thread: Thread, known: Addresses) -> bool:
    """Whether the bounce is about mail of ours and an address that it went to."""
    is_known = thread.bounced is not None or thread.is_returned
    if bounce is None or not is_known or thread.ticket is None or bounce.failed_address is None:
        return False
    failed = known.get(bounce.failed_address)
    if failed is not None and requesters.is_requester(writing.tx, thread.ticket["id"], failed["id"]):
        return True
    original = writing.record("message", thread.bounced.id) if thread.bounced is not None else None
    return original is not None and bounce.failed_address in requesters.recipients_in(original["headers"])


def mark_failed(writing: RecordWriter, bounce: Bounce, known: Addresses) -> bool:
    """Mark the address of a permanent failure as defunct, unless it is one of ours; tells whether it was."""
    failed = known.get(bounce.failed_address or "")
    if not bounce.is_permanent or failed is None or failed["mail_transport_id"] or failed["is_defunct"]:
        return False
    writing.update("address", failed["id"], {"is_defunct": 1})
    return True
