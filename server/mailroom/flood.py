"""Detects floods of automatic mail from one sender, as when two programs reply to each other.

Such mail is stored as usual but does not trigger automations, which ends the loop."""

from typing import Any

from server import log
from server.context import Service
from server.jobs.scheduler import periodic
from server.store.statements import slot
from server.store.tables import Column, Index, Table
from server.store.transaction import Transaction
from server.translation import N_

MAX_AUTOMATIC = 20  # automatic mails of one sender within a window that still trigger automations
WINDOW_SECONDS = 3600
LOG = log.get("mail")

AUTOMATIC_MAIL = Table(
    "mail_automatic",
    [Column("address_id", references="address(id)"), Column("number"), Column("until")],
    [Index(("until",), "those that are over")],
    key=("address_id",),
)


def is_too_much(tx: Transaction, address_id: int, now: int) -> bool:
    """Counts an automatic mail of an address; returns True above the limit."""
    row = tx.first(AUTOMATIC_MAIL, address_id=address_id)
    number, until = row[1:] if row is not None and row[2] > now else (0, now + WINDOW_SECONDS)
    tx.put(AUTOMATIC_MAIL, {"address_id": address_id, "number": number + 1, "until": until})
    if number == MAX_AUTOMATIC:
        LOG.warning("mail.flood", address=address_id, mails=number + 1)
    return bool(number >= MAX_AUTOMATIC)


@periodic(N_("counts of automatic mail"), N_("Removes counts older than an hour."), deletes=True)
def forget_over(service: Service, now: int) -> None:
    """Removes the counts of expired windows."""
    table: Any = AUTOMATIC_MAIL.sql
    over = service.store.read(
        lambda tx: tx.value(lambda: table.select(table.until).where(table.until <= slot(0)).limit(1), (now,))
    )
    if over is not None:
        service.store.write(lambda tx: tx.run(lambda: table.delete().where(table.until <= slot(0)), (now,)))
