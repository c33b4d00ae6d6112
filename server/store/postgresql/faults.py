"""What went wrong in PostgreSQL, as the errors of errors.py."""

import psycopg
from psycopg import errors

from server.errors import Damaged, Full, HelpdeskError, Unavailable
from server.store.faults import MOMENT_SECONDS, RETRY_AFTER_SECONDS, timed_out

AWAY = (
    errors.AdminShutdown, errors.CrashShutdown, errors.CannotConnectNow, errors.TooManyConnections,
    errors.ReadOnlySqlTransaction, errors.IdleInTransactionSessionTimeout, errors.DatabaseDropped,
)  # fmt: skip
BUSY = (errors.SerializationFailure, errors.DeadlockDetected, errors.LockNotAvailable)
FULL = (errors.DiskFull, errors.InsufficientResources, errors.OutOfMemory, errors.IoError)
DENIED = (errors.InsufficientPrivilege, errors.InvalidPassword, errors.InvalidAuthorizationSpecification)


def as_helpdesk_error(error: BaseException) -> BaseException:
    """The error to show for one of psycopg's; anything that is not expected stays as it is, a bug."""
    if isinstance(error, HelpdeskError) or not isinstance(error, psycopg.Error):
        return error
    if isinstance(error, errors.QueryCanceled):
        return timed_out()
    if isinstance(error, BUSY):
        return Unavailable("the database is busy; try again in a moment", retry_after=MOMENT_SECONDS)
    if isinstance(error, AWAY):
        return away()
    if isinstance(error, FULL):
        return Full("no room is left for the database; free some, then try again", retry_after=RETRY_AFTER_SECONDS)
    if isinstance(error, DENIED):
        return Damaged(
            "the database refuses this user; check the address in the setting database and what the user may do",
            retry_after=RETRY_AFTER_SECONDS,
        )
    if isinstance(error, (errors.DataCorrupted, errors.IndexCorrupted)):
        return Damaged("the database is damaged; restore a backup", retry_after=RETRY_AFTER_SECONDS)
    if is_lost(error):
        return away()
    return error


def away() -> Unavailable:
    """What is told while the database cannot be reached."""
    return Unavailable("the database cannot be reached; try again in a moment", retry_after=MOMENT_SECONDS)


def is_lost(error: BaseException) -> bool:
    """Whether the connection is of no use any more."""
    return isinstance(error, AWAY) or (isinstance(error, psycopg.OperationalError) and error.sqlstate is None)
