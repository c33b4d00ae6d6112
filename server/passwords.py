"""Hashes and verifies passwords, and detects hashes with outdated parameters. Independent of workers and tables.

Hashing has its own queue, so that a flood of logins cannot use all memory and cores, and a full queue is reported at
once."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import argon2
from argon2.exceptions import InvalidHashError, VerificationError

from server.dataclass import dataclass
from server.errors import Invalid, TooMany

MIN_CHARS = 8
MAX_CHARS = 255
MEMORY_KIB = 65_536  # per hash; with TIME_COST 3 one takes 50 to 250 ms on usual machines
TIME_COST = 3
LANES = 1  # more threads would make one login faster and many logins slower
HASH_BYTES = 32
SALT_BYTES = 16
AT_ONCE = max(1, min(4, (os.cpu_count() or 2) // 2))  # concurrent hashes; the other cores serve everything else
WAITING = 16  # queued hashes: some seconds of work
RETRY_SECONDS = 5
BUSY = "Too many passwords are being checked right now. Try again in a few seconds."

_hasher = argon2.PasswordHasher(TIME_COST, MEMORY_KIB, LANES, HASH_BYTES, SALT_BYTES, type=argon2.Type.ID)
_turns = threading.BoundedSemaphore(AT_ONCE)
_places = threading.BoundedSemaphore(AT_ONCE + WAITING)
_mine = threading.local()


@dataclass(frozen=True, slots=True)
class HashedPassword:
    """A password that is hashed already, as opposed to a text from a client."""

    text: str

    def __repr__(self) -> str:
        return "HashedPassword(...)"  # keeps the hash out of logs


def from_file(file: str) -> str:
    """Reads the password in the first line of a file. Raises Invalid if it cannot be read or is empty."""
    try:
        lines = Path(file).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise Invalid(f"the password file {file} cannot be read: {error}") from error
    if not lines or not lines[0]:
        raise Invalid(f"the first line of the password file {file} is empty")
    return lines[0]


@contextmanager
def place() -> Iterator[None]:
    """Reserves a place in the queue for hashing on this thread. Reserve it before work that a refusal must not leave
    half done.

    Raises TooMany if the queue is full. `hash` and `verify` reserve one themselves."""
    if getattr(_mine, "has_place", False):
        yield
        return
    if not _places.acquire(blocking=False):
        raise TooMany(BUSY, retry_after=RETRY_SECONDS)
    _mine.has_place = True
    try:
        yield
    finally:
        _mine.has_place = False
        _places.release()


def hash(password: str) -> str:
    """Returns the argon2id hash of a password, with its salt and parameters, to be stored as it is. Raises TooMany.

    Takes 50 to 250 ms: never call it on the event loop or the writer."""
    with place(), _turns:
        return _hasher.hash(password)


def verify(stored: str, password: str) -> bool:
    """Returns whether the password matches a stored hash; False for an unreadable hash, such as "". Raises TooMany.

    Takes as long as `hash`, even for an unreadable hash, so that an unknown name and a wrong password take the same
    time."""
    if len(password) > MAX_CHARS:
        password = ""  # no such password was ever stored
    with place(), _turns:
        try:
            return _hasher.verify(stored, password)
        except InvalidHashError:
            _hasher.hash(password)
            return False
        except VerificationError:
            return False


def needs_rehash(stored: str) -> bool:
    """Returns whether a hash has other parameters than today's; then hash the password again after verifying it."""
    try:
        return _hasher.check_needs_rehash(stored)
    except InvalidHashError:
        return True
