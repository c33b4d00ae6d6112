"""Key-value storage that automations share, with optional expiry. The values are not records."""

import json
from typing import Any

import peewee

from server.context import Context, Service
from server.dataclass import dataclass
from server.errors import Invalid, TooLarge
from server.jobs.scheduler import periodic
from server.store.statements import slot
from server.store.tables import Column, Index, Table
from server.store.transaction import Transaction
from server.translation import N_

MAX_KEY_CHARS = 2048
MAX_VALUE_CHARS = 1024 * 1024  # per value, as JSON
MAX_VALUES = 100_000  # stored at a time

STORED = Table(
    "stored_value",
    [Column("key", "TEXT"), Column("value", "TEXT"), Column("expires_at"), Column("updated_at")],
    [Index(("expires_at",), "those that have expired", where='"expires_at" > 0')],
    key=("key",),
)  # value: JSON text; expires_at: Unix seconds, 0 for never
CAN_EXPIRE = peewee.SQL('"expires_at" > 0')  # literal, so that the partial index is used


@dataclass(frozen=True, slots=True)
class StoredValue:
    """The value of a key after a write. is_new: whether that write stored it. expires_at: Unix seconds, 0 for never."""

    value: Any
    expires_at: int
    is_new: bool


def put(ctx: Context, key: str, value: Any, expires_at: int, *, if_absent: bool = False) -> StoredValue:
    """Stores a value under a key and replaces an existing one. expires_at: Unix seconds, 0 for never.

    if_absent: an existing value that has not expired is left; of several concurrent writers, one stores its value.

    Raises TooLarge for a value above MAX_VALUE_CHARS, Invalid if MAX_VALUES are already stored."""
    text = json.dumps(value)  # ASCII, since texts may hold bytes as lone surrogates
    if len(text) > MAX_VALUE_CHARS:
        raise TooLarge(
            f"the value of '{key[:80]}' has {len(text):,} characters as JSON, at most {MAX_VALUE_CHARS:,}",
            limit=MAX_VALUE_CHARS,
        )

    def write(tx: Transaction) -> StoredValue:
        present = tx.first(STORED, key=key)
        if if_absent and present is not None and not _is_over(present, ctx.now):
            return StoredValue(_value(present), int(present[STORED.position["expires_at"]]), False)
        if present is None and _count(tx) >= MAX_VALUES:
            raise Invalid(f"{MAX_VALUES:,} values are already stored; delete some, or let them expire", field="key")
        tx.put(STORED, {"key": key, "value": text, "expires_at": expires_at, "updated_at": ctx.now})
        return StoredValue(value, expires_at, True)

    return ctx.service.store.write(write)


def _is_over(row: tuple[Any, ...], now: int) -> bool:
    return 0 < int(row[STORED.position["expires_at"]]) <= now


def _value(row: tuple[Any, ...]) -> Any:
    return json.loads(row[STORED.position["value"]])


def get(ctx: Context, key: str) -> tuple[bool, Any]:
    """Returns whether a key has a value that has not expired, and the value."""
    row = ctx.service.store.read(lambda tx: tx.first(STORED, key=key))
    if row is None or _is_over(row, ctx.now):
        return False, None
    return True, _value(row)


def delete(ctx: Context, key: str) -> None:
    """Deletes the value of a key, if there is one."""
    ctx.service.store.write(lambda tx: tx.delete(STORED, key=key))


@periodic(N_("stored values that expired"), N_("Removes them."), deletes=True)
def forget_expired(service: Service, now: int) -> int | None:
    """Deletes expired values; returns when the next one expires."""
    next_at = service.store.read(_next_expiry)
    if next_at is None or next_at > now:
        return next_at
    service.store.write(lambda tx: _forget(tx, now))
    return service.store.read(_next_expiry)


def _next_expiry(tx: Transaction) -> int | None:
    table: Any = STORED.sql
    expiry = tx.value(lambda: table.select(peewee.fn.MIN(table.expires_at)).where(CAN_EXPIRE))
    return None if expiry is None else int(expiry)


def _forget(tx: Transaction, now: int) -> None:
    table: Any = STORED.sql
    tx.run(
        lambda: table.delete().where(CAN_EXPIRE, table.expires_at <= slot(0)),
        (now,),
    )


def _count(tx: Transaction) -> int:
    table: Any = STORED.sql
    return int(tx.value(lambda: table.select(peewee.fn.COUNT(table.key))))
