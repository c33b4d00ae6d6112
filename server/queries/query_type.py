"""The declaration of a type of data query: its keys, its formats, and the function that runs it.

query_values.py parses texts."""

from collections.abc import Callable
from dataclasses import field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from server.dataclass import dataclass

if TYPE_CHECKING:
    from server.queries.data_query import DataQuery

Kind = Literal["text", "list", "number", "group", "query", "any"]
KINDS = {
    "text": "one value",
    "list": "one value or a list in square brackets",
    "number": "a whole number",
    "group": "keys in parentheses",
    "query": "a search in parentheses",
    "any": "one value or a list in square brackets",
}


@dataclass(frozen=True)
class QueryKey:
    """One key. A name ending in `.<id>` matches any number of keys; `<name>` alone, in a group, matches every key.

    low, high: bounds of a number. choices: allowed texts, () for any. keys: the keys of a group. aliases: other names
    of the key."""

    name: str
    kind: Kind
    note: str
    required: bool = False
    default: str = ""
    low: int = 0
    high: int = 2**31
    choices: tuple[str, ...] = ()
    keys: tuple["QueryKey", ...] = ()
    aliases: tuple[str, ...] = ()

    @property
    def is_pattern(self) -> bool:
        return self.name.endswith("<id>") or self.name == "<name>"

    @property
    def prefix(self) -> str:
        """The fixed part of a pattern: `series.`, or ""."""
        return self.name[: self.name.index("<")] if self.is_pattern else self.name

    def describe(self) -> dict[str, Any]:
        description: dict[str, Any] = {
            "name": self.name,
            "kind": self.kind,
            "note": self.note,
            "required": self.required,
        }
        if self.default:
            description["default"] = self.default
        if self.choices:
            description["choices"] = list(self.choices)
        if self.aliases:
            description["aliases"] = list(self.aliases)
        if self.keys:
            description["keys"] = [each.describe() for each in self.keys]
        return description


@dataclass(frozen=True)
class QueryResult:
    """data, and the contents of `_` besides `type` and `format`. later: computes the result after the snapshot is
    closed."""

    data: Any = None
    extra: dict[str, Any] = field(default_factory=dict)
    later: "Callable[[], QueryResult] | None" = None


class QueryType:
    """Base class of types. keys: without those that every type has. formats: the first is the default.

    is_quick: it does not count, so that the event loop may run it."""

    name: ClassVar[str] = ""
    description: ClassVar[str] = ""
    keys: ClassVar[tuple[QueryKey, ...]] = ()
    formats: ClassVar[tuple[str, ...]] = ("dictionaries",)
    is_quick: ClassVar[bool] = False

    def run(self, query: "DataQuery") -> QueryResult:
        """Runs the query inside one snapshot. Raises BadQuery for invalid values."""
        raise NotImplementedError

    def describe(self) -> dict[str, Any]:
        """Describes the type as data, for `describe --json`."""
        return {
            "name": self.name,
            "description": self.description,
            "keys": [each.describe() for each in self.keys],
            "formats": list(self.formats),
        }


OF = QueryKey("of", "text", "The record type: short, plural or full name.", required=True)
QUERY = QueryKey("query", "query", "A search; only its matches count.")
QUERY_REQUIRED = QueryKey(
    "query.required", "query", "A second search that must also match.", aliases=("query.require",)
)
EXPAND = QueryKey("expand", "list", "Keys to expand.")
TIMEZONE = QueryKey("timezone", "text", "The zone of dates and of date filters; the caller's own when absent.")
TIMEOUT = QueryKey(
    "timeout", "number", "Time limit in milliseconds; 0 for the longest allowed.", default="20000", high=60_000
)
FILTER = QueryKey("filter", "text", "Only items that contain this text.")
LIMIT = QueryKey("limit", "number", "Maximum number.", low=1, high=1_000)
PAGE = QueryKey("page", "number", "The page, counted from 0.", high=10**6)
SEARCHED = (OF, QUERY, QUERY_REQUIRED)
