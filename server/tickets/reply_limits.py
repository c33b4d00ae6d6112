"""Limits on automatic replies: one per address and hour across all tickets, and a total per hour from a setting.

Without them, a sender with a forged address could use the service to flood the mailbox of the victim."""

from collections.abc import Iterable
from typing import Any

import peewee

from server import log
from server.context import Service
from server.jobs.scheduler import periodic
from server.mail.addresses import NamedAddress
from server.records.writing import RecordWriter
from server.store.statements import slot
from server.store.tables import Column, Index, Table
from server.tickets.letter import Recipients
from server.tickets.request_values import Addresses
from server.translation import N_

HOUR_SECONDS = 3600
LOG = log.get("mail")

AUTOMATIC_ANSWER = Table(
    "automatic_answer",
    [Column("email", "TEXT", nocase=True), Column("answered_at")],
    [Index(("answered_at",), "those of the last hour, and those that are over")],
    key=("email",),
)


def record_replies(writing: RecordWriter, recipients: Recipients) -> Recipients:
    """Records an automatic reply to these recipients and returns those who may get it.

    Leaves out addresses that had one within the hour, and everybody once the hourly total is reached; the notes of the
    result say so."""
    allowed = allowed_recipients(writing, recipients)
    for each in (*allowed.to, *allowed.cc, *allowed.bcc):
        writing.tx.put(AUTOMATIC_ANSWER, {"email": each.address.lower(), "answered_at": writing.now})
    return allowed


def allowed_recipients(writing: RecordWriter, recipients: Recipients) -> Recipients:
    """Returns the result of record_replies without recording anything."""
    if recipients.is_empty:
        return recipients
    addresses = [*recipients.to, *recipients.cc, *recipients.bcc]
    had = [each.address for each in addresses if _had_one(writing, each)]
    notes = [f"not sent to {email}: it already got an automatic reply within the hour" for email in dict.fromkeys(had)]
    allowed = _without(recipients, had, notes)
    most = writing.ctx.service.settings.automatic_answers_per_hour
    if not allowed.is_empty and _number(writing) >= most:
        LOG.warning("mail.answers", sent=most)
        why = f"not sent: {most} automatic replies were sent within the hour (automatic_answers_per_hour)"
        return _without(recipients, [each.address for each in addresses], [*notes, why])
    return allowed


def _had_one(writing: RecordWriter, address: NamedAddress) -> bool:
    row = writing.tx.first(AUTOMATIC_ANSWER, email=address.address.lower())
    return row is not None and writing.now - HOUR_SECONDS < int(row[1])


def _number(writing: RecordWriter) -> int:
    """The number of automatic replies in the last hour."""
    table: Any = AUTOMATIC_ANSWER.sql
    return int(
        writing.tx.value(
            lambda: table.select(peewee.fn.COUNT(peewee.SQL("*"))).where(table.answered_at > slot(0)),
            (writing.now - HOUR_SECONDS,),
        )
    )


def _without(recipients: Recipients, emails: Iterable[str], notes: list[str]) -> Recipients:
    gone = {each.lower() for each in emails}

    def remaining(addresses: Addresses) -> Addresses:
        return tuple(each for each in addresses if each.address.lower() not in gone)

    return Recipients(
        remaining(recipients.to),
        remaining(recipients.cc),
        remaining(recipients.bcc),
        (*recipients.notes, *notes),
        recipients.is_unsent,
    )


@periodic(N_("automatic replies"), N_("Forgets automatic replies sent more than an hour ago."), deletes=True)
def forget_expired(service: Service, now: int) -> None:
    """Deletes rows that are an hour old."""
    table: Any = AUTOMATIC_ANSWER.sql
    before = now - HOUR_SECONDS
    over = service.store.read(
        lambda tx: tx.value(
            lambda: table.select(table.answered_at).where(table.answered_at <= slot(0)).limit(1),
            (before,),
        )
    )
    if over is not None:
        service.store.write(lambda tx: tx.run(lambda: table.delete().where(table.answered_at <= slot(0)), (before,)))
