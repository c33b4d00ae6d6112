"""Counts of tickets that a search finds, unless counting takes long: a menu shows them in passing."""

import time
from collections.abc import Hashable

from server.access.rules import Rules
from server.context import Context
from server.dataclass import dataclass
from server.errors import HelpdeskError
from server.records import records
from server.store.store_local import StoreLocal, TooSlow

URI = "ticket"
PASSING_SECONDS = 0.1  # seconds that counting a search may take
REST = 200  # times the duration of a count before the same one is repeated: 0.5 % of the time
FRESH_SECONDS = 60  # a count is shown so long after a change, and so long without one, since searches name times
MAX_COUNTS = 10_000  # remembered counts
_TOO_SLOW = TooSlow()  # searches


@dataclass(frozen=True, slots=True)
class PassingCount:
    """A count of a worker's search. at: the cursor of the changes that it includes. began, seconds: when it was
    counted, and for how long."""

    number: int
    at: int
    began: float
    seconds: float

    def is_current(self, at: int) -> bool:
        """Whether it includes all changes, or was counted too recently to be repeated."""
        age = time.monotonic() - self.began
        return age < self.seconds * REST or (self.at == at and age < FRESH_SECONDS)


_COUNTS: StoreLocal[dict[Hashable, PassingCount]] = StoreLocal()


def count(ctx: Context, query: str, at: int, *, is_shared: bool = False) -> tuple[int | None, bool]:
    """Returns the number of tickets that a search finds, and whether it is the number before a change, because counting
    rests. The number is None for an invalid search, and for one that took too long, which is not counted again for a
    while.

    at: the present cursor of changes. is_shared: whether the search means the same to everyone, with no `me` and no day
    of a time zone: one count serves all who may read the same tickets."""
    if _TOO_SLOW.has(ctx.service.store, query, ctx.now):
        return None, False
    counts, key = _COUNTS.made(ctx.service.store, dict), _key(ctx, query, is_shared)
    known = counts.get(key)
    if known is not None and known.is_current(at):
        return known.number, known.at != at
    began = time.monotonic()
    try:
        number = records.count(ctx, URI, query)
    except HelpdeskError:
        return None, False
    finally:
        seconds = time.monotonic() - began
        if seconds > PASSING_SECONDS:
            _TOO_SLOW.add(ctx.service.store, query, ctx.now)
    if len(counts) >= MAX_COUNTS:
        counts.clear()
    counts[key] = PassingCount(number, at, began, seconds)
    return number, False


def recall(ctx: Context, query: str, at: int, *, is_shared: bool = False) -> tuple[int | None, bool]:
    """Returns the last count of a search, None if there is none of the last minute; and whether it may be old. The
    parameters are those of count()."""
    if _TOO_SLOW.has(ctx.service.store, query, ctx.now):
        return None, False
    known = _COUNTS.made(ctx.service.store, dict).get(_key(ctx, query, is_shared))
    if known is None or time.monotonic() - known.began > FRESH_SECONDS:
        return None, True
    return known.number, known.at != at


def _key(ctx: Context, query: str, is_shared: bool) -> Hashable:
    registry = ctx.service.registry
    return Rules(registry, ctx.actor).readers(registry.type(URI)) if is_shared else ctx.actor.worker_id, query
