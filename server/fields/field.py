"""The base of all kinds of field: declaration, filters, and the conversion of sent values to stored ones.

A field knows neither record types nor operations. Its Intake looks up the database, for example whether an id
exists."""

import re
from datetime import tzinfo
from typing import Any, ClassVar, Protocol

from server.dataclass import dataclass
from server.errors import Invalid
from server.search.filters import Filter
from server.store.tables import Column, Kind
from server.translation import N_, about_field

FilterKind = type[Filter]


class Lookup(Protocol):
    """The lookups that a field may use to read a value."""

    def reference(self, target: str, text: str) -> int | None:
        """Resolves `svc:<type>:<id or name>` to an id, None if there is no such record."""

    def exists(self, target: str, id: int) -> bool:
        """Whether a record of this type has this id."""

    def context(self, name: str) -> str | None:
        """Resolves the name, alias or context of a record type to its full context, None if it is unknown."""


@dataclass(frozen=True, slots=True)
class Intake:
    """The surroundings of an incoming value: the instant, the caller's zone and the lookups. values: the fields of the
    same request that were read before, for a field whose target depends on another field."""

    now: int
    tz: tzinfo
    lookup: Lookup
    values: dict[str, Any]


class Field:
    """A writable field of a record type.

    note: its description for people. required: on create. immutable: set by the service only; sending it is an error.
    default: stored if absent on create. auto: how it is computed then (now, generated, derived, setting, built_in).
    auto_update "now": set on every update that does not send it. alternatives: its other names. alternative_to: the
    field that this is another name of. shown: whether it is a key of the dictionary; a hidden field has no filter
    unless one is named. filter: the name of its filter if that is not the default of its kind; None for no filter.
    filter_note: the description of that filter, if the first words of the note do not say it."""

    type: ClassVar[str] = ""
    kind: ClassVar[Kind] = "TEXT"
    takes_lists: ClassVar[bool] = False
    filter_kind: ClassVar[FilterKind | None] = None  # the kind of its filter

    def __init__(
        self,
        note: str,
        *,
        required: bool = False,
        immutable: bool = False,
        unique: bool = False,
        default: Any = None,
        auto: str = "",
        auto_update: str = "",
        alternatives: tuple[str, ...] = (),
        alternative_to: str = "",
        stored: bool = True,
        shown: bool = True,
        key: str = "",
        origin: str = "",
        filter: str | None = "",
        filter_note: str = "",
    ) -> None:
        self.note = note
        self.required = required
        self.immutable = immutable
        self.unique = unique
        self.default = default
        self.auto = auto
        self.auto_update = auto_update
        self.alternatives = alternatives
        self.alternative_to = alternative_to
        self.stored = stored and not alternative_to
        self.shown = shown and self.stored
        self.key_name = key
        self.origin = origin
        self.filter = filter if filter or (shown and self.stored) else None
        self.filter_note = filter_note
        self.name = ""

    @property
    def key(self) -> str:
        """The dictionary key of the field."""
        return self.key_name or self.name

    def column(self) -> Column:
        return Column(self.name, self.kind, self.initial())

    def filters(self) -> list[Filter]:
        """Returns the filters that it adds to its type; a declared filter of the same name replaces one of them."""
        if self.filter_kind is None or self.filter is None:
            return []
        note = self.filter_note or self.usual_filter_note()
        return [self.filter_kind(self.filter or self.usual_filter(), note, self.name, **self.filter_options())]

    def usual_filter(self) -> str:
        """Returns the default name of its filter: `firstName` for `first_name`."""
        return camel_case(self.name)

    def usual_filter_note(self) -> str:
        """Returns the default description of its filter: the first words of the note, without its conditions."""
        return beginning(self.note)

    def filter_options(self) -> dict[str, Any]:
        """Returns further options of its filter."""
        return {}

    def initial(self) -> Any:
        """Returns the value of a row that was created without one."""
        return self.default

    def coerce(self, raw: Any, intake: Intake) -> Any:
        """Converts an incoming value to the one to store. Raises Invalid."""
        if isinstance(raw, (list, dict)) and not self.takes_lists:
            raise self.bad(N_("takes one value, not a list"))
        return self.read(raw, intake)

    def read(self, raw: Any, intake: Intake) -> Any:
        """Converts a single incoming value, as coerce."""
        return raw

    def is_blank(self, raw: Any) -> bool:
        """Returns whether an incoming value counts as blank for `required`."""
        return raw is None or raw == "" or (self.takes_lists and raw in ([], {}))

    def bad(self, reason: str) -> Invalid:
        return Invalid(about_field(self.name, reason), field=self.name)

    def schema(self) -> dict[str, Any]:
        """Returns the JSON schema of incoming values."""
        return {"type": "string", "description": self.note}

    def describe(self) -> dict[str, Any]:
        """Describes the field as data, for `describe --json` and the reference pages."""
        description: dict[str, Any] = {
            "name": self.name,
            "type": self.type,
            "required": self.required,
            "immutable": self.immutable,
            "unique": self.unique,
            "default": self.default,
            "note": self.note,
        }
        for name in ("auto", "auto_update", "alternative_to", "origin"):
            if getattr(self, name):
                description[name] = getattr(self, name)
        if self.alternatives:
            description["alternatives"] = list(self.alternatives)
        return description | self.limits()

    def limits(self) -> dict[str, Any]:
        """Returns the limits of its values, as data."""
        return {}


def as_text(raw: Any) -> str:
    """Returns a sent value as text: JSON numbers and booleans in the form that a web form sends."""
    if isinstance(raw, bool):
        return "1" if raw else "0"
    if raw is None:
        return ""
    if isinstance(raw, bytes):
        return raw.decode("utf-8", "replace")
    return raw if isinstance(raw, str) else str(raw)


def camel_case(name: str) -> str:
    """Returns a name in the form of filters.

    >>> camel_case("last_ran_at")
    'lastRanAt'
    """
    first, *others = name.split("_")
    return first + "".join(map(str.title, others))


def beginning(note: str) -> str:
    """Returns the first words of a note as a sentence: up to a colon, a semicolon or a full stop.

    >>> beginning("When the record was made; now when omitted.")
    'When the record was made.'
    """
    return re.split(r"[;:.](?: |$)", note, maxsplit=1)[0] + "."


def split_sign(text: str) -> tuple[str, str]:
    """Returns the `+` or `-` before an item of a list, which adds or removes it, and the item.

    >>> split_sign("-7"), split_sign("+a"), split_sign("a-b")
    (('-', '7'), ('+', 'a'), ('', 'a-b'))
    """
    text = text.strip()
    return (text[0], text[1:].strip()) if text[:1] in ("+", "-") else ("", text)
