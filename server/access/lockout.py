"""How often somebody may be wrong: counts of attempts by account and by address, as rows, so that a restart forgives
nothing.

An attempt is counted before it is looked at, and taken back when it was right: many at once cannot get past the limit.
So that nobody locks others out, devices that an account is known from have counts of their own."""

import ipaddress
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from server.errors import TooMany
from server.records.shared.secrets import digest
from server.store.statements import slot
from server.store.tables import Column, Index, Table
from server.store.transaction import Transaction

WINDOW_SECONDS = 600
TOLD_SECONDS = 86400  # between two mails to the owner of an account that gets locked
MAX_WRONG_OF_ACCOUNT = 10  # attempts in a window
MAX_WRONG_OF_ADDRESS = 50  # attempts in a window; an office may share one address

LOCKING = ("password:", "code:")  # keys of accounts that nobody signs in to when these are used up

ATTEMPT = Table(
    "login_attempt",
    [Column("key", "TEXT"), Column("number"), Column("until")],
    [Index(("until",), "those that are over")],
    key=("key",),
)


def account(kind: str, name: str) -> str:
    """The key of an account. kind: of what is given, such as password. Names are kept as hashes: people type passwords
    there."""
    return f"{kind}:{digest(name.strip().lower())}"


@lru_cache(maxsize=1024)
def address(client: str) -> str:
    """The key of a client's address; of IPv6 the network of 64 bits, since one machine has all of those."""
    try:
        parsed = ipaddress.ip_address(client)
    except ValueError:
        return f"address:{client[:50]}"
    if isinstance(parsed, ipaddress.IPv4Address):
        return f"address:{parsed}"
    if parsed.ipv4_mapped:  # of a socket for both kinds
        return f"address:{parsed.ipv4_mapped}"
    return f"address:{ipaddress.ip_network((int(parsed), 64), strict=False)}"


def device(kind: str, device_id: int) -> str:
    """The key of a device that an account is known from, which counts for it alone."""
    return f"device:{kind}:{device_id}"


def require_open(tx: Transaction, keys: Iterable[str], now: int) -> None:
    """Raises TooMany when one of these keys has used up its attempts; counts nothing."""
    for key in keys:
        _require_left(key, *_present(tx, key, now), now)


def count(tx: Transaction, keys: Iterable[str], now: int) -> bool:
    """Count one attempt under each key; answers whether an account has used up its own with it. Raises TooMany, and
    counts nothing, when one of them had before."""
    is_last = False
    for key in keys:
        number, until = _present(tx, key, now)
        _require_left(key, number, until, now)
        tx.put(ATTEMPT, {"key": key, "number": number + 1, "until": until})
        is_last = is_last or (number + 1 == MAX_WRONG_OF_ACCOUNT and key.startswith(LOCKING))
    return is_last


def has_left(tx: Transaction, key: str, now: int) -> bool:
    """Count one under a key, if it has not used up its own."""
    number, until = _present(tx, key, now)
    if number < MAX_WRONG_OF_ACCOUNT:
        tx.put(ATTEMPT, {"key": key, "number": number + 1, "until": until})
    return number < MAX_WRONG_OF_ACCOUNT


def may_be_told(tx: Transaction, worker_id: int, now: int) -> bool:
    """Whether the owner of an account is to be told that it got locked; once in TOLD_SECONDS."""
    key = f"told:{worker_id}"
    is_told = _present(tx, key, now)[0] > 0
    if not is_told:
        tx.put(ATTEMPT, {"key": key, "number": 1, "until": now + TOLD_SECONDS})
    return not is_told


def forgive(tx: Transaction, keys: Iterable[str], now: int) -> None:
    """It was right: the account or the device starts anew, the address gets this one attempt back."""
    for key in keys:
        number, until = _present(tx, key, now)
        if not key.startswith("address:"):
            tx.delete(ATTEMPT, key=key)
        elif number:
            tx.put(ATTEMPT, {"key": key, "number": number - 1, "until": until})


def has_over(tx: Transaction, now: int) -> bool:
    """Whether there is a count to be forgotten."""
    table: Any = ATTEMPT.sql
    found = tx.value(lambda: table.select(table.key).where(table.until <= slot(0)).limit(1), (now,))
    return found is not None


def forget_over(tx: Transaction, now: int) -> int:
    """Remove counts whose window is over; answers how many."""
    table: Any = ATTEMPT.sql
    return tx.run(lambda: table.delete().where(table.until <= slot(0)), (now,))


def _require_left(key: str, number: int, until: int, now: int) -> None:
    most = MAX_WRONG_OF_ADDRESS if key.startswith("address:") else MAX_WRONG_OF_ACCOUNT
    if number >= most:
        minutes = max(1, -(-(until - now) // 60))
        raise TooMany(
            f"Too many attempts. Try again in {minutes} minute{'s' if minutes > 1 else ''}.", retry_after=until - now
        )


def _present(tx: Transaction, key: str, now: int) -> tuple[int, int]:
    """How many attempts were counted, and until when they are."""
    row = tx.first(ATTEMPT, key=key)
    if row is None or row[ATTEMPT.position["until"]] <= now:
        return 0, now + WINDOW_SECONDS
    return row[ATTEMPT.position["number"]], row[ATTEMPT.position["until"]]
