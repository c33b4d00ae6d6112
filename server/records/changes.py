"""The change log: which records were created, changed and deleted, in order. Entries are written in the transaction of
the change, published to subscribers, and retained for the setting `change_log_days`. The log contains no values: a
reader fetches the record. Records that the service writes about itself, such as log entries and notifications, are
not logged.

Ids rise with each row, so an id serves as the cursor of a reader."""

import json
from collections.abc import Callable, Collection, Hashable, Iterable
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

import peewee

from server.access.deleted_records import NOBODY, Owner, may_know, owner_of
from server.context import Context, Service
from server.dataclass import dataclass
from server.errors import Gone
from server.jobs.scheduler import periodic
from server.record_types.record_type import Record, RecordType
from server.record_types.shared.relation_tables import CHANGE
from server.records.dictionary import Dictionaries
from server.search.conditions import NEVER
from server.store.statements import in_list, slot
from server.store.store_local import VersionedLocal
from server.store.tables import Table
from server.store.transaction import Row, Transaction, equal_to, with_equal
from server.translation import N_

if TYPE_CHECKING:
    from server.records.writing import RecordWriter

Event = Literal["created", "updated", "deleted"]
CHANNEL = "changes"
DAY_SECONDS = 86400
MAX_RETAINED = 2_000_000  # changes, approximately; the oldest are removed first
SCANNED_ROWS = 10_000  # rows that one page scans for changes of its types; the next page continues after them
SKEW_SECONDS = 60  # a change may be this much older than one with a smaller id
SKIPPED = 1_000_000_000  # ids skipped after a restore: more than the changes since the backup
BATCH = 1000  # rows removed in one transaction
MAX_RESULTS = 2000  # cached results of `until_next`
Value = TypeVar("Value")
_LOG: Any = CHANGE.sql
_UNTIL_NEXT: VersionedLocal[dict[Hashable, Any]] = VersionedLocal()


def is_logged(record_type: RecordType) -> bool:
    """Whether changes of a type are in the log."""
    return not record_type.is_silent


# -- writing ----------------------------------------------------------------------------------------------------------


def log_change(
    writing: "RecordWriter",
    event: Event,
    record_type: RecordType,
    id: int,
    owner: Owner = NOBODY,
    *,
    is_stamped: bool = False,
) -> None:
    """Logs that a record was created, changed or deleted: once per record and transaction, so a new record is never
    also `updated`.

    is_stamped: whether the record already has the time of the change."""
    tx, key = writing.tx, ("change noted", record_type.context, id)
    if not is_logged(record_type) or (key in tx.memo and event != "deleted"):
        return
    tx.memo[key] = True
    if event == "updated" and record_type.changed_column and not is_stamped:
        tx.set(record_type.table, id, {record_type.changed_column: writing.now})
    tx.append(_row, (writing.now, record_type.context, event, *owner, id))
    writing.ctx.service.notify_after(tx, CHANNEL)


def _row() -> Any:
    columns = (_LOG.at, _LOG.context, _LOG.event, _LOG.owner__context, _LOG.owner_id, _LOG.record_id)
    return _LOG.insert({column: slot(place) for place, column in enumerate(columns)})


def log_deleted(writing: "RecordWriter", record_type: RecordType, record: Record) -> None:
    """Logs the deletion of a record, with its owner."""
    log_change(writing, "deleted", record_type, record["id"], owner_of(record_type, record))


def log_all_updated(writing: "RecordWriter", record_type: RecordType, equals: dict[str, Any]) -> None:
    """Logs changes of all records with these column values, before one statement changes them."""
    if not is_logged(record_type):
        return
    names, table = tuple(equals), record_type.table

    def build() -> Any:
        at = len(names)
        rows = equal_to(table, names, table.sql.id, slot(at), slot(at + 1), slot(at + 2))
        return _LOG.insert(rows, columns=(_LOG.record_id, _LOG.at, _LOG.context, _LOG.event))

    if record_type.changed_column:
        changed = (record_type.changed_column, *names)
        writing.tx.run(lambda: _stamping(table, changed), (writing.now, *equals.values()))
    writing.tx.run(build, (*equals.values(), writing.now, record_type.context, "updated"))
    writing.ctx.service.notify_after(writing.tx, CHANNEL)


def _stamping(table: Table, changed: tuple[str, ...]) -> Any:
    """Builds the update of the time column. changed: the time column, then the columns that select the records."""
    column, *names = changed
    return with_equal(table, table.sql.update({getattr(table.sql, column): slot(0)}), names, first=1)


def set_time_after(tx: Transaction, cursor: int, at: int) -> None:
    """Sets the time (Unix seconds) of the entries that this transaction wrote after a cursor. The log is pruned by
    time, so its times must rise even if the records have older ones."""
    tx.run(lambda: _LOG.update({_LOG.at: slot(0)}).where(_LOG.id > slot(1)), (at, cursor))


def invalidate_cursors(tx: Transaction) -> None:
    """Invalidates all cursors after a backup was restored: those from before the backup, and those issued after it,
    whose changes are undone."""
    tx.delete(CHANGE)
    tx.reserve(CHANGE, SKIPPED)


# -- reading ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LoggedChange:
    """A logged change. cursor: the id of its row. at: Unix seconds."""

    cursor: int
    type: str
    id: int
    event: Event
    at: int

    def shown(self) -> dict[str, Any]:
        return {"type": self.type, "id": self.id, "event": self.event, "at": self.at}


@dataclass(frozen=True, slots=True)
class ChangePage:
    """A page of changes, in order. cursor: where the next page starts. has_more: whether rows after the cursor exist
    already; a page with few changes or none can have more."""

    changes: list[LoggedChange]
    cursor: int
    has_more: bool


def now(tx: Transaction) -> int:
    """The cursor after the newest change."""
    if tx.store.is_shared:  # the last id of the sequence may belong to an open transaction
        last = tx.value(lambda: _LOG.select(peewee.fn.MAX(_LOG.id)))
        if last is not None:
            return int(last)
    return tx.next_ids(CHANGE, 1).start - 1


def until_next(tx: Transaction, key: Hashable, read: Callable[[], Value]) -> Value:
    """Returns what read() returns, cached until another change is logged. Many pages follow the log at the same cursor,
    so one of them reads for the others. key: everything besides the changes that the result depends on."""
    at = now(tx)
    known = _UNTIL_NEXT.get(tx.store, at)
    if known is None or len(known) >= MAX_RESULTS:
        known = {}
        _UNTIL_NEXT.set(tx.store, at, known)
    if key not in known:
        known[key] = read()
    return cast("Value", known[key])


def require_retained(tx: Transaction, cursor: int) -> int:
    """Returns the current cursor. Raises Gone if changes after the given cursor were removed, or if this database has
    not issued it."""
    last = now(tx)
    if not _first_kept(tx, last) - 1 <= cursor <= last:
        raise _gone(f"the changes since {cursor} are no longer stored", last)
    return last


def _first_kept(tx: Transaction, last: int) -> int:
    """The id of the oldest change in the log, or the next id if the log is empty."""
    return int(tx.value(lambda: _LOG.select(peewee.fn.MIN(_LOG.id))) or last + 1)


def _gone(what: str, last: int) -> Gone:
    how = "search for the records again, and continue from the cursor of a request without since"
    return Gone(f"{what}; {how}", cursor=last)


def cursor_at(tx: Transaction, at: int) -> int:
    """The cursor before the first change made at this Unix second or later. Raises Gone if changes made then may have
    been removed."""
    last = now(tx)
    low = first = _first_kept(tx, last)
    high = last + 1
    while low < high:  # times rise with ids, give or take SKEW_SECONDS
        middle = (low + high) // 2
        row = tx.rows(
            lambda: _LOG.select(_LOG.id, _LOG.at).where(_LOG.id >= slot(0)).order_by(_LOG.id).limit(1), (middle,)
        )
        if row and row[0][1] < at - SKEW_SECONDS:
            low = row[0][0] + 1
        else:
            high = middle
    first_id = tx.value(
        lambda: _LOG.select(peewee.fn.MIN(_LOG.id)).where(_LOG.id >= slot(0), _LOG.at >= slot(1)), (low, at)
    )
    if first > 1 and (first_id == first or first > last):
        raise _gone("some of the changes since then are no longer stored", last)
    return last if first_id is None else int(first_id) - 1


def page(ctx: Context, tx: Transaction, cursor: int, limit: int, uris: Collection[str]) -> ChangePage:
    """Returns up to `limit` changes after a cursor, of these record types, that the caller may read. Raises Gone."""
    seeing = Dictionaries(ctx, tx)
    types = _types(seeing, uris)
    rows, end, has_more = _after(tx, cursor, types, limit)
    return ChangePage([_logged_change(types[row[2]], row) for row in _readable(seeing, types, rows)], end, has_more)


def page_for_service(service: Service, tx: Transaction, cursor: int, limit: int, uris: Collection[str]) -> ChangePage:
    """Returns a page as `page` does, without checking read access. Raises Gone."""
    types = {each.context: each for each in service.registry if each.uri in uris}
    rows, end, has_more = _after(tx, cursor, types, limit)
    return ChangePage([_logged_change(types[row[2]], row) for row in rows], end, has_more)


def _types(seeing: Dictionaries, uris: Collection[str]) -> dict[str, RecordType]:
    """{context: type} of the logged types among these of which the caller may read at least some records."""
    return {
        each.context: each
        for each in seeing.registry
        if each.uri in uris and is_logged(each) and seeing.rules.readable(each) is not NEVER
    }


def _after(tx: Transaction, cursor: int, contexts: Iterable[str], limit: int) -> tuple[list[Row], int, bool]:
    """Returns up to `limit` rows after a cursor, the cursor after the scanned rows, and whether more rows follow.
    Raises Gone."""
    last = require_retained(tx, cursor)
    end = min(cursor + SCANNED_ROWS, last)
    rows = [] if cursor == end else _between(tx, cursor, end, contexts, limit)
    if len(rows) == limit:
        end = rows[-1][0]
    return rows, end, end < last


def _between(tx: Transaction, cursor: int, end: int, contexts: Iterable[str], limit: int) -> list[Row]:
    return tx.rows(
        lambda: (
            _LOG.select(*CHANGE.all_columns)
            .where(_LOG.id > slot(0), _LOG.id <= slot(1), in_list(_LOG.context, slot(2)))
            .order_by(_LOG.id)
            .limit(slot(3))
        ),
        (cursor, end, json.dumps(sorted(contexts)), limit),
    )


def _readable(seeing: Dictionaries, types: dict[str, RecordType], rows: list[Row]) -> list[Row]:
    """The rows of records that the caller may read now; at most one statement per type."""
    there: dict[str, set[int]] = {}
    for _, _, context, id, event, _, _ in rows:
        if event != "deleted":
            there.setdefault(context, set()).add(id)
    readable = {context: seeing.readable_ids(types[context].uri, ids) for context, ids in there.items()}
    return [row for row in rows if _may_know(seeing, types[row[2]], row, readable)]


def _may_know(seeing: Dictionaries, record_type: RecordType, row: Row, readable: dict[str, set[int]]) -> bool:
    _, _, context, id, event, owner, owner_id = row
    if event == "deleted":
        return may_know(seeing.rules, record_type, (owner, owner_id))
    return id in readable[context]


def _logged_change(record_type: RecordType, row: Row) -> LoggedChange:
    cursor, at, _, id, event, _, _ = row
    return LoggedChange(cursor, record_type.uri, id, event, at)


# -- clearing out -----------------------------------------------------------------------------------------------------


@periodic(
    N_("old changes"), N_("Deletes entries of the change log that are older than the setting allows."), deletes=True
)
def forget_old(service: Service, now: int) -> None:
    """Removes changes that are older than the setting `change_log_days`, and the oldest beyond MAX_RETAINED."""
    before = now - service.settings.change_log_days * DAY_SECONDS
    while up_to := service.store.read(lambda tx: _old_up_to(tx, before)):
        service.store.write(
            lambda tx, up_to=up_to: tx.run(  # type: ignore[misc]
                lambda: _LOG.delete().where(_LOG.id <= slot(0)), (up_to,)
            )
        )


def _old_up_to(tx: Transaction, before: int) -> int:
    """The id up to which old changes are removed, fewer than BATCH at once; 0 if there are none. The newest old change
    stays: it marks the time since which the log is complete."""
    oldest = tx.rows(lambda: _LOG.select(_LOG.id, _LOG.at).order_by(_LOG.id).limit(slot(0)), (BATCH,))
    beyond = now(tx) - MAX_RETAINED
    removable = [id for id, at in oldest if at < before or id <= beyond]
    return max(removable[:-1], default=0)
