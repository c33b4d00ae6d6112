"""Recognizes repeated mail without Message-Id: the same bytes within `mail_repeat_days` are the same mail.

threading.py recognizes mail with an id."""

from typing import Any

from server.context import Service
from server.jobs.scheduler import periodic
from server.mailroom.incoming import IncomingMail
from server.store.statements import slot
from server.store.tables import Column, Index, Table
from server.store.transaction import Transaction
from server.translation import N_

DAY_SECONDS = 86400

MAIL_WITHOUT_ID = Table(
    "mail_without_id",
    [Column("digest", "TEXT"), Column("message_id"), Column("came_at")],
    [Index(("came_at",), "those that are too old")],
    key=("digest",),
)  # message_id: the message may have been deleted


def find_repeat(tx: Transaction, incoming: IncomingMail, after: int) -> int:
    """The id of the message of an earlier copy that arrived after a time (Unix seconds), 0 for none."""
    if not incoming.mail.message_id_was_made:
        return 0
    row = tx.first(MAIL_WITHOUT_ID, digest=incoming.bytes_digest)
    return int(row[1]) if row is not None and row[2] > after else 0


def remember(tx: Transaction, incoming: IncomingMail, message_id: int, now: int) -> None:
    """Stores the digest, in the transaction that stores the mail."""
    if incoming.mail.message_id_was_made:
        values = {"digest": incoming.bytes_digest, "message_id": message_id, "came_at": now}
        tx.put(MAIL_WITHOUT_ID, values)


@periodic(N_("mail without an id"), N_("Forgets email that is too old to arrive twice."), deletes=True)
def forget_old(service: Service, now: int) -> None:
    """Deletes digests older than the setting `mail_repeat_days`."""
    table: Any = MAIL_WITHOUT_ID.sql
    before = now - service.settings.mail_repeat_days * DAY_SECONDS
    is_any = service.store.read(
        lambda tx: tx.value(
            lambda: table.select(table.came_at).where(table.came_at <= slot(0)).limit(1),
            (before,),
        )
    )
    if is_any is not None:
        service.store.write(lambda tx: tx.run(lambda: table.delete().where(table.came_at <= slot(0)), (before,)))
