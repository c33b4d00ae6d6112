"""The base of all dimensions: the values of a field, each with its label, its search term and its order."""

from collections.abc import Callable, Hashable, Mapping
from typing import Any, TypeVar

from server.counting.dimensions.bin_options import DEFAULT_BINS, MAX_BINS, Options
from server.counting.dimensions.sources import Source
from server.dataclass import dataclass

MAX_LABELLED = 2 * MAX_BINS  # values of one field with a label
NONE = "(none)"
NO_DATA, NOBODY = "(no data)", "(nobody)"  # for custom fields, for watchers
Raw = tuple[Any, ...]
Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True)
class Member:
    """One value of a field: its label and its search term.

    key: identifies it within the field. order: its place for ordered values such as dates. context: of the record that
    it is, "" if it is not a record."""

    key: Hashable
    label: str
    value: Any
    find: Callable[[], str]
    order: Any = None
    context: str = ""

    @property
    def term(self) -> str:
        """The search term that matches exactly the records with this value."""
        return self.find()


class Dimension:
    """One field of `by:`.

    name: of its filter, for search terms. base: the name in results. scale: the divisor of stored numbers; None if they
    are not numbers. nothing: the label for records without a value."""

    scale: float | None = None
    default_limit = DEFAULT_BINS
    nothing = NONE

    def __init__(self, options: Options, name: str, source: Source) -> None:
        self.options = options
        self.name = name
        self.source = source

    @property
    def limit(self) -> int:
        return self.default_limit if self.options.limit is None else self.options.limit

    @property
    def base(self) -> str:
        return self.name

    @property
    def label(self) -> str:
        """The label of the field.

        >>> Dimension(Options("", "", "", None, 0), "response.first", Source("", list)).label
        'Response first'
        """
        return titled(self.base)

    @property
    def values(self) -> tuple[Any, ...]:
        """The values for the slots of `expressions`, after those of the source."""
        return ()

    def expressions(self, at: Any) -> list[Any]:
        """Returns the expressions to group by."""
        return self.source.expressions(at)

    @property
    def width(self) -> int:
        """The number of expressions."""
        return len(self.expressions(lambda place: None))

    def number(self, at: Any) -> Any:
        """Returns the expression to sum; only for dimensions with a `scale`."""
        return self.source.expressions(at)[0]

    def members(self, hits: Mapping[Raw, int]) -> dict[Raw, Member | None] | None:
        """Returns the member of each raw value, None for a hidden one; None for all if `finer` must be called first.

        hits: the number of records per raw value."""
        raise NotImplementedError

    def identities(self, hits: Mapping[Raw, int]) -> dict[Raw, Hashable] | None:
        """Returns a key per raw value for counting distinct values, None for no value; None for all as in members."""
        members = self.members(hits)
        if members is None:
            return None
        return {
            raw: None if member is None or member.label == self.nothing else member.key
            for raw, member in members.items()
        }

    def most(self, hits: Mapping[Key, int]) -> list[Key]:
        """Returns the values to label: those with the most hits, or the fewest if the rarest are requested."""
        if len(hits) <= MAX_LABELLED:
            return list(hits)
        return sorted(hits, key=lambda each: hits[each], reverse=self.limit > 0)[:MAX_LABELLED]

    def finer(self) -> None:
        """Groups by smaller buckets from now on."""

    @property
    def key(self) -> Hashable:
        """The shape of its part of a statement, for caching."""
        return type(self).__name__, self.source.key

    def dictionary(self, member: Member) -> dict[str, Any]:
        """Returns its entries in a dictionary."""
        name = self.base.replace(".", "_")
        return {name: member.value, f"{name}_label": member.label}

    def columns(self) -> dict[str, dict[str, Any]]:
        """Returns its columns of a table."""
        return {self.base: {"label": self.label, "type": "text"}}

    def cells(self, member: Member) -> dict[str, Any]:
        """Returns its cells in a row of a table."""
        return {self.base: member.label}

    @property
    def measured_type(self) -> str:
        """The column type of measured values."""
        return "number"


def titled(name: str) -> str:
    words = name.replace(".", " ").replace("_", " ").strip()
    return words[:1].upper() + words[1:]
