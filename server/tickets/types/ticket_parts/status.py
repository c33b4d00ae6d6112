"""The status of a ticket and the times derived from it. Computes values without reading the database."""

from server.record_types.parts import Change

OPEN, WAITING, CLOSED, DELETED = range(4)
PENDING = (OPEN, WAITING)
WORDS = ("open", "waiting", "closed", "deleted")  # index = status number


def apply(change: Change, now: int) -> None:
    """Adds the values that follow from a change of status to the change; does nothing if the status stays.

    Opening sets `last_opened_at` and clears `reopen_date`. Leaving open adds the period to `elapsed_status_open`. The
    first close sets `closed` and `elapsed_resolution_first`. Deleting sets `deleted_at` for the purge."""
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
