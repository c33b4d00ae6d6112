"""The address of a ticket in the list that it was opened from."""

from urllib.parse import urlencode

from server.record_types.shared import paths
from server.tickets.list_neighbours import ListedTicket


def path(ticket: ListedTicket, q: str, come_from: str) -> str:
    """Returns the path of a ticket in a list. q: the search of the list. come_from: its path."""
    after = ",".join(ticket.after)
    params = {"in": q, "at": ticket.place, "from": come_from, "before": ticket.before, "after": after}
    query = urlencode({name: value for name, value in params.items() if value or name == "in"})
    return f"{paths.ticket(ticket.mask)}?{query}"
