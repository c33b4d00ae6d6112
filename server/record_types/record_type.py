"""The base class of record types. A declaration consists of fields, keys, filters and a few hooks.

REST, search, packages, forms and the reference pages read the declaration; a type is described nowhere else.
server/records/ has the operations on records."""

import json
from collections.abc import Sequence
from heapq import merge
from typing import TYPE_CHECKING, Any, ClassVar

import peewee

from server.contexts import context_of
from server.errors import nearest
from server.fields import Field, Id, Structure
from server.record_types.parts import (
    Access,
    Caller,
    Change,
    DictionaryContext,
    Event,
    Expand,
    Feature,
    Key,
    Loader,
    NestedRecord,
    Record,
    Reopening,
    Subtotals,
    Writing,
)
from server.record_types.shared import act_sentences, checks, filter_patterns, paths
from server.record_types.shared.points import POINTS
from server.record_types.traits.trait import Exported, Search, Trait, overriding
from server.search.filters import AllWords, Filter, NumberFilter
from server.store.fulltext import TextIndex as TextIndex
from server.store.tables import Column, Index, Table

if TYPE_CHECKING:
    from server.record_types.registry import Registry
    from server.search.compile import SearchScope
    from server.store.transaction import Transaction

__all__ = [
    "Access", "Caller", "Change", "Event", "Expand", "Feature", "Key", "Loader", "NestedRecord", "Record", "RecordType",
    "DictionaryContext", "Subtotals", "Writing",
]  # fmt: skip


CORE = "svc.core"


class RecordType:
    """The base of all record types. The order of `fields` is that of the columns.

    A field adds its filters, its key and the record it points to. `filters`, `keys` and `nested` hold additional
    ones, and replacements of the same name. Bare words are searched in the label unless a filter is declared for
    them."""

    uri: ClassVar[str] = ""
    context: ClassVar[str] = ""
    aliases: ClassVar[tuple[str, ...]] = ()
    label_names: ClassVar[tuple[str, str]] = ("", "")
    table_name: ClassVar[str] = ""  # default: the uri
    tier: ClassVar[int] = 1
    lookup: ClassVar[str] = ""
    traits: ClassVar[tuple[Trait, ...]] = ()  # see traits/
    operations: ClassVar[dict[str, Any]] = {
        "retrieve": True,
        "search": True,
        "create": True,
        "update": True,
        "delete": True,
    }
    access: ClassVar[Access]
    plugin: ClassVar[str] = CORE  # the plugin name that packages and clients expect; all types are built in
    is_silent: ClassVar[bool] = False  # no events, no change log: written often, by the service itself
    is_administrative: ClassVar[bool] = False  # every write is an administrative act
    ownerless_is_open: ClassVar[bool] = False  # without an owner, the access rule "owner" allows everybody
    yielding: ClassVar[frozenset[str]] = frozenset()  # names of fields that a custom field may take as its uri
    fields: dict[str, Field] = {}
    columns: ClassVar[tuple[Column, ...]] = ()
    indexes: ClassVar[tuple[Index, ...]] = ()
    reopening: ClassVar[Reopening | None] = None
    changed_column: ClassVar[str] = ""  # the time of the last write, including comments and links of the record
    due_column: ClassVar[str] = ""  # a time at which the scheduler must process the record
    summary: ClassVar[tuple[str, ...]] = ()
    summary_index: ClassVar[tuple[str, ...]] = ()
    days: ClassVar[tuple[str, ...]] = ()
    bumps: ClassVar[dict[str, tuple[str, ...]]] = {}
    is_settled: ClassVar[bool] = False  # this and the next are described in Table
    is_log: ClassVar[bool] = False
    text: ClassVar[TextIndex | None] = None
    text_of: ClassVar[frozenset[str]] = frozenset()  # columns of its texts; empty: they use other data too
    takes_along: ClassVar[tuple[tuple[str, str], ...]] = ()  # (type, column with the id) of records deleted with it
    state: ClassVar[tuple[str, ...]] = ()  # as in Trait
    nested: tuple[NestedRecord, ...] = ()
    keys: tuple[Key, ...] = ()
    expands: ClassVar[tuple[Expand, ...]] = ()
    filters: tuple[Filter, ...] = ()
    subtotals: ClassVar[Subtotals] = Subtotals()
    events: ClassVar[tuple[Event, ...]] = ()
    for_admins: ClassVar[frozenset[str]] = frozenset()  # keys that only administrators see
    label_column: ClassVar[str] = "name"
    label_on_expand: ClassVar[bool] = False
    label_key: ClassVar[str] = ""  # a further key that contains the label
    has_url: ClassVar[bool] = True
    org_column: ClassVar[str] = ""  # the column with the organization, for `org.<custom field>` filters
    has_fieldset_filter: ClassVar[bool] = True
    has_links_filter: ClassVar[bool] = True
    checked: ClassVar[dict[str, str]] = {}  # {field: kind of text}: an upper layer registers the check of the kind
    bound: ClassVar[dict[str, str]] = {}  # {field with a binding: trigger of its automations}
    tables: ClassVar[tuple[Table, ...]] = ()  # further tables that belong to the type
    exported_tables: ClassVar[tuple[Table, ...]] = ()  # their rows are exported by `export`

    def __init_subclass__(cls) -> None:
        """Derives context, label and aliases from the uri unless the type declares them."""
        own = vars(cls)
        if own.get("uri"):
            name = cls.uri.replace("_", " ")
            cls.context = own.get("context", context_of(cls.uri))
            cls.label_names = own.get("label_names", (name.title(), f"{name.title()}s"))
            cls.aliases = own.get("aliases", (name, f"{name}s") if name != cls.uri else (f"{name}s",))

    def __init__(self) -> None:
        self.acts = _acts(self)
        self.features = frozenset(each.name for each in self.traits)
        self.can_be_linked = any(each.allows_links for each in self.traits)
        self.notifying_traits = overriding(self.traits, "listeners")
        self.value_traits = overriding(self.traits, "take", "coerce")
        self.checking_traits = overriding(self.traits, "check")
        self._trait_classes = frozenset(map(type, self.traits))
        self.keys = (*type(self).keys, *(key for trait in self.traits for key in trait.keys(self)))
        declared = dict(type(self).fields)
        for trait in reversed(self.traits):
            declared |= trait.fields()
        for name, each in declared.items():
            each.name = name
        self.fields = declared
        self.table = self._table()
        self.initial: Record = self.table.initial
        self.structures = tuple(name for name, each in declared.items() if isinstance(each, Structure) and each.stored)
        # Precomputed for every write: few of sixty fields have these properties.
        self.stamped = tuple(
            (name, each.auto_update == "now")
            for name, each in declared.items()
            if "now" in (each.auto, each.auto_update)
        )
        self.required = tuple((name, each) for name, each in declared.items() if each.required)
        self.unique = tuple((name, each) for name, each in declared.items() if each.unique)
        self.never_empty = tuple(name for name, each in declared.items() if _is_never_empty(each))
        self.nested = self._all_nested()
        all_filters = (*self._all_filters(), *(brought for trait in self.traits for brought in trait.filters(self)))
        self.filter_by_name: dict[str, Filter] = {}
        for each_filter in all_filters:
            bound = each_filter.bind(self.table)
            for name in (each_filter.name, *each_filter.aliases):
                self.filter_by_name.setdefault(name, bound)
        self.expand_by_name = {each.name: each for each in self.expands}
        self.expand_by_name |= {each.name: each for trait in self.traits for each in trait.expands(self)}
        self.nested_by_prefix = {each.prefix: each for each in self.nested}
        reopens = self.reopening.at if self.reopening is not None else ""
        self._due_columns = tuple(filter(None, (self.due_column, reopens)))
        self.alternatives = {
            other: name for name, each in declared.items() for other in each.alternatives if other not in declared
        }

    def has(self, trait: type[Trait]) -> bool:
        """Whether the type has this trait."""
        return trait in self._trait_classes

    def offers(self, operation: str) -> bool:
        """Whether an operation is available, such as "create" or "search"; "" is always available."""
        if operation == "search" and not self.has(Search):
            return False
        return not operation or bool(self.operations[operation])

    @property
    def options(self) -> frozenset[str]:
        """Its features as named in the API; every type has `records`."""
        return self.features | {"records"}

    def _table(self) -> Table:
        columns = [each.column() for each in self.fields.values() if each.stored and each.name != "id"]
        columns += [column for trait in self.traits for column in trait.columns]
        indexes = (*self.indexes, self.reopening.index) if self.reopening else self.indexes
        return Table(
            self.table_name or self.uri,
            [*columns, *self.columns],
            indexes,
            bumps=self.bumps,
            summary=self.summary,
            summary_index=self.summary_index,
            days=self.days,
            is_settled=self.is_settled,
            is_log=self.is_log,
        )

    def _all_filters(self) -> list[Filter]:
        """The filters of its fields and its own, the one for bare words first."""
        by_name: dict[str, Filter] = {"id": NumberFilter("id", "Record id.", "id")}
        if self.label_column in self.fields and not any(each.default for each in self.filters):
            note = f"Bare words are searched in the {self.label_column}."
            by_name["text"] = AllWords(note, self.label_column)
        by_name |= {brought.name: brought for field in self.fields.values() for brought in field.filters()}
        for each in self.filters:
            by_name.pop(each.name, None)
        return list(merge(self.filters, sorted(by_name.values(), key=_place), key=_place))

    def _all_nested(self) -> tuple[NestedRecord, ...]:
        """The nested records of its fields and its own."""
        by_prefix = {
            each.prefix: NestedRecord(each.prefix, each.target or "*", each.nested_note, each.name)
            for each in self.fields.values()
            if isinstance(each, Id) and each.has_nested
        }
        by_prefix |= {each.prefix: each for each in self.nested}
        return tuple(sorted(by_prefix.values(), key=lambda each: each.prefix))

    # -- hooks ------------------------------------------------------------------------------------------------------

    def before(self, fields: dict[str, Any]) -> dict[str, Any]:
        """Runs on the caller's thread, outside of the transaction, with a copy of the submitted fields, for work that
        is too slow for the writer, such as hashing a password. Returns the fields, with values replaced."""
        checks.precompute(self.checked, fields)
        return fields

    def prepare(self, change: Change, writing: Writing) -> None:
        """Runs inside the transaction, before the row is written: may add to the change, may raise."""

    def after_write(self, change: Change, writing: Writing) -> None:
        """Runs in the same transaction, after row, custom values and links are written: counters, activity entries."""

    def linked(self, id: int, context: str, other_id: int, adds: bool, writing: Writing) -> None:
        """Runs in the same transaction, after a link of the record was added or removed; may raise."""

    def wakes(self, change: Change) -> bool:
        """Whether the change may give the scheduler work that is due earlier than known."""
        return any(change.changes(name) and bool(change.value(name)) for name in self._due_columns)

    def check_delete(self, record: Record, writing: Writing) -> None:
        """May raise Conflict."""

    def after_delete(self, record: Record, writing: Writing) -> None:
        """Runs in the same transaction, to update references to the record."""

    def opened(self, record: Record, view: DictionaryContext) -> None:
        """Called inside a read that retrieved this record alone."""

    def export(self, tx: "Transaction", records: list[Record]) -> Exported:
        """Additional keys in the export lines of these records, besides columns and keys of traits."""
        return ()

    def texts(self, record: Record, writing: Writing) -> dict[str, str]:
        """The texts for the full-text index `text`."""
        return {}

    def label(self, record: Record) -> str:
        """The display name of the record."""
        return str(record.get(self.label_column) or "") or "(no name)"

    def named_in_links(self, record: Record, label: str) -> str:
        """The name of the record in the results of link and unlink."""
        return label

    def name_in_log(self, record: Record) -> str:
        """The name of the record in the activity log: its label, unless that is a secret."""
        return self.label(record)

    def labels(self, view: DictionaryContext, records: Sequence[Record]) -> dict[int, str]:
        """The labels of many records; types whose labels need other records override it."""
        return {record["id"]: self.label(record) for record in records}

    def privileged(self, change: Change, writing: Writing) -> None:
        """Checks the type's own rules about who may submit which value; may raise Forbidden."""

    def require_file_change(self, id: int, writing: Writing) -> None:
        """Checks whether the caller may attach a file to a record, or detach one; may raise Forbidden."""
        writing.require("update", self.uri, id)

    def url_path(self, record: Record) -> str:
        """The path of a record's page."""
        return paths.record(self.uri, record["id"])

    # -- rows -------------------------------------------------------------------------------------------------------

    def record(self, row: Sequence[Any]) -> Record:
        """Converts a row to a record: values by column name, maps and lists decoded."""
        record = dict(zip(self.table.names, row, strict=True))
        for name in self.structures:
            record[name] = json.loads(record[name])
        return record

    def row_values(self, values: Record) -> Record:
        """Converts values to columns: maps and lists become JSON text."""
        for name in self.structures:
            if name in values and not isinstance(values[name], str):
                values = values | {name: json.dumps(values[name], ensure_ascii=False)}
        return values

    # -- names ------------------------------------------------------------------------------------------------------

    def filter_named(self, name: str, scope: "SearchScope") -> Filter | None:
        """Returns the filter of this name, also for a pattern, such as `links.<type>`, or a custom field."""
        exact = self.filter_by_name.get(name)
        return exact if exact is not None else filter_patterns.pattern_filter(self, name, scope)

    @property
    def default_filter(self) -> Filter | None:
        """The filter for bare words."""
        return self.filter_by_name.get("text")

    def filter_names(self) -> list[str]:
        """Every filter name without patterns, for error messages."""
        return [name for name in self.filter_by_name if "<" not in name]

    def own_names(self) -> list[str]:
        """Every writable name, for error messages."""
        return [name for name, each in self.fields.items() if not each.immutable and "<" not in name]

    def unknown_field(self, name: str) -> str:
        return f"'{name[:80]}' is not a field of {self.uri}{nearest(name, self.own_names())}"

    def column(self, name: str) -> peewee.Column:
        """A column of its table, for composing statements."""
        return peewee.Column(self.table.sql, name)

    def all_events(self) -> list[Event]:
        """The activity points of its entries: its own, and those of administrative acts."""
        of_acts = [
            Event(f"{self.uri}.{act_sentences.WORDS[each]}", f"it was {act_sentences.WORDS[each]}")
            for each in sorted(self.acts)
        ]
        of_fields = [
            point for (uri, _), points in act_sentences.SWITCHES.items() if uri == self.uri for point in points
        ]
        switched = dict.fromkeys(of_fields)
        return [*self.events, *of_acts, *(Event(each, POINTS[each].name.lower()) for each in switched)]

    def sort_names(self) -> list[str]:
        """The names that `sort:` accepts."""
        names = [each.name for each in self.filter_by_name.values() if each.sortable]
        return sorted(set(names))

    def bind(self, registry: "Registry") -> None:
        """Called once when all built-in types are registered; custom types may be added and removed later."""


def _place(filter: Filter) -> tuple[bool, str]:
    """Sort key of filters: the one for bare words first, then by name."""
    return not filter.default, filter.name


def _is_never_empty(field: Field) -> bool:
    """Whether every record must have a value. Fields whose target is in another field are exempt: their value may be 0,
    as for the id of the app."""
    is_required = field.required and field.stored and not getattr(field, "blank_ok", False)
    return is_required and not getattr(field, "target_from", "")


def _acts(record_type: RecordType) -> frozenset[str]:
    """The operations that are administrative acts, which the activity log records."""
    return frozenset(
        operation
        for operation in act_sentences.ALL
        if "nobody" not in (rules := getattr(record_type.access, operation))
        and (record_type.is_administrative or "admins" in rules)
    )
