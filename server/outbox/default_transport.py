"""The mail transport for senders that have none of their own. The first one that is made becomes it: mail would wait
beside a way out otherwise."""

from server.mail.transports import NULL
from server.record_types.base import Change, Writing
from server.records import service_settings
from server.records.service_settings import DEFAULT_TRANSPORT, log_change
from server.store.transaction import Transaction

MAIL_TRANSPORT = "mail_transport"


def default_transport(tx: Transaction) -> int:
    """Its id; 0 for none. It may be gone."""
    return int(service_settings.get(tx, DEFAULT_TRANSPORT, 0) or 0)


def choose(writing: Writing, id: int) -> None:
    """Let a transport be the default one, 0 for none. Mail that waited for one leaves."""
    before = default_transport(writing.tx)
    if before != id:
        names = (writing.label(MAIL_TRANSPORT, each) for each in (before, id))
        log_change(writing, DEFAULT_TRANSPORT, *names)
    service_settings.put(writing.tx, DEFAULT_TRANSPORT, id)
    writing.wake()


def follow(writing: Writing, change: Change) -> None:
    """After every write of a transport: a new one becomes the default where nobody chose another, nor chose to have
    none. One that throws mail away never does by itself."""
    if not change.is_create or change.value("extension_id") == NULL:
        return
    chosen = service_settings.get(writing.tx, DEFAULT_TRANSPORT)
    if chosen is None or (chosen and writing.record(MAIL_TRANSPORT, chosen) is None):
        choose(writing, change.id)
