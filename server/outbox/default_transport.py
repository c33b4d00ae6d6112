"""The mail transport for senders without a transport of their own.

The first transport becomes the default: otherwise mail would wait although it could be sent."""

from server.mail.transports import NULL
from server.record_types.record_type import Change, Writing
from server.records import service_settings
from server.records.service_settings import DEFAULT_TRANSPORT, log_change
from server.store.transaction import Transaction

MAIL_TRANSPORT = "mail_transport"


def default_transport(tx: Transaction) -> int:
    """The id of the default transport; 0 for none. The transport may have been deleted."""
    return int(service_settings.get(tx, DEFAULT_TRANSPORT, 0) or 0)


def choose(writing: Writing, id: int) -> None:
    """Sets the default transport, 0 for none, and wakes mail that waits for a transport."""
    before = default_transport(writing.tx)
    if before != id:
        names = (writing.label(MAIL_TRANSPORT, each) for each in (before, id))
        log_change(writing, DEFAULT_TRANSPORT, *names)
    service_settings.put(writing.tx, DEFAULT_TRANSPORT, id)
    writing.wake()


def follow(writing: Writing, change: Change) -> None:
    """Makes a new transport the default, unless an administrator chose another, or none. A transport that discards mail
    becomes the default only by choice."""
    if not change.is_create or change.value("extension_id") == NULL:
        return
    chosen = service_settings.get(writing.tx, DEFAULT_TRANSPORT)
    if chosen is None or (chosen and writing.record(MAIL_TRANSPORT, chosen) is None):
        choose(writing, change.id)
