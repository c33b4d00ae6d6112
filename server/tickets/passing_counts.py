"""Counts of tickets that a search finds, unless counting takes long: a menu shows them in passing."""

import time

from server.context import Context
from server.errors import HelpdeskError
from server.records import records
from server.store.store_local import TooSlow

PASSING_SECONDS = 0.1  # seconds that counting a search may take
_TOO_SLOW = TooSlow()  # searches


def count(ctx: Context, query: str) -> int | None:
    """Returns the number of tickets that a search finds; None for an invalid search, and for one that took too long,
    which is not counted again for a while."""
    if _TOO_SLOW.has(ctx.service.store, query, ctx.now):
        return None
    began = time.monotonic()
    try:
        return records.count(ctx, "ticket", query)
    except HelpdeskError:
        return None
    finally:
        if time.monotonic() - began > PASSING_SECONDS:
            _TOO_SLOW.add(ctx.service.store, query, ctx.now)
