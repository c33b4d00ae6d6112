"""The parts of a declaration, and the protocols that its hooks and loaders use.

RecordType in record_type.py combines them."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, Literal, Protocol

from server.dataclass import dataclass
from server.store.tables import Index

if TYPE_CHECKING:
    from server.context import Context
    from server.record_types.record_type import RecordType
    from server.record_types.registry import Registry
    from server.search.conditions import Condition
    from server.store.transaction import Transaction

Record = dict[str, Any]  # values of a row by column name, including `id`
Feature = Literal["attachments", "avatars", "comments", "custom_fields", "links", "owner", "search", "watchers"]


@dataclass(frozen=True)
class Key:
    """A key of the dictionary that is not a field of the same name.

    value: computes it from the record; None if an Expand of the same name loads it. column: copies this column.
    again: copies another key of the dictionary. on_expand: only included on request."""

    name: str
    type: str
    note: str
    value: Callable[[Record, "DictionaryContext"], Any] | None = None
    column: str = ""
    again: str = ""
    on_expand: bool = False
    target: str = ""
    origin: str = ""


@dataclass(frozen=True)
class NestedRecord:
    """A record that this one points to: its keys appear under `<prefix>_` when expanded; `<prefix>__context` and
    `<prefix>_id` are always there. column: holds its id. target "*": the column `<prefix>__context` names the type.
    stub: whether the two keys are in the default dictionary. is_nullable: a missing id is null, not 0."""

    prefix: str
    target: str
    note: str
    column: str = ""
    stub: bool = True
    is_nullable: bool = False

    @property
    def id_column(self) -> str:
        return self.column or f"{self.prefix}_id"


Loader = Callable[["DictionaryContext", list[Record], str], dict[int, dict[str, Any]]]


@dataclass(frozen=True)
class Expand:
    """A value computed on request for many records at once.

    load(view, records, form) returns {record id: {key: value}}; `form` follows the name: "~5", ".ticket", ":key" or
    "". common: works the same on every type with the feature. reads: the type of the records whose data it contains,
    if its values are not dictionaries of them."""

    name: str
    type: str
    note: str
    load: Loader
    target: str = ""
    common: bool = False
    origin: str = ""
    reads: str = ""


@dataclass(frozen=True)
class Access:
    """Who may perform an operation, by the names of rules in access/rules.py. All rules of an operation must hold.
    Administrators may do everything except operations with the rule `nobody`.

    read: any worker, admins, group (a ticket's), macro owner, owner, worker (`worker_id`), attached, target; bot,
    calendar, page, tab, ticket (as that record); rating (a readable ticket's, of the worker, a managed group or all).

    The others: privilege, admins, nobody, group members (a ticket's), group managers (`group_id`'s), group manager
    (of the group itself), owner, worker, author; calendar, fieldset, page, tab, ticket (may change that record); bot
    (may act for its owner).

    write: the default rules of create, update and delete. publish: of an operation that only some types have, which
    shows records to people outside."""

    read: str
    write: tuple[str, ...]
    create: tuple[str, ...] = ()
    update: tuple[str, ...] = ()
    delete: tuple[str, ...] = ()
    publish: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for operation in ("create", "update", "delete"):
            object.__setattr__(self, operation, getattr(self, operation) or self.write)


@dataclass(frozen=True)
class Subtotals:
    """The names that can be counted. search: names for `subtotals[]`. virtual: additional names of `by:` in data
    queries. aliases: short forms in both. older: former names in searches, for existing scripts. `by:` also accepts
    the names that can be sorted by, and `also`."""

    search: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    virtual: tuple[str, ...] = ()
    aliases: dict[str, str] = field(default_factory=dict)
    older: dict[str, str] = field(default_factory=dict)

    def meant(self, name: str) -> str:
        """The name of `subtotals[]` that a short or former name stands for, or the name itself."""
        if name in self.search:
            return name
        full_name = self.older.get(name) or self.aliases.get(name, name)
        return full_name if full_name in self.search else name


@dataclass(frozen=True)
class Event:
    """An activity point that the type writes."""

    point: str
    when: str


@dataclass(frozen=True)
class Reopening:
    """A type whose records reopen when the time in column `at` has come.

    status: the column that changes. waiting: the values that reopen. open: the new value."""

    status: str
    waiting: tuple[int, ...]
    open: int
    at: str

    @property
    def index(self) -> Index:
        # The status comes first, or SQLite chooses a larger index that begins with it.
        return Index((self.status, self.at), "records due to open again", where=self.is_waiting)

    @property
    def is_waiting(self) -> str:
        """The condition of the partial index; SQLite uses it only for queries with the same condition."""
        return f"{self.status} IN ({', '.join(map(str, self.waiting))}) AND {self.at} > 0"


@dataclass
class Change:
    """A create or update in progress. `new` holds columns, `extras` values without a column, `sent` the submitted
    names, `also_changed` names for the activity log besides columns.

    Hooks may add to `new`; it is written after `prepare`."""

    type: "RecordType"
    id: int
    old: Record | None
    new: Record
    extras: dict[str, Any]
    sent: frozenset[str]
    also_changed: list[str] = field(default_factory=list)

    @property
    def is_create(self) -> bool:
        return self.old is None

    def value(self, column: str) -> Any:
        """The value after the change."""
        if column in self.new:
            return self.new[column]
        return self.old[column] if self.old is not None else self.type.initial[column]

    def was(self, column: str) -> Any:
        """The value before the change; the initial one on create."""
        return self.old[column] if self.old is not None else self.type.initial[column]

    def changes(self, column: str) -> bool:
        """Whether the value changes."""
        return self.value(column) != self.was(column)


class Caller(Protocol):
    """The actor: a worker, or the service itself (worker_id 0, is_admin)."""

    @property
    def context(self) -> str: ...
    @property
    def id(self) -> int: ...
    @property
    def is_admin(self) -> bool: ...
    @property
    def timezone(self) -> str: ...
    @property
    def name(self) -> str: ...
    def may(self, privilege: str) -> bool: ...


class Reading(Protocol):
    """Reads records inside a transaction. Implemented by RecordReader in records/reading.py."""

    ctx: "Context"
    tx: "Transaction"
    now: int
    registry: "Registry"

    @property
    def actor(self) -> Caller: ...

    def record(self, uri: str, id: int) -> Record | None:
        """The record, regardless of access; None if there is none."""

    def find(self, uri: str, **equals: Any) -> Record | None:
        """The first record with these column values."""

    def label(self, uri: str, id: int) -> str:
        """The display name of a record, "" if there is none."""

    def search_ids(self, uri: str, query: str) -> list[int]:
        """The ids that a search finds with the access of the service, at most 100,000."""

    def may_read(self, uri: str, id: int) -> bool:
        """Whether the caller may read this record."""

    def require(self, operation: str, uri: str, id: int) -> None:
        """Raises Forbidden unless the caller may `read`, `update`, `delete` or `publish` this record."""

    def setting(self, name: str) -> Any:
        """A setting of the process or of the service."""


class Writing(Reading, Protocol):
    """The operations for hooks inside the transaction. Implemented by RecordWriter in records/writing.py.

    is_confirmed: whether the caller deletes a record although others use it."""

    is_confirmed: bool

    def create(self, uri: str, values: dict[str, Any]) -> int:
        """Creates a record from stored values, with its hooks, without checking privileges; returns its id."""

    def update(self, uri: str, id: int, values: dict[str, Any]) -> None:
        """Updates columns, with the type's hooks, without checking privileges."""

    def set(self, uri: str, id: int, values: dict[str, Any]) -> None:
        """Updates columns only: no hooks, no events. For counters and pointers."""

    def touch(self, uri: str, **equals: Any) -> None:
        """Logs a change of records whose data outside of their row changes, or that one statement is about to change.
        equals: their column values, `id` for one record."""

    def delete(self, uri: str, id: int) -> None:
        """Deletes a record with its data, without checking privileges."""

    def log(
        self,
        point: str,
        context: str,
        id: int,
        variables: dict[str, str],
        also_notify: tuple[int, ...] = (),
        about: tuple[str, int] = ("", 0),
        urls: dict[str, str] | None = None,
    ) -> None:
        """Writes an activity entry on a record, and notifies its owner, its watchers and the workers `also_notify`.
        about: context and id of a second record named in the entry. urls: address by placeholder."""

    def notify(
        self, worker_id: int, point: str, message: str, context: str, id: int, variables: dict[str, str]
    ) -> None:
        """Notifies one worker about a record, unless the worker is the actor or may not read it. message: a text with
        `{{variables}}`."""

    def texts_changed(self, uri: str, id: int) -> None:
        """Updates the full-text index of a record after a change of other records that its texts use."""

    def wake(self) -> None:
        """Wakes the scheduler once the transaction is committed."""

    def run_automations(self, job: str, values: dict[str, Any]) -> None:
        """Adds a job that runs automations for the actor after the commit, unless changes of this context trigger
        none."""


class DictionaryContext(Protocol):
    """What keys and loaders use to render records."""

    tx: "Transaction"
    now: int

    @property
    def actor(self) -> Caller: ...

    def url(self, type: "RecordType", record: Record) -> str:
        """The absolute address of a record's page."""

    def address(self, path: str) -> str:
        """The absolute address of a path of the service, which begins with a slash."""

    def webhook_url(self, token: str) -> str:
        """The absolute address to which requests to a webhook are sent."""

    def type(self, name: str) -> "RecordType":
        """The record type of a uri, alias or context. Raises NotFound."""

    def find_type(self, name: str) -> "RecordType | None":
        """The record type of a uri, alias or context, None if unknown."""

    def readable_ids(self, uri: str, ids: Iterable[int]) -> set[int]:
        """The ids that the caller may read; without a statement for a type that everybody may read."""

    def readable(self, uri: str) -> "Condition":
        """The condition for records of a type that the caller may read."""

    def covers(self, uri: str) -> bool:
        """Whether the scopes of the caller's token cover records of a type."""

    def records(self, uri: str, ids: Iterable[int]) -> list[Record]:
        """The records with these ids that the caller may read, by id, in one statement."""

    def dictionaries(self, uri: str, records: Sequence[Record], expand: str = "") -> list[dict[str, Any]]:
        """The dictionaries of records, expanded along `expand`, in the same order."""
