"""Record types are declared once, here is of what: fields, keys, filters, and the few hooks that a type may have.

REST, search, packages, forms and the reference pages read the declaration; nothing else says what a type has.
Not for what is done with records: that is desk/."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

import peewee

from server.errors import nearest
from server.fields.base import Field
from server.fields.structure import Structure
from server.records.shared import features as common
from server.search.filters.base import Filter
from server.store.fulltext import Text as TextIndex
from server.store.tables import Column, Index, Table

if TYPE_CHECKING:
    from server.records.registry import Registry
    from server.search.compile import Scope
    from server.store.transaction import Transaction

Record = dict[str, Any]  # a row by column name, `id` included
Feature = Literal["attachments", "avatars", "comments", "custom_fields", "links", "owner", "search", "watchers"]


@dataclass(frozen=True)
class Key:
    """One name of the dictionary that has no field of the same name.

    value: computes it from the record; None: `load` of an Expand of the same name does. column: shows this column.
    on_expand: only there when asked for."""

    name: str
    type: str
    note: str
    value: Callable[[Record, "Shown"], Any] | None = None
    column: str = ""
    on_expand: bool = False
    target: str = ""
    origin: str = ""


@dataclass(frozen=True)
class Nested:
    """A record behind this one: its keys appear under `<prefix>_` once expanded; `<prefix>__context` and `<prefix>_id`
    are there before. column: holds its id. target "*": `<prefix>__context` is a column and names the type.
    stub: whether the two keys are in the default answer."""

    prefix: str
    target: str
    note: str
    column: str = ""
    stub: bool = True

    @property
    def id_column(self) -> str:
        return self.column or f"{self.prefix}_id"


Loader = Callable[["Shown", list[Record], str], dict[int, dict[str, Any]]]


@dataclass(frozen=True)
class Expand:
    """Something computed on request for many records at once.

    load(shown, records, form) answers {record id: {key: value}}; `form` is what followed the name: "~5", ".ticket",
    ":key" or "". common: works the same on every type with the feature."""

    name: str
    type: str
    note: str
    load: Loader
    target: str = ""
    common: bool = False
    origin: str = ""


@dataclass(frozen=True)
class Access:
    """Who may do what, by the names of access/rules.py. All rules of an operation must hold; administrators need none
    but `nobody`.

    read: any worker, admins, group (a ticket's), ticket (a message's), owner, worker (`worker_id`), attached, target.
    The others: privilege, admins, nobody, group members (a ticket's), group managers (`group_id`'s), group manager (of
    the group itself), ticket (may change the message's), owner, worker, author, fieldset (a custom field's)."""

    read: str
    create: tuple[str, ...]
    update: tuple[str, ...]
    delete: tuple[str, ...]


@dataclass(frozen=True)
class Subtotals:
    """What can be counted. search: names for `subtotals[]`. virtual: further names of `by:` in data queries.
    aliases: shorter spellings there. The names of `by:` itself are those that can be sorted by, and `also`."""

    search: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    virtual: tuple[str, ...] = ()
    aliases: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Event:
    """An activity point that the type writes."""

    point: str
    when: str


@dataclass
class Change:
    """One create or update on its way. `new` holds columns, `extras` what has no column, `sent` the names as sent.

    Hooks may put more into `new`; what is in it when `prepare` is over is written."""

    type: "RecordType"
    id: int
    old: Record | None
    new: Record
    extras: dict[str, Any]
    sent: frozenset[str]

    @property
    def is_create(self) -> bool:
        return self.old is None

    def value(self, column: str) -> Any:
        """The value after the change."""
        if column in self.new:
            return self.new[column]
        return self.old[column] if self.old is not None else self.type.initial[column]

    def was(self, column: str) -> Any:
        """The value before it; the initial one on create."""
        return self.old[column] if self.old is not None else self.type.initial[column]

    def changes(self, column: str) -> bool:
        """Whether the value is another one afterwards."""
        return self.value(column) != self.was(column)


class Caller(Protocol):
    """Who acts: a worker, or the service itself (worker_id 0, is_admin)."""

    context: str
    id: int
    is_admin: bool
    timezone: str


class Writing(Protocol):
    """What hooks may use inside the transaction. desk/writing.py is the one that does it."""

    tx: "Transaction"
    now: int
    actor: Caller

    def record(self, uri: str, id: int) -> Record | None:
        """The record, whoever may read it; None when there is none."""

    def find(self, uri: str, **equals: Any) -> Record | None:
        """The first record with these column values."""

    def create(self, uri: str, values: dict[str, Any]) -> int:
        """Add a record from stored values, with its hooks, without asking for privileges. Answers its id."""

    def update(self, uri: str, id: int, values: dict[str, Any]) -> None:
        """Change columns, with the type's hooks, without asking for privileges."""

    def set(self, uri: str, id: int, values: dict[str, Any]) -> None:
        """Change columns only: no hooks, no events. For counters and pointers."""

    def delete(self, uri: str, id: int) -> None:
        """Remove a record with all that hangs on it, without asking for privileges."""

    def log(self, point: str, context: str, id: int, variables: dict[str, str]) -> int:
        """Write an activity entry on a record, and notify those who watch it. Answers the entry's id."""

    def label(self, uri: str, id: int) -> str:
        """What people call a record, "" when there is none."""

    def search_ids(self, uri: str, query: str) -> list[int]:
        """The ids that a search finds, as the service sees it, at most 100,000."""

    def require(self, operation: str, uri: str, id: int) -> None:
        """Raises Forbidden unless the caller may `read`, `update` or `delete` this record."""

    def setting(self, name: str) -> Any:
        """A setting of the process or of the service."""

    def texts_changed(self, uri: str, id: int) -> None:
        """Index a record's texts again; when what they are made of stands in other records."""


class Shown(Protocol):
    """What keys and loaders may use while records are shown."""

    tx: "Transaction"
    now: int
    actor: Caller

    def url(self, type: "RecordType", record: Record) -> str:
        """The absolute address of a record's page."""

    def address(self, path: str) -> str:
        """The absolute address of a path of ours, which begins with a slash."""

    def type(self, name: str) -> "RecordType":
        """The record type of a uri, alias or context. Raises NotFound."""
    def records(self, uri: str, ids: Iterable[int]) -> list[Record]:
        """Those with these ids that the caller may read, in id order, in one statement."""

    def dictionaries(self, uri: str, records: Sequence[Record], expand: str = "") -> list[dict[str, Any]]:
        """The dictionaries of records, opened along `expand`, in the same order."""


class RecordType:
    """The base of all. The order of `fields` is that of the columns."""

    uri: ClassVar[str] = ""
    context: ClassVar[str] = ""
    aliases: ClassVar[tuple[str, ...]] = ()
    label_names: ClassVar[tuple[str, str]] = ("", "")
    tier: ClassVar[int] = 1
    lookup: ClassVar[str] = ""
    features: ClassVar[frozenset[str]] = frozenset()
    operations: ClassVar[dict[str, Any]] = {
        "retrieve": True, "search": True, "create": True, "update": True, "delete": True,
    }
    access: ClassVar[Access]
    fields: dict[str, Field] = {}
    columns: ClassVar[tuple[Column, ...]] = ()
    indexes: ClassVar[tuple[Index, ...]] = ()
    summary: ClassVar[tuple[str, ...]] = ()
    bumps: ClassVar[dict[str, tuple[str, ...]]] = {}
    text: ClassVar[TextIndex | None] = None
    nested: ClassVar[tuple[Nested, ...]] = ()
    keys: ClassVar[tuple[Key, ...]] = ()
    expands: ClassVar[tuple[Expand, ...]] = ()
    filters: ClassVar[tuple[Filter, ...]] = ()
    subtotals: ClassVar[Subtotals] = Subtotals()
    events: ClassVar[tuple[Event, ...]] = ()
    label_column: ClassVar[str] = "name"
    label_on_expand: ClassVar[bool] = False
    has_url: ClassVar[bool] = True
    org_column: ClassVar[str] = ""  # where `org.<custom field>` filters look for the organization
    has_fieldset_filter: ClassVar[bool] = True
    has_links_filter: ClassVar[bool] = True
    tables: ClassVar[tuple[Table, ...]] = ()  # further tables that belong to the type

    def __init__(self) -> None:
        declared = {**type(self).fields, **common.fields(self.features)}
        for name, each in declared.items():
            each.name = name
        self.fields = declared
        self.table = self._table()
        self.initial: Record = {column.name: column.initial for column in self.table.columns} | {"id": 0}
        self.structures = tuple(name for name, each in declared.items() if isinstance(each, Structure) and each.stored)
        listed = (*self.filters, *common.filters(self))
        self.filter_by_name: dict[str, Filter] = {}
        for each_filter in listed:
            bound = each_filter.bind(self.table)
            for name in (each_filter.name, *each_filter.aliases):
                self.filter_by_name.setdefault(name, bound)
        self.expand_by_name = {each.name: each for each in (*self.expands, *common.expands(self))}
        self.nested_by_prefix = {each.prefix: each for each in self.nested}
        self.alternatives = {
            other: name for name, each in declared.items() for other in each.alternatives if other not in declared
        }

    def _table(self) -> Table:
        columns = [each.column() for each in self.fields.values() if each.stored and each.name != "id"]
        if "avatars" in self.features:
            columns.append(Column("image_blob_id"))
        return Table(
            self.uri, [*columns, *self.columns], self.indexes, bumps=self.bumps, summary=self.summary
        )

    # -- hooks ------------------------------------------------------------------------------------------------------

    def prepare(self, change: Change, writing: Writing) -> None:
        """Inside the transaction, before the row is written: may put more into the change, may raise."""

    def after_write(self, change: Change, writing: Writing) -> None:
        """Same transaction, after the row, its custom values and links: counters, activity entries."""

    def check_delete(self, record: Record, writing: Writing) -> None:
        """May raise Conflict."""

    def after_delete(self, record: Record, writing: Writing) -> None:
        """Same transaction: what pointed to the record."""

    def texts(self, record: Record, writing: Writing) -> dict[str, str]:
        """The texts for the full-text index `text`."""
        return {}

    def label(self, record: Record) -> str:
        """What people call this record."""
        return str(record.get(self.label_column) or "") or "(no name)"

    def labels(self, shown: Shown, records: Sequence[Record]) -> dict[int, str]:
        """The labels of many records; a type whose labels need other records replaces it."""
        return {record["id"]: self.label(record) for record in records}

    def privileged(self, change: Change, writing: Writing) -> None:
        """A type's own rules of who may send which value; may raise Forbidden."""

    def url_path(self, record: Record) -> str:
        """The path of a record's page."""
        return f"/profiles/{self.uri}/{record['id']}"

    # -- rows -------------------------------------------------------------------------------------------------------

    def record(self, row: Sequence[Any]) -> Record:
        """A row by column name; maps and lists decoded."""
        record = dict(zip(self.table.names, row, strict=True))
        for name in self.structures:
            record[name] = json.loads(record[name])
        return record

    def row_values(self, values: Record) -> Record:
        """Columns as stored: maps and lists as JSON text."""
        for name in self.structures:
            if name in values and not isinstance(values[name], str):
                values = values | {name: json.dumps(values[name], ensure_ascii=False)}
        return values

    # -- names ------------------------------------------------------------------------------------------------------

    def filter_named(self, name: str, scope: "Scope") -> Filter | None:
        """The filter of this name, also one made of a pattern such as `links.<type>` or of a custom field."""
        found = self.filter_by_name.get(name)
        return found if found is not None else common.pattern_filter(self, name, scope)

    @property
    def default_filter(self) -> Filter | None:
        """The filter that bare words go to."""
        return self.filter_by_name.get("text")

    def filter_names(self) -> list[str]:
        """Every plain name, for errors."""
        return [name for name in self.filter_by_name if "<" not in name]

    def own_names(self) -> list[str]:
        """Every writable name, for errors."""
        return [name for name, each in self.fields.items() if not each.immutable and "<" not in name]

    def unknown_field(self, name: str) -> str:
        return f"'{name[:80]}' is not a field of {self.uri}{nearest(name, self.own_names())}"

    def column(self, name: str) -> peewee.Column:
        """A column of its table, for composing statements."""
        return peewee.Column(self.table.sql, name)

    def describe(self) -> dict[str, Any]:
        """The declaration as data."""
        from server.records.describe import describe

        return describe(self)

    def sort_names(self) -> list[str]:
        """The names that `sort:` takes."""
        names = [each.name for each in self.filter_by_name.values() if each.sortable]
        return sorted(set(names))

    def bind(self, registry: "Registry") -> None:
        """Called once when all types are known."""

