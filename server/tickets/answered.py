"""Which message of a ticket an answer goes to."""

from server.context import Context
from server.records import records
from server.records.records import SearchRequest


def newest(ctx: Context, ticket_id: int) -> int:
    """The newest message of a requester, else the newest of all; 0 for a ticket that the caller sees none of. What a
    program wrote counts where nobody else wrote."""
    for more in ("isOutgoing:no isNotice:no ", "isOutgoing:no ", ""):
        asked = SearchRequest(f"ticket.id:{ticket_id} {more}sort:-created,-id", 1)
        found = records.search(ctx, "message", asked)["results"]
        if found:
            return int(found[0]["id"])
    return 0
