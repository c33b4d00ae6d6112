"""Quiet hours of a worker: no device shows a notification, but the bell does."""

import re
from collections.abc import Collection
from datetime import datetime

from server.context import Context
from server.dataclass import dataclass
from server.errors import Invalid, Mistakes
from server.store.tables import Column, Table
from server.store.transaction import Transaction
from server.times import zone
from server.translation import _

MINUTES = 60
_TIME = re.compile(r"([01]?[0-9]|2[0-3]):([0-5][0-9])(?::00)?\Z")
DAYS = tuple("0123456")  # Monday first

QUIET_HOURS = Table(
    "quiet_hours",
    [
        Column("worker_id", references="worker(id)"),
        Column("is_on"),
        Column("begins"),
        Column("ends"),
        Column("days", "TEXT"),
    ],
    key=("worker_id",),
)  # begins, ends: minutes since midnight. days: digits of quiet days


@dataclass(frozen=True, slots=True)
class QuietHours:
    """Quiet hours. is_on: whether there are any each day. begins, ends: minutes since midnight; an end before the
    beginning is on the next day. days: days that are quiet as a whole, 0 for Monday."""

    is_on: bool = False
    begins: int = 20 * MINUTES
    ends: int = 7 * MINUTES
    days: tuple[int, ...] = ()

    def covers(self, now: int, timezone: str) -> bool:
        """Returns whether a moment is quiet, by the wall clock of a time zone. now: Unix seconds.

        >>> QuietHours(True, 1200, 420).covers(0, "UTC"), QuietHours(True, 1200, 420).covers(43200, "UTC")
        (True, False)
        """
        local = datetime.fromtimestamp(now, zone(timezone or "UTC"))
        if local.weekday() in self.days:
            return True
        minute = local.hour * MINUTES + local.minute
        if not self.is_on:
            return False
        if self.begins < self.ends:
            return self.begins <= minute < self.ends
        return minute >= self.begins or minute < self.ends


def load(tx: Transaction, worker_id: int) -> QuietHours:
    """Returns the quiet hours of a worker; none without a choice."""
    row = tx.first(QUIET_HOURS, worker_id=worker_id)
    return QuietHours(bool(row[1]), row[2], row[3], tuple(map(int, row[4]))) if row is not None else QuietHours()


def own(ctx: Context) -> QuietHours:
    """Returns the quiet hours of the caller."""
    return ctx.service.store.read(lambda tx: load(tx, ctx.actor.worker_id))


def choose(ctx: Context, is_on: bool, begins: str, ends: str, days: Collection[str]) -> None:
    """Stores the quiet hours of the caller. begins, ends: such as `20:00`. days: of DAYS. Raises Invalid."""
    mistakes = Mistakes()
    first = last = 0
    with mistakes.collect():
        first = _minutes(begins, "quiet_from")
    with mistakes.collect():
        last = _minutes(ends, "quiet_until")
    with mistakes.collect():
        if not set(days) <= set(DAYS):
            raise Invalid(_("Choose days of the week."), field="quiet_days")
    mistakes.require_none()
    if is_on and first == last:
        raise Invalid(_("Choose an end that is not the beginning; for whole days, tick the days."), field="quiet_until")
    text = "".join(day for day in DAYS if day in days)
    values = {"worker_id": ctx.actor.worker_id, "is_on": int(is_on), "begins": first, "ends": last, "days": text}
    ctx.service.store.write(lambda tx: tx.put(QUIET_HOURS, values))


def time_text(minutes: int) -> str:
    """Returns a time of day as forms send it.

    >>> time_text(425)
    '07:05'
    """
    return f"{minutes // MINUTES:02}:{minutes % MINUTES:02}"


def _minutes(text: str, field: str) -> int:
    match = _TIME.match(text.strip())
    if match is None:
        raise Invalid(_("Enter a time of day, such as 20:00."), field=field)
    return int(match[1]) * MINUTES + int(match[2])
