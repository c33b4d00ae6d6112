"""What all dimensions have: the values of a field, each with its label, its search and its place."""

from collections.abc import Callable, Hashable, Mapping
from typing import Any, TypeVar

from server.counting.dimensions.options import DEFAULT_BINS, MAX_BINS, Options
from server.counting.dimensions.sources import Source
from server.dataclass import dataclass

MAX_LABELLED = 2 * MAX_BINS  # values of one field that get a label
NONE = "(none)"
NO_DATA, NOBODY = "(no data)", "(nobody)"  # of custom fields, of watchers
Raw = tuple[Any, ...]
Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True)
class Member:
    """One value of a field: what it is called and how it is searched for.

    key: tells it apart from the others of its field. order: its place where values have one, as dates do.
    context: that of the record that it is, "" for no record."""

    key: Hashable
    label: str
    value: Any
    find: Callable[[], str]
    order: Any = None
    context: str = ""

    @property
    def term(self) -> str:
        """The search term that finds just what has this value."""
        return self.find()


class Dimension:
    """One field of `by:`.

    name: of its filter, which search terms begin with. base: the name in answers. scale: what stored numbers are
    divided by; None for what is no number. nothing: what records without a value come under."""

    scale: float | None = None
    default_limit = DEFAULT_BINS
    nothing = NONE

    def __init__(self, asked: Options, name: str, source: Source) -> None:
        self.asked = asked
        self.name = name
        self.source = source

    @property
    def limit(self) -> int:
        return self.default_limit if self.asked.limit is None else self.asked.limit

    @property
    def base(self) -> str:
        return self.name

    @property
    def label(self) -> str:
        """What the field is called.

        >>> Dimension(Options("", "", "", None, 0), "response.first", Source("", list)).label
        'Response first'
        """
        return titled(self.base)

    @property
    def values(self) -> tuple[Any, ...]:
        """What the slots of `expressions` take, behind those of the source."""
        return ()

    def expressions(self, at: Any) -> list[Any]:
        """What the database groups by."""
        return self.source.expressions(at)

    @property
    def width(self) -> int:
        """How many expressions there are."""
        return len(self.expressions(lambda place: None))

    def number(self, at: Any) -> Any:
        """What the database adds up; not asked of what has no `scale`."""
        return self.source.expressions(at)[0]

    def members(self, hits: Mapping[Raw, int]) -> dict[Raw, Member | None] | None:
        """The member of each raw value, None for one that is not shown; None for all when `finer` must be asked first.

        hits: how many records have it."""
        raise NotImplementedError

    def identities(self, hits: Mapping[Raw, int]) -> dict[Raw, Hashable] | None:
        """As members, for counting different values: what tells each apart, None for no value."""
        found = self.members(hits)
        if found is None:
            return None
        return {
            raw: None if member is None or member.label == self.nothing else member.key for raw, member in found.items()
        }

    def most(self, hits: Mapping[Key, int]) -> list[Key]:
        """The values worth a label: those with most hits, or fewest where the rarest are asked for."""
        if len(hits) <= MAX_LABELLED:
            return list(hits)
        return sorted(hits, key=lambda each: hits[each], reverse=self.limit > 0)[:MAX_LABELLED]

    def finer(self) -> None:
        """Group by smaller pieces from now on."""

    @property
    def key(self) -> Hashable:
        """The shape of what it puts into a statement."""
        return type(self).__name__, self.source.key

    def dictionary(self, member: Member) -> dict[str, Any]:
        """What stands in a dictionary."""
        name = self.base.replace(".", "_")
        return {name: member.value, f"{name}_label": member.label}

    def columns(self) -> dict[str, dict[str, Any]]:
        """Its columns of a table."""
        return {self.base: {"label": self.label, "type": "text"}}

    def cells(self, member: Member) -> dict[str, Any]:
        """What stands in a row of a table."""
        return {self.base: member.label}

    @property
    def measured_type(self) -> str:
        """The type of a table's column that holds measured values."""
        return "number"


def titled(name: str) -> str:
    words = name.replace(".", " ").replace("_", " ").strip()
    return words[:1].upper() + words[1:]
