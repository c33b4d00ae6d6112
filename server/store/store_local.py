"""Values of an open store, as thread-locals are values of a thread: caches of its readers, and parts of a running
service. The owning module declares them."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, TypeVar, cast

if TYPE_CHECKING:
    from server.store.database import Store
    from server.store.transaction import Transaction

SLOW_SECONDS = 600  # until work that took too long is tried again
Value = TypeVar("Value")


class StoreLocal(Generic[Value]):
    """A value of each store, dropped with the store."""

    def get(self, store: "Store") -> Value | None:
        """Returns the value, None if it is not set."""
        return cast("Value | None", store.locals.get(self))

    def set(self, store: "Store", value: Value) -> None:
        store.locals[self] = value

    def made(self, store: "Store", make: Callable[[], Value]) -> Value:
        """Returns the value, created by the first caller; concurrent callers get the same one."""
        value = store.locals.get(self)
        return cast("Value", value if value is not None else store.locals.setdefault(self, make()))

    def clear(self, store: "Store") -> None:
        store.locals.pop(self, None)


class TooSlow:
    """Work on a store that took too long, by a key. It is not tried again for SLOW_SECONDS. now: Unix seconds."""

    def __init__(self) -> None:
        self._until: StoreLocal[dict[str, int]] = StoreLocal()

    def has(self, store: "Store", key: str, now: int) -> bool:
        return self._until.made(store, dict).get(key, 0) > now

    def add(self, store: "Store", key: str, now: int) -> None:
        self._until.made(store, dict)[key] = now + SLOW_SECONDS


class VersionedLocal(Generic[Value]):
    """A value for one version of the tables that it was read from; see Transaction.version."""

    def __init__(self) -> None:
        self._stored: StoreLocal[tuple[int, Value]] = StoreLocal()

    def get(self, store: "Store", version: int) -> Value | None:
        """Returns the value of this version, or None."""
        stored = self._stored.get(store)
        return stored[1] if stored is not None and stored[0] == version else None

    def newest(self, store: "Store") -> Value | None:
        """Returns the value last set, of any version; a hint."""
        stored = self._stored.get(store)
        return stored[1] if stored is not None else None

    def set(self, store: "Store", version: int, value: Value) -> None:
        self._stored.set(store, (version, value))

    def read(self, tx: "Transaction", name: str, find: "Callable[[Transaction], Value]") -> Value:
        """Returns what find() returns, cached for the version of this name. A write may be rolled back, so it stores
        nothing; the value is found again once it is on disk."""
        store, version = tx.store, tx.version(name)

        def refresh() -> None:
            store.read(lambda reading: self.read(reading, name, find))

        value = self.get(store, version)
        if value is None:
            value = find(tx)
            if tx.can_write:
                tx.after_commit(refresh)
            else:
                self.set(store, version, value)
        return value
