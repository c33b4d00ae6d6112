"""Translates the errors of SQLite into those of errors.py."""

import apsw

from server.errors import Damaged, Full, HelpdeskError, TimedOut, Unavailable

RETRY_AFTER_SECONDS = 5
MOMENT_SECONDS = 1  # Retry-After for conditions that pass soon


def timed_out() -> TimedOut:
    """Returns the error of a read over its time limit."""
    return TimedOut("the query exceeded its time limit; narrow it down")


def stopping() -> Unavailable:
    """Returns the error of requests to a store that is closing."""
    return Unavailable("the service is stopping; try again in a moment", retry_after=MOMENT_SECONDS)


def as_helpdesk_error(error: BaseException) -> BaseException:
    """Returns the error to show for one of APSW; unexpected ones stay as they are, as bugs."""
    if isinstance(error, HelpdeskError):
        return error
    if isinstance(error, apsw.FullError):
        return Full(
            "the disk of the database is full; free up space, then try again",
            retry_after=RETRY_AFTER_SECONDS,
        )
    if isinstance(error, apsw.InterruptError):
        return timed_out()
    if isinstance(error, (apsw.BusyError, apsw.LockedError)):
        return Unavailable("the database is busy with another program; try again", retry_after=RETRY_AFTER_SECONDS)
    if isinstance(error, (apsw.ReadOnlyError, apsw.CantOpenError, apsw.PermissionsError)):
        return Damaged(
            "the database cannot be written; check the permissions of the data folder",
            retry_after=RETRY_AFTER_SECONDS,
        )
    if isinstance(error, apsw.IOError):
        return Full("the disk returned an error; check it, then try again", retry_after=RETRY_AFTER_SECONDS)
    if isinstance(error, (apsw.CorruptError, apsw.NotADBError)):
        return Damaged("the database file is damaged; restore a backup", retry_after=RETRY_AFTER_SECONDS)
    return error
