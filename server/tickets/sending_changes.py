"""What sending a mail changed on its ticket, so that taking the mail back restores it."""

from collections.abc import Mapping
from typing import Any

from server.context import Context
from server.records import records
from server.tickets import requester, undo

# Columns of the ticket that taking back a mail restores, unless one of a row has changed since.
COLUMNS = (("status_id", "status_name_id", "reopen_date"), ("owner_id",))
ADDED = "added"  # requesters that sending added, with commas between
NOW = "now_"  # the prefix of a column with its value after sending


def changed_by_sending(ctx: Context, before: Mapping[str, Any]) -> dict[str, str]:
    """Returns columns with their former values, their new values with the prefix `now_`, and the added requesters.
    before: the ticket, with `requesters`."""
    now = records.retrieve(ctx, "ticket", before["id"], "requesters")
    names = [name for row in COLUMNS for name in row]
    columns = {name: str(before[name] or 0) for name in names}
    added = _requesters(now) - _requesters(before)
    return columns | {NOW + name: str(now[name] or 0) for name in names} | {ADDED: ",".join(sorted(added))}


def put_back(ctx: Context, ticket: Mapping[str, Any], changes: Mapping[str, str]) -> None:
    """Restores a ticket, except for what another worker has changed since. changes: from changed_by_sending."""
    rows = [row for row in COLUMNS if all(changes.get(NOW + name) == str(ticket[name] or 0) for name in row)]
    fields = {name: changes[name] for row in rows for name in row if name in changes}
    if fields:
        undo.restore(ctx, ticket["id"], fields, {name: str(ticket[name] or 0) for name in fields})
    for email in filter(None, changes.get(ADDED, "").split(",")):
        requester.remove(ctx, ticket["id"], email)


def _requesters(ticket: Mapping[str, Any]) -> set[str]:
    return {str(each["email"]) for each in (ticket.get("requesters") or {}).values()}
