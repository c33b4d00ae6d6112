"""Counts of tickets that a search finds, unless counting takes long: a menu shows them in passing."""

import time

from server.context import Context
from server.errors import HelpdeskError
from server.records import records
from server.records.records import SearchRequest
from server.store.store_local import StoreLocal

PASSING_SECONDS = 0.1  # seconds that counting a search may take
SLOW_SECONDS = 600  # seconds until a search that took longer is counted again
TOO_SLOW: StoreLocal[dict[str, int]] = StoreLocal()  # {search: Unix second until which it is not counted}


def count(ctx: Context, query: str) -> int | None:
    """Returns the number of tickets that a search finds; None for an invalid search, and for one that took too long,
    which is not counted again for a while."""
    slow = TOO_SLOW.made(ctx.service.store, dict)
    if slow.get(query, 0) > ctx.now:
        return None
    began = time.monotonic()
    try:
        return int(records.search(ctx, "ticket", SearchRequest(query, limit=1))["total"])
    except HelpdeskError:
        return None
    finally:
        if time.monotonic() - began > PASSING_SECONDS:
            slow[query] = ctx.now + SLOW_SECONDS
