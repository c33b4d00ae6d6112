"""The dictionary of a running script. Keys of records in it load on first access: `ticket_owner_name` loads if
`ticket__context` and `ticket_id` exist."""

from collections.abc import Callable, Mapping
from typing import Any

from server.digits import MAX_ID_DIGITS, is_whole
from server.errors import BudgetSpent

MAX_KEY_CHARS = 512  # longer keys are never loaded from a record
MAX_VALUES = 1_000_000  # values of a stored or returned dictionary; a shared value counts once per reference
MAX_VALUES_CHARS = 64 * 1024 * 1024  # of all texts, counted per reference too
CHARS_A_STEP = 1024
MAX_NESTED = 128  # levels of lists and maps

Load = Callable[[str, int, str], Mapping[str, Any]]


class Dictionary(dict[str, Any]):
    """A map that loads missing keys from records. load(context, id, key) returns the keys of a record."""

    __slots__ = ("_asked", "load")

    def __init__(self, values: Mapping[str, Any], load: Load) -> None:
        super().__init__()
        self.load = load
        self._asked: set[str] = set()
        for key, value in values.items():
            self[key] = lazy(value, load) if isinstance(value, dict) else value

    def __missing__(self, key: str) -> Any:
        if not self.expand(key):
            raise KeyError(key)
        return dict.__getitem__(self, key)

    def get(self, key: str, default: Any = None) -> Any:
        try:
            return self[key]
        except KeyError:
            return default

    def expand(self, key: str) -> bool:
        """Loads the record that a key belongs to and returns whether the key exists then."""
        if key.startswith("__") or len(key) > MAX_KEY_CHARS or key in self._asked:
            return key in self
        self._asked.add(key)
        for prefix in self._prefixes(key):
            context, id = dict.get(self, f"{prefix}_context"), dict.get(self, f"{prefix}id")
            if not context or not isinstance(context, str) or id is None or not _is_id(id):
                continue
            for name, value in self.load(context, int(id), key[len(prefix) :]).items():
                if prefix + name not in self:
                    self[prefix + name] = lazy(value, self.load)
            return key in self  # a nested record, even a missing one, is not a key of the outer one
        return False

    def _prefixes(self, key: str) -> list[str]:
        """Returns the possible record prefixes of a key, longest first; "" stands for this map itself."""
        prefixes = [""] if "_context" in self and "id" in self else []
        parts = key.split("_")
        for count in range(1, len(parts)):
            prefix = "_".join(parts[:count]) + "_"
            if f"{prefix}_context" in self:
                prefixes.append(prefix)
        return prefixes[::-1]


def _is_id(value: Any) -> bool:
    if isinstance(value, str) and is_whole(value):
        return True
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**MAX_ID_DIGITS


def lazy(value: Any, load: Load) -> Any:
    """Wraps a map that represents a record in a Dictionary; returns other values unchanged."""
    if isinstance(value, dict) and not isinstance(value, Dictionary) and "_context" in value and "id" in value:
        return Dictionary(value, load)
    return value


def plain(value: Any) -> Any:
    """Converts Dictionaries to plain maps, including the keys loaded so far."""
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [plain(each) for each in value]
    return value


def require_bounded(value: Any) -> int:
    """Returns the number of steps needed to visit a value; raises BudgetSpent if it would grow beyond the limits when
    written out.

    A list may hold another list many times, and that one a third, so that a small value in memory expands
    exponentially."""
    values, chars = MAX_VALUES, MAX_VALUES_CHARS
    level, depth = [value], 0
    while level:
        below: list[Any] = []
        for each in level:
            if isinstance(each, str):
                chars -= len(each)
            elif isinstance(each, dict):
                below += each.values()
                chars -= sum(map(len, each))
            elif isinstance(each, list):
                below += each
            if len(below) > values or chars < 0:
                raise BudgetSpent(
                    f"the values of the automation are too large: at most {MAX_VALUES:,} of them and "
                    f"{MAX_VALUES_CHARS:,} characters"
                )
        values -= len(below)
        level, depth = below, depth + 1
        if depth > MAX_NESTED:
            raise BudgetSpent(f"the values of the automation are nested more than {MAX_NESTED} deep")
    return MAX_VALUES - values + (MAX_VALUES_CHARS - chars) // CHARS_A_STEP
