"""The parts that declarations of record types are made of, and what their hooks and loaders may use.

Values and protocols only; RecordType in base.py puts them together."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, Literal, Protocol

from server.dataclass import dataclass
from server.store.tables import Index

if TYPE_CHECKING:
    from server.context import Context
    from server.record_types.base import RecordType
    from server.record_types.registry import Registry
    from server.search.conditions import Condition
    from server.store.transaction import Transaction

Record = dict[str, Any]  # a row by column name, `id` included
Feature = Literal["attachments", "avatars", "comments", "custom_fields", "links", "owner", "search", "watchers"]


@dataclass(frozen=True)
class Key:
    """One name of the dictionary that has no field of the same name.

    value: computes it from the record; None: `load` of an Expand of the same name does. column: shows this column.
    again: shows this key of the dictionary once more. on_expand: only there when asked for."""

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
    """A record behind this one: its keys appear under `<prefix>_` once expanded; `<prefix>__context` and `<prefix>_id`
    are there before. column: holds its id. target "*": `<prefix>__context` is a column and names the type.
    stub: whether the two keys are in the default answer. is_nullable: the id is null, not 0, where there is none."""

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
    """Something computed on request for many records at once.

    load(shown, records, form) answers {record id: {key: value}}; `form` is what followed the name: "~5", ".ticket",
    ":key" or "". common: works the same on every type with the feature. reads: the type of the records that it tells
    of, where its values are not their dictionaries."""

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
    """Who may do what, by the names of access/rules.py. All rules of an operation must hold; administrators need none
    but `nobody`.

    read: any worker, admins, group (a ticket's), owner, worker (`worker_id`), attached, target; bot, calendar, page,
    tab, ticket (as that record).
    The others: privilege, admins, nobody, group members (a ticket's), group managers (`group_id`'s), group manager (of
    the group itself), owner, worker, author; calendar, fieldset, page, tab, ticket (may change that record); bot (may
    act for its owner).

    write: the rules of create, update and delete that have none of their own."""

    read: str
    write: tuple[str, ...]
    create: tuple[str, ...] = ()
    update: tuple[str, ...] = ()
    delete: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for operation in ("create", "update", "delete"):
            object.__setattr__(self, operation, getattr(self, operation) or self.write)


@dataclass(frozen=True)
class Subtotals:
    """What can be counted. search: names for `subtotals[]`. virtual: further names of `by:` in data queries.
    aliases: shorter spellings there and in searches. older: further ones of searches, that scripts still use. The names
    of `by:` itself are those that can be sorted by, and `also`."""

    search: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    virtual: tuple[str, ...] = ()
    aliases: dict[str, str] = field(default_factory=dict)
    older: dict[str, str] = field(default_factory=dict)

    def meant(self, name: str) -> str:
        """The name of `subtotals[]` that a shorter or older one stands for; itself when it does for none."""
        if name in self.search:
            return name
        known = self.older.get(name) or self.aliases.get(name, name)
        return known if known in self.search else name


@dataclass(frozen=True)
class Event:
    """An activity point that the type writes."""

    point: str
    when: str


@dataclass(frozen=True)
class Reopening:
    """A type whose records open again by themselves when the time in column `at` has come.

    status: the column that changes. waiting: the values in which a record waits for it. open: the value it gets."""

    status: str
    waiting: tuple[int, ...]
    open: int
    at: str

    @property
    def index(self) -> Index:
        # With the status in front, or SQLite takes a larger index that begins with it.
        return Index((self.status, self.at), "records due to open again", where=self.is_waiting)

    @property
    def is_waiting(self) -> str:
        """The condition of the partial index; SQLite takes it only for a query that says the same words."""
        return f"{self.status} IN ({', '.join(map(str, self.waiting))}) AND {self.at} > 0"


@dataclass
class Change:
    """One create or update on its way. `new` holds columns, `extras` what has no column, `sent` the names as sent,
    `also_changed` what the activity log is to name beside columns.

    Hooks may put more into `new`; what is in it when `prepare` is over is written."""

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
        """The value before it; the initial one on create."""
        return self.old[column] if self.old is not None else self.type.initial[column]

    def changes(self, column: str) -> bool:
        """Whether the value is another one afterwards."""
        return self.value(column) != self.was(column)


class Caller(Protocol):
    """Who acts: a worker, or the service itself (worker_id 0, is_admin)."""

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


class Reading(Protocol):
    """What looks at records inside a transaction. records/reading.py is the one that does it."""

    ctx: "Context"
    tx: "Transaction"
    now: int
    registry: "Registry"

    @property
    def actor(self) -> Caller: ...

    def record(self, uri: str, id: int) -> Record | None:
        """The record, whoever may read it; None when there is none."""

    def find(self, uri: str, **equals: Any) -> Record | None:
        """The first record with these column values."""

    def label(self, uri: str, id: int) -> str:
        """What people call a record, "" when there is none."""

    def search_ids(self, uri: str, query: str) -> list[int]:
        """The ids that a search finds, as the service sees it, at most 100,000."""

    def may_read(self, uri: str, id: int) -> bool:
        """Whether the caller may read this record."""

    def require(self, operation: str, uri: str, id: int) -> None:
        """Raises Forbidden unless the caller may `read`, `update` or `delete` this record."""

    def setting(self, name: str) -> Any:
        """A setting of the process or of the service."""


class Writing(Reading, Protocol):
    """What hooks may use inside the transaction. records/writing.py is the one that does it.

    is_confirmed: whether the caller deletes a record although others use it."""

    is_confirmed: bool

    def create(self, uri: str, values: dict[str, Any]) -> int:
        """Add a record from stored values, with its hooks, without asking for privileges. Answers its id."""

    def update(self, uri: str, id: int, values: dict[str, Any]) -> None:
        """Change columns, with the type's hooks, without asking for privileges."""

    def set(self, uri: str, id: int, values: dict[str, Any]) -> None:
        """Change columns only: no hooks, no events. For counters and pointers."""

    def touch(self, uri: str, **equals: Any) -> None:
        """Note that records change: in what stands beside their row, or by one statement for many, before it runs.
        equals: their column values, `id` for one record."""

    def delete(self, uri: str, id: int) -> None:
        """Remove a record with all that hangs on it, without asking for privileges."""

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
        """Write an activity entry on a record, and notify its owner, those who watch it and the workers `also_notify`.
        about: context and id of a second record that the entry names. urls: placeholder to address."""

    def notify(
        self, worker_id: int, point: str, message: str, context: str, id: int, variables: dict[str, str]
    ) -> None:
        """Notify one worker about a record that they may read, of what they did not do themselves. message: a text with
        `{{variables}}`."""

    def texts_changed(self, uri: str, id: int) -> None:
        """Index a record's texts again; when what they are made of stands in other records."""

    def wake(self) -> None:
        """Let the scheduler look for what is due once the transaction is on disk."""


class DictionaryContext(Protocol):
    """What keys and loaders may use while records are shown."""

    tx: "Transaction"
    now: int

    @property
    def actor(self) -> Caller: ...

    def url(self, type: "RecordType", record: Record) -> str:
        """The absolute address of a record's page."""

    def address(self, path: str) -> str:
        """The absolute address of a path of ours, which begins with a slash."""

    def webhook_url(self, token: str) -> str:
        """The absolute address that requests to a webhook are sent to."""

    def type(self, name: str) -> "RecordType":
        """The record type of a uri, alias or context. Raises NotFound."""

    def find_type(self, name: str) -> "RecordType | None":
        """As type, None for an unknown one."""

    def readable_ids(self, uri: str, ids: Iterable[int]) -> set[int]:
        """Those of these ids that the caller may read; without a statement for a type that everybody may read."""

    def readable(self, uri: str) -> "Condition":
        """The condition on what the caller may read of a type."""

    def covers(self, uri: str) -> bool:
        """Whether the scopes of the caller's token cover records of a type."""

    def records(self, uri: str, ids: Iterable[int]) -> list[Record]:
        """Those with these ids that the caller may read, in id order, in one statement."""

    def dictionaries(self, uri: str, records: Sequence[Record], expand: str = "") -> list[dict[str, Any]]:
        """The dictionaries of records, opened along `expand`, in the same order."""
