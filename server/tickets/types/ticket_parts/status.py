"""The status of a ticket, and the times that follow from it. Values only; nothing is looked up."""

from server.record_types.parts import Change

OPEN, WAITING, CLOSED, DELETED = range(4)
WORDS = ("open", "waiting", "closed", "deleted")  # by number


def apply(change: Change, now: int) -> None:
    """Put what a change of status brings with it into the change; nothing when the status stays.

    Opening: `last_opened_at`, and no reopening is planned any more. Leaving open: the spell adds to
    `elapsed_status_open`. Closed for the first time: `closed`, `elapsed_resolution_first`. Deleted: since when, for the
    purge."""
    before, after = change.was("status_id"), change.value("status_id")
    if not change.is_create and before == after:
        return
    new = change.new
    if after == OPEN:
        new["last_opened_at"] = now
        if not change.is_create:
            new["reopen_date"] = 0
    elif before == OPEN and not change.is_create and change.was("last_opened_at"):
        spell_seconds = max(now - change.was("last_opened_at"), 0)
        new["elapsed_status_open"] = change.was("elapsed_status_open") + spell_seconds
    if after == CLOSED and not change.was("closed"):
        new["closed"] = change.value("closed") or now
        new["elapsed_resolution_first"] = max(new["closed"] - change.value("created"), 0)
    new["deleted_at"] = now if after == DELETED else 0
