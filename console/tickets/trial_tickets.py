"""The tickets that a form offers to try something with."""

from console.html.ui import Option
from console.http.visit import Visit
from console.lists import lookup
from server.records import records
from server.records.records import SearchRequest

MAX_TICKETS = 12


def trial_tickets(visit: Visit) -> list[Option]:
    """Returns the worker's newest tickets, else the newest of all."""
    for q in ("owner.id:me sort:-updated", "sort:-id"):
        rows = records.search(visit.ctx, "ticket", SearchRequest(q, MAX_TICKETS, expand=lookup.LABEL))["results"]
        if rows:
            return lookup.options(visit, rows)
    return []
