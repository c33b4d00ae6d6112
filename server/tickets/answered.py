"""The message of a ticket that a reply refers to."""

from server.context import Context
from server.records import records
from server.records.records import SearchRequest


def newest(ctx: Context, ticket_id: int) -> int:
    """Returns the id of the newest message of a requester, else of the newest message; 0 if the caller can read none.

    A message that a program wrote counts only if no person wrote one."""
    for more in ("isOutgoing:no isNotice:no ", "isOutgoing:no ", ""):
        request = SearchRequest(f"ticket.id:{ticket_id} {more}sort:-created,-id", 1)
        messages = records.search(ctx, "message", request)["results"]
        if messages:
            return int(messages[0]["id"])
    return 0
