"""Passwords as slow hashes: made, compared, made again when the parameters have grown. Knows no workers, no tables.

Hashing has a queue of its own, so that a flood of logins takes neither all memory nor all cores, and nobody waits long
to be told that it is full."""

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
MEMORY_KIB = 65_536  # of one hashing; with TIME_COST 3 it takes 50 to 250 ms on the machines this runs on
TIME_COST = 3
LANES = 1  # more threads would make one login faster and many logins slower
HASH_BYTES = 32
SALT_BYTES = 16
AT_ONCE = max(1, min(4, (os.cpu_count() or 2) // 2))  # hashings at the same time; other cores are for everything else
WAITING = 16  # that may wait for their turn: some seconds
RETRY_SECONDS = 5
BUSY = "Too many passwords are looked at just now. Try again in a few seconds."

_hasher = argon2.PasswordHasher(TIME_COST, MEMORY_KIB, LANES, HASH_BYTES, SALT_BYTES, type=argon2.Type.ID)
_turns = threading.BoundedSemaphore(AT_ONCE)
_places = threading.BoundedSemaphore(AT_ONCE + WAITING)
_mine = threading.local()


@dataclass(frozen=True, slots=True)
class HashedPassword:
    """A password that was hashed already, told apart from a text that a client sent."""

    text: str

    def __repr__(self) -> str:
        return "HashedPassword(...)"  # a hash has no place in a log


def from_file(file: str) -> str:
    """The password in the first line of a file. Raises Invalid when it cannot be read, or there is none."""
    try:
        lines = Path(file).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise Invalid(f"the password file {file} cannot be read: {error}") from error
    if not lines or not lines[0]:
        raise Invalid(f"the first line of the password file {file} is empty")
    return lines[0]


@contextmanager
def place() -> Iterator[None]:
    """A place in the queue for what this thread hashes meanwhile. Take it before what a refusal must leave undone.

    Raises TooMany when there is none. Hashing takes one by itself."""
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
    """The argon2id hash of a password, with its salt and parameters, to be stored as it is. Raises TooMany.

    Takes 50 to 250 ms: never call it on the event loop or the writer."""
    with place(), _turns:
        return _hasher.hash(password)


def verify(stored: str, password: str) -> bool:
    """Whether this is the password of a stored hash; False for a hash that cannot be read, such as "". Raises TooMany.

    As slow as `hash`, for a hash that cannot be read too: an unknown name and a wrong password take the same time."""
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
    """Whether a hash was made with other parameters than today's; hash the password again once it was verified."""
    try:
        return _hasher.check_needs_rehash(stored)
    except InvalidHashError:
        return True
