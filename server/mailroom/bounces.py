"""Bounces of our own mail: marks the address that failed.

Anybody can forge a bounce; it counts only for a mail that this service sent, and an address that it was sent to."""

from server.mail.bounce import Bounce
from server.mailroom.sender import Addresses
from server.mailroom.threading import Thread
from server.records.writing import RecordWriter
from server.tickets import requesters


def is_ours(writing: RecordWriter, bounce: Bounce | None, thread: Thread, addresses: Addresses) -> bool:
    """Whether the bounce refers to a mail of this service and to one of its recipients."""
    is_known = thread.bounced is not None or thread.is_returned
    if bounce is None or not is_known or thread.ticket is None or bounce.failed_address is None:
        return False
    failed = addresses.get(bounce.failed_address)
    if failed is not None and requesters.is_requester(writing.tx, thread.ticket["id"], failed["id"]):
        return True
    original = writing.record("message", thread.bounced.id) if thread.bounced is not None else None
    return original is not None and bounce.failed_address in requesters.recipients_in(original["headers"])


def mark_failed(writing: RecordWriter, bounce: Bounce, addresses: Addresses) -> bool:
    """Marks the address of a permanent failure as defunct, unless it belongs to this service; returns whether it
    did."""
    failed = addresses.get(bounce.failed_address or "")
    if not bounce.is_permanent or failed is None or failed["mail_transport_id"] or failed["is_defunct"]:
        return False
    writing.update("address", failed["id"], {"is_defunct": 1})
    return True
