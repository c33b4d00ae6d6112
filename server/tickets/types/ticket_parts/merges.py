"""Merged tickets: what is asked of one belongs to the ticket that took over."""

from collections.abc import Callable

from server.record_types.parts import Record

MAX_MERGES = 10  # a ticket merged into one that was merged, and so on; a circle made by hand ends here


def survivor(record_of: Callable[[int], Record | None], ticket: Record | None) -> Record | None:
    """The ticket, or the one that it was merged into in the end; None when there is none. record_of: finds by id."""
    for _ in range(MAX_MERGES + 1):
        if ticket is None or not ticket["merged_into"]:
            return ticket
        ticket = record_of(ticket["merged_into"])
    return None
