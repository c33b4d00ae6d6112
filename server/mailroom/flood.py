"""Automatic mail of one sender that comes in masses, as when two programs answer each other: it is stored like any
other, and automations are not told of it, so that it comes to an end."""

from typing import Any

from server import log
from server.context import Service
from server.jobs.scheduler import periodic
from server.store.statements import slot
from server.store.tables import Column, Index, Table
from server.store.transaction import Transaction

MAX_AUTOMATIC = 20  # automatic mails of one sender, in a window, that automations are told of
WINDOW_SECONDS = 3600
LOG = log.get("mail")

AUTOMATIC_MAIL = Table(
    "mail_automatic",
    [Column("address_id", references="address(id)"), Column("number"), Column("until")],
    [Index(("until",), "those that are over")],
    key=("address_id",),
)


def is_too_much(tx: Transaction, address_id: int, now: int) -> bool:
    """Count one more automatic mail of an address; True when it is above the limit."""
    row = tx.first(AUTOMATIC_MAIL, address_id=address_id)
    number, until = row[1:] if row is not None and row[2] > now else (0, now + WINDOW_SECONDS)
    tx.put(AUTOMATIC_MAIL, {"address_id": address_id, "number": number + 1, "until": until})
    if number == MAX_AUTOMATIC:
        LOG.warning("mail.flood", address=address_id, mails=number + 1)
    return bool(number >= MAX_AUTOMATIC)


@periodic("counts of automatic mail", deletes=True)
def forget_over(service: Service, now: int) -> None:
    """Remove the counts whose window is over."""
    table: Any = AUTOMATIC_MAIL.sql
    over = service.store.read(
        lambda tx: tx.value(lambda: table.select(table.until).where(table.until <= slot(0)).limit(1), (now,))
    )
    if over is not None:
        service.store.write(lambda tx: tx.run(lambda: table.delete().where(table.until <= slot(0)), (now,)))
