"""Limits wrong attempts: counts by account and by address, as rows, so that they survive a restart.

An attempt is counted before it is checked, and subtracted if it was right, so that concurrent attempts cannot exceed
the limit. Known devices of an account have counts of their own, so that nobody can lock others out."""

import ipaddress
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from server.errors import TooMany
from server.record_types.shared.secrets import digest
from server.store.statements import slot
from server.store.tables import Column, Index, Table
from server.store.transaction import Transaction

WINDOW_SECONDS = 600
TOLD_SECONDS = 86400  # minimum interval of mails to the owner of a locked account
MAX_WRONG_OF_ACCOUNT = 10  # attempts in a window
MAX_WRONG_OF_ADDRESS = 50  # attempts in a window; an office may share one address

LOCKING = ("password:", "code:")  # keys without attempts lock the account

ATTEMPT = Table(
    "login_attempt",
    [Column("key", "TEXT"), Column("number"), Column("until")],
    [Index(("until",), "those that are over")],
    key=("key",),
)


def account(kind: str, name: str) -> str:
    """Returns the key of an account. kind: of the secret, such as password. Names are hashed, since people type
    passwords there."""
    return f"{kind}:{digest(name.strip().lower())}"


@lru_cache(maxsize=1024)  # 4 microseconds for each request with a body
def address(client: str) -> str:
    """Returns the key of a client's address; of IPv6 the /64 network, since one machine has all of it."""
    try:
        parsed = ipaddress.ip_address(client)
    except ValueError:
        return f"address:{client[:50]}"
    if isinstance(parsed, ipaddress.IPv4Address):
        return f"address:{parsed}"
    if parsed.ipv4_mapped:  # IPv4 clients of a dual-stack socket
        return f"address:{parsed.ipv4_mapped}"
    return f"address:{ipaddress.ip_network((int(parsed), 64), strict=False)}"


def device(kind: str, device_id: int) -> str:
    """Returns the key of a known device of an account, whose attempts are counted separately."""
    return f"device:{kind}:{device_id}"


def require_open(tx: Transaction, keys: Iterable[str], now: int) -> None:
    """Raises TooMany if one of these keys has no attempts left; counts nothing."""
    for key in keys:
        _require_left(key, *_present(tx, key, now), now)


def count(tx: Transaction, keys: Iterable[str], now: int) -> bool:
    """Counts an attempt under each key; returns whether it was the last one of an account. Raises TooMany, and counts
    nothing, if a key had none left."""
    is_last = False
    for key in keys:
        number, until = _present(tx, key, now)
        _require_left(key, number, until, now)
        tx.put(ATTEMPT, {"key": key, "number": number + 1, "until": until})
        is_last = is_last or (number + 1 == MAX_WRONG_OF_ACCOUNT and key.startswith(LOCKING))
    return is_last


def has_left(tx: Transaction, key: str, now: int) -> bool:
    """Counts an attempt under a key, unless it has none left."""
    number, until = _present(tx, key, now)
    if number < MAX_WRONG_OF_ACCOUNT:
        tx.put(ATTEMPT, {"key": key, "number": number + 1, "until": until})
    return number < MAX_WRONG_OF_ACCOUNT


def may_be_told(tx: Transaction, worker_id: int, now: int) -> bool:
    """Returns whether to notify the owner of a locked account; true once in TOLD_SECONDS."""
    key = f"told:{worker_id}"
    is_told = _present(tx, key, now)[0] > 0
    if not is_told:
        tx.put(ATTEMPT, {"key": key, "number": 1, "until": now + TOLD_SECONDS})
    return not is_told


def forgive(tx: Transaction, keys: Iterable[str], now: int) -> None:
    """Resets the counts after a right attempt: the account or device starts at zero, the address gets one attempt
    back."""
    for key in keys:
        number, until = _present(tx, key, now)
        if not key.startswith("address:"):
            tx.delete(ATTEMPT, key=key)
        elif number:
            tx.put(ATTEMPT, {"key": key, "number": number - 1, "until": until})


def has_over(tx: Transaction, now: int) -> bool:
    """Returns whether any count has expired."""
    table: Any = ATTEMPT.sql
    expired = tx.value(lambda: table.select(table.key).where(table.until <= slot(0)).limit(1), (now,))
    return expired is not None


def forget_over(tx: Transaction, now: int) -> int:
    """Deletes expired counts; returns their number."""
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
    """Returns the number of counted attempts and when they expire."""
    row = tx.first(ATTEMPT, key=key)
    if row is None or row[ATTEMPT.position["until"]] <= now:
        return 0, now + WINDOW_SECONDS
    return row[ATTEMPT.position["number"]], row[ATTEMPT.position["until"]]
