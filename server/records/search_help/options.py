"""Completions at the caret of a search: names of filters, then values of the filter."""

from collections.abc import Iterable, Iterator

from server.dataclass import dataclass
from server.record_types.record_type import RecordType
from server.record_types.registry import Registry
from server.record_types.shared.custom import KINDS as FIELD_KINDS
from server.record_types.shared.custom import CustomFilter, FieldDefinition
from server.records.search_help.caret import Typed
from server.records.search_help.chips import inner, targeted
from server.search.filters import (
    BelongsTo,
    ChoiceFilter,
    ContextFilter,
    DeepFilter,
    Filter,
    NamedChoiceFilter,
    NamedFilter,
    WorkerFilter,
)
from server.search.filters.date import PARTS
from server.translation import N_, _, shown

MAX_NAMES = 12  # filter names offered at once
MAX_RECORDS = 8
CLOSED = frozenset(("enum", "bool", "sort"))  # kinds whose values are all known: Enter accepts the first match
# The values of each kind of filter, in a word or two.
KINDS = {
    "text": N_("text"), "fulltext": N_("words"), "number": N_("number"), "decimal": N_("number"),
    "chooser": N_("number"), "bytes": N_("size"), "duration": N_("length of time"), "date": N_("date"),
    "bool": N_("yes or no"), "enum": N_("choice"), "worker": N_("worker"), "watchers": N_("worker"),
    "links": N_("type"), "virtual": N_("worker"),
}  # fmt: skip
DATES = (
    ("today", ""),
    ("yesterday", ""),
    ("-1 week to now", N_("the last seven days")),
    ("-1 month to now", N_("the last month")),
    ("-1 day to now", N_("the last day")),
    ("-4 hours", N_("the last four hours")),
    ("this week", ""),
    ("last week", ""),
    ("this month", ""),
    ("last month", ""),
    ("this year", ""),
    ("never", N_("no date set")),
)
EXAMPLES = {
    "number": (">1", "<10", "1...10"),
    "decimal": (">0.5", "0.1...0.9"),
    "bytes": (">1MiB", "<100kB"),
    "duration": (">1 hour", "<2 days", "1 hour...1 day"),
}
CONTROLS = (
    ("sort", N_("the order; a - before a name reverses it")),
    ("limit", N_("how many, at most 250")),
    ("page", N_("of the result, from 1")),
    ("set.timezone", N_("of the dates, such as Europe/Zurich")),
)


@dataclass(frozen=True, slots=True)
class QueryOption:
    """A completion. insert: the text that replaces the range from start to end."""

    label: str
    note: str
    insert: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Wanted:
    """Records to offer: their type, and how a record is written. form: `{}` or `(id:{})`, with the id. has_name: as
    `(name:"...")` if possible. is_name: by the name alone."""

    record_type: RecordType
    form: str
    has_name: bool = False
    is_name: bool = False


@dataclass(frozen=True, slots=True)
class Offer:
    """Completions. wanted: records to look up and add, if any. takes_first: whether Enter accepts the first one."""

    options: list[QueryOption]
    wanted: Wanted | None = None
    takes_first: bool = False


Choice = tuple[str, str, str]  # label, note, inserted text


def offered(
    typed: Typed,
    record_type: RecordType | None,
    value_filter: Filter | None,
    customs: Iterable[FieldDefinition],
    registry: Registry,
) -> Offer:
    """Completions at the caret. record_type: the type that is searched there. value_filter: the filter whose value
    is typed. customs: the custom fields of the type."""
    if not typed.field and not typed.takes_name:
        return Offer([])
    if not typed.field:
        choices = _names(record_type, customs, typed.closers == "") if record_type is not None else _parts()
        return Offer(_fitting(typed, choices, MAX_NAMES, in_notes=True))
    if typed.field in ("sort", "_sort") and record_type is not None:
        signed = typed.text[:1] in "+-" and typed.text[:1]
        names = [f"{signed or ''}{name}" for name in record_type.sort_names()]
        return Offer(_fitting(typed, [(name, "", name) for name in names], MAX_NAMES), takes_first=True)
    if value_filter is None:
        return Offer([])
    kind = inner(value_filter).type
    options = _fitting(typed, list(_values(value_filter, registry)), MAX_NAMES)
    return Offer(options, _wanted(value_filter, registry), kind in CLOSED)


def record_options(typed: Typed, target: Wanted, labels: Iterable[tuple[int, str]]) -> list[QueryOption]:
    """Records as values of a filter. labels: pairs of id and label."""
    options = []
    for id, label in labels:
        is_named = target.has_name and '"' not in label and "*" not in label
        insert = f'(name:"{label}")' if is_named else target.form.format(id)
        insert = _quoted(label) if target.is_name else insert
        options.append(QueryOption(label, f"#{id}", insert, typed.start, typed.end))
    return options


def _fitting(typed: Typed, choices: list[Choice], most: int, *, in_notes: bool = False) -> list[QueryOption]:
    """Matches of a word: choices that begin with it, then those that contain it, then those whose notes do. A choice
    that is typed completely is not offered."""
    text = typed.text.lower()
    ranked: list[tuple[int, Choice]] = []
    for each in choices:
        label = each[0].lower()
        rank = 0 if label.startswith(text) else 1 if text in label else 2 if in_notes and text in each[1].lower() else 3
        if rank < 3 and not (label == text and not each[2].endswith(":")):
            ranked.append((rank, each))
    ranked.sort(key=lambda pair: pair[0])
    return [QueryOption(label, note, insert, typed.start, typed.end) for _rank, (label, note, insert) in ranked[:most]]


# -- names ------------------------------------------------------------------------------------------------------------


def _names(record_type: RecordType, customs: Iterable[FieldDefinition], is_outermost: bool) -> list[Choice]:
    """The filters and custom fields of a record type; outside of all brackets also those that sort and limit."""
    choices: list[Choice] = [
        (each.name, _noted(each), f"{each.name}:")
        for each in dict.fromkeys(record_type.filter_by_name.values())
        if each.type != "hidden" and "<" not in each.name
    ]
    for field in customs:
        kind = shown(FIELD_KINDS.get(field.kind, "")).lower()
        choices.append(
            (field.filter, _("Custom field {name}. ({kind})", name=field.name, kind=kind), f"{field.filter}:")
        )
    if is_outermost:
        choices += [(name, shown(note), f"{name}:") for name, note in CONTROLS]
    return choices


def _noted(each: Filter) -> str:
    kind = (
        _("search of {types}", types=each.target.replace("_", " ")) if each.type == "deep" else KINDS.get(each.type, "")
    )
    note = shown(each.note).replace("`", "")  # the help formats these as code
    return f"{note} ({shown(kind)})" if kind else note


def _parts() -> list[Choice]:
    """The names in the parentheses of a date."""
    return [(each, "", f"{each}:") for each in PARTS if each.endswith("s") or each in ("since", "until", "dom")]


# -- values -----------------------------------------------------------------------------------------------------------


def _values(value_filter: Filter, registry: Registry) -> Iterator[Choice]:
    """The values of a filter, apart from records."""
    each = inner(value_filter)
    if isinstance(each, ChoiceFilter):
        yield from (_plain(word) for word in each.words)
    elif each.type == "bool":
        yield from (("yes", "", "yes"), ("no", "", "no"))
    elif each.target == "worker" and each.type in ("worker", "watchers", "virtual"):
        yield "me", _("the worker who searches"), "me"
        if isinstance(each, WorkerFilter) and each.type != "virtual":
            yield from (("any", _("anybody"), "any"), ("none", _("nobody"), "none"))
    elif each.type == "date":
        yield from ((text, shown(note), _quoted(text)) for text, note in DATES)
    elif each.type == "links" or isinstance(each, ContextFilter):
        if each.type == "links":
            yield from (("any", "", "any"), ("none", "", "none"))
        yield from ((uri, shown(registry.type(uri).label_names[1]), uri) for uri in registry.uris())
    elif isinstance(value_filter, CustomFilter) and value_filter.field.options:
        yield from (_plain(text) for text in value_filter.field.options if '"' not in text)
    else:
        yield from _further(each)


def _further(each: Filter) -> Iterator[Choice]:
    if each.type == "deep":
        name = each.target.replace("_", " ")
        yield "(", _("a search of {types}", types=name), "("
        if isinstance(each, DeepFilter) and isinstance(each.way, BelongsTo):
            yield "null", _("without a value"), "null"
        if isinstance(each, NamedFilter):
            yield from (("any", "", "any"), ("none", "", "none"))
    elif each.type == "chooser":
        yield "null", _("without a value"), "null"
    elif each.type in EXAMPLES:
        yield from (_plain(text) for text in EXAMPLES[each.type])


def _plain(text: str) -> Choice:
    return text, "", _quoted(text)


def _quoted(text: str) -> str:
    is_plain = text and not any(sign in ' \t,()[]":' for sign in text)
    return text if is_plain else f'"{text}"'


def _wanted(value_filter: Filter, registry: Registry) -> Wanted | None:
    """The records to offer as values of a filter, None if it takes none."""
    each = inner(value_filter)
    by_id = targeted(value_filter)
    takes_records = each.type == "deep" or isinstance(each, NamedChoiceFilter)
    target = registry.find(by_id or (each.target if takes_records else ""))
    if target is None:
        return None
    if by_id:
        return Wanted(target, "{}")
    if isinstance(each, (NamedFilter, NamedChoiceFilter)):
        return Wanted(target, "", is_name=True)
    name = target.filter_by_name.get("name")
    has_name = name is not None and name.type == "text" and target.label_column == "name"
    return Wanted(target, "(id:{})", has_name)
