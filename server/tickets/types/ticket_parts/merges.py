"""Resolves merged tickets to the surviving ticket."""

from collections.abc import Callable

from server.record_types.parts import Record

MAX_MERGES = 10  # longest chain of merges; ends a cycle that a manual change may create


def survivor(record_of: Callable[[int], Record | None], ticket: Record | None) -> Record | None:
    """Returns the ticket, or the ticket it was finally merged into; None if there is none. record_of: reads a ticket by
    id."""
    for _ in range(MAX_MERGES + 1):
        if ticket is None or not ticket["merged_into"]:
            return ticket
        ticket = record_of(ticket["merged_into"])
    return None
