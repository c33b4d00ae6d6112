"""Translates errors of PostgreSQL into those of errors.py."""

import re

import psycopg
from psycopg import errors

from server.errors import Damaged, Full, HelpdeskError, Unavailable
from server.store.faults import MOMENT_SECONDS, RETRY_AFTER_SECONDS, timed_out

AWAY = (
    errors.AdminShutdown,
    errors.CrashShutdown,
    errors.CannotConnectNow,
    errors.TooManyConnections,
    errors.ReadOnlySqlTransaction,
    errors.IdleInTransactionSessionTimeout,
    errors.DatabaseDropped,
)
BUSY = (errors.SerializationFailure, errors.DeadlockDetected, errors.LockNotAvailable)
FULL = (errors.DiskFull, errors.InsufficientResources, errors.OutOfMemory, errors.IoError)
DENIED = (errors.InsufficientPrivilege, errors.InvalidPassword, errors.InvalidAuthorizationSpecification)


def as_helpdesk_error(error: BaseException) -> BaseException:
    """Returns the error to show for one of psycopg; returns an unexpected one, which is a bug, unchanged."""
    if isinstance(error, HelpdeskError) or not isinstance(error, psycopg.Error):
        return error
    if isinstance(error, errors.QueryCanceled):
        return timed_out()
    if isinstance(error, BUSY):
        return Unavailable("the database is busy; try again in a moment", retry_after=MOMENT_SECONDS)
    if isinstance(error, AWAY):
        return away()
    if isinstance(error, FULL):
        return Full("the disk of the database is full; free up space, then try again", retry_after=RETRY_AFTER_SECONDS)
    if isinstance(error, DENIED):
        return Damaged(
            f"the database refuses this user ({reason(error)}); make the user its owner, or correct the setting "
            "database",
            retry_after=RETRY_AFTER_SECONDS,
        )
    if isinstance(error, (errors.DataCorrupted, errors.IndexCorrupted)):
        return Damaged("the database is damaged; restore a backup", retry_after=RETRY_AFTER_SECONDS)
    if is_lost(error):
        return away()
    return error


# (part of the message of a failed connection, advice); libpq gives no error code for these.
REFUSED = (
    ("password authentication failed", "correct user or password in the setting database"),
    ("no password supplied", "put the password into the setting database, PGPASSWORD or ~/.pgpass"),
    ("no pg_hba.conf entry", "ask its administrator to allow this user from this machine in pg_hba.conf"),
    ("authentication failed", "correct the user in the setting database, or what pg_hba.conf asks of it"),
    ("permission denied for database", "ask its administrator to GRANT CONNECT ON DATABASE to this user"),
    ("is not permitted to log in", "ask its administrator to ALTER ROLE this user LOGIN"),
    ("certificate", "correct sslmode, sslrootcert or sslcert in the setting database"),
    ("invalid sslmode", "correct sslmode in the setting database"),
    ("ssl", "correct sslmode in the setting database"),
)
MAX_REASON = 400  # characters
MISSING = re.compile(r'(?:database|role) "[^"]*" does not exist')
WAITED_FOR = ("starting up", "shutting down", "recovery mode", "too many", "remaining connection slots")


def refusal(error: BaseException, place: str) -> HelpdeskError:
    """Returns the error, with advice, that explains why the database cannot be used at the start: Damaged if waiting
    does not help."""
    message = reason(error)
    if isinstance(error, (psycopg.ProgrammingError, UnicodeError)):  # the message may quote a part of the password
        return Damaged(f"{place}: the setting database cannot be read; correct what follows the ? in it")
    missing = MISSING.search(message)
    if missing:
        what = missing[0].partition(" ")[0]
        make = "createdb --encoding=UTF8 --owner=USER NAME" if what == "database" else "createuser USER"
        return Damaged(f"{place}: {missing[0]}; make it, as with `{make}`, or correct the setting database")
    if not any(each in message for each in WAITED_FOR):
        advice = next((advice for part, advice in REFUSED if part in message.lower()), None)
        if advice is not None:
            return Damaged(f"{place} refuses the connection ({message}); {advice}")
    return Unavailable(
        f"{place} cannot be reached ({message}); start it, or correct the setting database", retry_after=MOMENT_SECONDS
    )


def reason(error: BaseException) -> str:
    """Returns the message of the driver in one line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return next((line for line in lines if "FATAL" in line), " ".join(lines)[:MAX_REASON] or type(error).__name__)


def away() -> Unavailable:
    """Returns the error for requests while the database cannot be reached."""
    return Unavailable("the database cannot be reached; try again in a moment", retry_after=MOMENT_SECONDS)


def is_lost(error: BaseException) -> bool:
    """Returns whether the connection is unusable after this error."""
    return isinstance(error, AWAY) or (isinstance(error, psycopg.OperationalError) and error.sqlstate is None)
