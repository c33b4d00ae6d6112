"""Values that are one for each open store, as thread-locals are one for each thread: what its readers cache, and the
parts of a running service that others look for. The module that owns such a value declares it."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, TypeVar, cast

if TYPE_CHECKING:
    from server.store.database import Store

Value = TypeVar("Value")


class StoreLocal(Generic[Value]):
    """A value of each store. It goes with the store."""

    def get(self, store: "Store") -> Value | None:
        """The value; None where nobody set one."""
        return cast("Value | None", store.locals.get(self))

    def set(self, store: "Store", value: Value) -> None:
        store.locals[self] = value

    def made(self, store: "Store", make: Callable[[], Value]) -> Value:
        """The value, made by whoever asks first; all that ask at once get the same."""
        found = store.locals.get(self)
        return cast("Value", found if found is not None else store.locals.setdefault(self, make()))

    def clear(self, store: "Store") -> None:
        store.locals.pop(self, None)


class VersionedLocal(Generic[Value]):
    """A value that holds for one version of the tables it was read from: see Transaction.version."""

    def __init__(self) -> None:
        self._kept: StoreLocal[tuple[int, Value]] = StoreLocal()

    def get(self, store: "Store", version: int) -> Value | None:
        """The value of this version; None when there is none."""
        kept = self._kept.get(store)
        return kept[1] if kept is not None and kept[0] == version else None

    def newest(self, store: "Store") -> Value | None:
        """What was kept last, of whatever version it is; a hint."""
        kept = self._kept.get(store)
        return kept[1] if kept is not None else None

    def set(self, store: "Store", version: int, value: Value) -> None:
        self._kept.set(store, (version, value))
