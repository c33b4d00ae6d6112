"""A read or write transaction: runs cached statements and handles rows by id.

Store.read and Store.write begin and end transactions."""

import json
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import peewee

from server.store.known_rows import KnownRows, Row, as_stored
from server.store.statement_shapes import Builder
from server.store.statements import Statement, StatementCache, in_list, slot
from server.store.tables import Table, table_named

if TYPE_CHECKING:
    from server.store.database import Store

MAX_QUICK_VALUES = 200  # bound by one statement; composing and compiling longer ones blocks the event loop for too long

UNKNOWN: dict[str, Any] = {}
_VERSION = table_named("version")
_IDS: Any = table_named("sqlite_sequence")  # where SQLite stores the last id of each table
Result = TypeVar("Result")
Callback = tuple[bool, Callable[[], None]]  # whether it runs before the waiter wakes


class Transaction:
    """One snapshot for reads; for the writer, one unit of change.

    `statements` counts the executed statements, for the log line and for tests that bound it."""

    __slots__ = (
        "store",
        "connection",
        "can_write",
        "statements",
        "_cache",
        "_callbacks",
        "memo",
        "has_savepoints",
        "is_spoiled",
        "_rows",
        "_settled",
        "_queued",
        "as_indexed",
        "lacks_texts",
    )

    def __init__(self, store: "Store", connection: Any, cache: StatementCache, can_write: bool) -> None:
        self.store = store
        self.connection = connection
        self.can_write = can_write
        self.statements = 0
        self._cache = cache
        self._callbacks: list[Callback] = []
        self.memo: dict[Hashable, Any] = {}
        self.has_savepoints = (
            True  # False: a partial failure spoils the transaction, and the writer retries it with savepoints
        )
        self.is_spoiled = False
        self._rows = self._settled = KnownRows()
        self._queued: dict[Builder, list[Sequence[Any]]] = {}  # queued rows of logs
        self.as_indexed = (
            False  # whether word searches use the indexes as they are; otherwise waiting texts are indexed first
        )
        self.lacks_texts = False  # whether such a search missed texts that a full disk kept from being indexed

    def share(self, settled: KnownRows) -> None:
        """Shares the cache of versions and settled tables with earlier transactions. Called by the writer."""
        self._settled = settled

    def rows(self, build: Builder, values: Sequence[Any] = ()) -> list[Row]:
        """Returns all rows of the statement that `build` composes; see statement_shapes.py for its rules."""
        if not self.can_write:
            self._require_room(values)
        self.statements += 1
        statement = self._cache.get(build)
        if self._queued and statement.names_log:
            self.flush()
        if statement.searched:
            self.store.require_indexed(self, statement.searched)
        bound = values if statement.is_plain else statement.bind(values)
        return self.connection.execute(statement.sql, bound).fetchall()

    def each(self, build: Builder, values: Sequence[Any] = ()) -> Iterator[Row]:
        """Iterates over the rows, for results that do not fit into memory. Other statements may run in between."""
        statement = self._asked(build, values)
        return iter(self.connection.execute(statement.sql, statement.bind(values)))

    def row(self, build: Builder, values: Sequence[Any] = ()) -> Row | None:
        """Returns the first row, or None."""
        if not self.can_write:
            self._require_room(values)
        self.statements += 1
        statement = self._cache.get(build)
        if self._queued and statement.names_log:
            self.flush()
        if statement.searched:
            self.store.require_indexed(self, statement.searched)
        bound = values if statement.is_plain else statement.bind(values)
        return self.connection.execute(statement.sql, bound).fetchone()

    def _asked(self, build: Builder, values: Sequence[Any]) -> Statement:
        """Returns the statement of a read, and counts it."""
        if not self.can_write:
            self._require_room(values)
        self.statements += 1
        statement = self._cache.get(build)
        if self._queued and statement.names_log:
            self.flush()
        if statement.searched:
            self.store.require_indexed(self, statement.searched)
        return statement

    def _require_room(self, values: Sequence[Any]) -> None:
        """Enforces the time limit before a statement is built and compiled, since SQLite checks no clock meanwhile."""
        self.store.require_time()
        if len(values) > MAX_QUICK_VALUES:
            self.store.require_thread()

    def value(self, build: Builder, values: Sequence[Any] = ()) -> Any:
        """Returns the first column of the first row, or None."""
        row = self.row(build, values)
        return row[0] if row else None

    def run(self, build: Builder, values: Sequence[Any] = ()) -> int:
        """Runs a statement that changes rows; returns the number of changed rows."""
        statement = self._changing(build)
        self.connection.execute(statement.sql, values if statement.is_plain else statement.bind(values))
        return int(self.connection.changes())

    def later(self, build: Builder, values: Sequence[Any] = ()) -> None:
        """Runs a statement that changes rows, whose count is not needed. The store may continue before the statement is
        done; a later statement or the commit raises its error."""
        statement = self._changing(build)
        self.connection.execute(statement.sql, values if statement.is_plain else statement.bind(values))

    def append(self, build: Builder, values: Sequence[Any]) -> None:
        """Queues an insert into a log (`Table.is_log`), to run with others of its kind: before the next statement on a
        log, or at the end. All inserts of a kind share one `build` function."""
        queued = self._queued.get(build)
        if queued is None:
            self._queued[build] = [values]
        else:
            queued.append(values)

    def flush(self) -> None:
        """Runs the queued inserts."""
        if self._queued:
            queued, self._queued = self._queued, {}
            for build, rows in queued.items():
                self.run_many(build, rows)

    def _changing(self, build: Builder) -> Statement:
        """Returns a statement that changes rows, counts it and drops the cached rows that it may change."""
        self.statements += 1
        if not self.connection.in_transaction:
            raise self.store.dropped()
        statement = self._cache.get(build)
        if self._queued and statement.names_log:
            self.flush()
        if statement.searched:
            self.store.require_indexed(self, statement.searched)
        if statement.may_bump:
            self._settled.versions.clear()
        if statement.changes:
            self._rows.tables.pop(statement.changes, None)
            self._settled.tables.pop(statement.changes, None)
            self._settled.next_ids.pop(statement.changes, None)
        else:
            self._rows.tables.clear()
            self._settled.tables.clear()
            self._settled.next_ids.clear()
        return statement

    def run_many(self, build: Builder, values: Sequence[Sequence[Any]]) -> None:
        """Runs a statement that changes rows once for each of these values."""
        if not values:
            return
        statement = self._changing(build)
        bound = values if statement.is_plain else [statement.bind(each) for each in values]
        self.connection.executemany(statement.sql, bound)

    def require_open(self) -> None:
        """Raises if the transaction is over: SQLite rolls all of it back on a full disk, and later statements would be
        committed on their own."""
        if self.store.is_failed(self.connection):
            raise self.store.dropped()

    def version(self, name: str) -> int:
        """Returns a counter that rises with every change of the tables that bump it, whoever writes them; see
        tables.py."""
        versions = self._settled.versions
        if name not in versions:
            if versions:  # two are usually followed by more
                versions |= {name: 0} | dict(self.rows(_every_version))
            else:
                versions[name] = int(self.value(_one_version, (name,)) or 0)
        return versions[name]

    def get(self, table: Table, id: int) -> Row | None:
        """Returns the row with this id, or None."""
        rows = (self._settled if table.is_settled else self._rows).rows_of(table)
        if id in rows:
            cached = rows[id]
            row = as_stored(table, id, cached) if isinstance(cached, dict) else cached
            if row is not None or cached is None:
                rows[id] = row
                return row
        row = rows[id] = self.row(_getting(table), (id,))
        return row

    def get_many(self, table: Table, ids: Iterable[int]) -> list[Row]:
        """Returns the rows with these ids, in id order, by one statement; unknown ids are left out."""
        sent_ids = list(ids)
        if not sent_ids:
            return []
        return self.rows(
            lambda: table.sql.select(*table.all_columns).where(in_list(table.sql.id, slot(0))).order_by(table.sql.id),
            (json.dumps(sent_ids),),
        )

    def find(self, table: Table, **equals: Any) -> list[Row]:
        """Returns the rows whose columns equal these values, in id (or primary key) order."""
        return self.rows(_finding(table, tuple(equals)), tuple(equals.values()))

    def first(self, table: Table, **equals: Any) -> Row | None:
        """Returns the first row of `find`, or None."""
        rows = (self._settled if table.is_settled else self._rows).rows_of(table)
        names, values = tuple(equals), tuple(equals.values())
        key = names, values
        cached = rows.get(key, UNKNOWN)
        if not isinstance(cached, dict):
            return cached
        row = rows[key] = self.row(_finding_first(table, names), values)
        return row

    def some(self, table: Table, limit: int, **equals: Any) -> list[Row]:
        """Returns at most `limit` rows of `find`, in any order."""
        names = tuple(equals)
        return self.rows(lambda: equal_to(table, names).limit(slot(len(names))), (*equals.values(), limit))

    def insert(self, table: Table, values: dict[str, Any]) -> int:
        """Inserts a row; absent columns get their initial value. Returns its id, or its row id in a table without
        ids."""
        next_ids = self._settled.next_ids
        is_counted = table.name in next_ids and "id" not in values  # read first: the statement clears it
        self.later(inserting(table, tuple(values)), tuple(values.values()))
        id = int(self.connection.last_insert_rowid())
        if is_counted:
            next_ids[table.name] = id + 1
        return id

    def keep_added(self, table: Table, id: int, values: dict[str, Any]) -> None:
        """Caches an inserted row, so that it need not be read again."""
        (self._settled if table.is_settled else self._rows).add(table, id, values)

    def reserve(self, table: Table, number: int) -> range:
        """Reserves ids for rows that must be named before they are added."""
        last = self._last_id(table)
        self._settled.next_ids.pop(table.name, None)
        if last is None:  # the table never had a row
            self.run(lambda: _IDS.insert({_IDS.c.name: slot(0), _IDS.c.seq: slot(1)}), (table.name, number))
        else:
            self.run(
                lambda: _IDS.update({_IDS.c.seq: slot(1)}).where(_IDS.c.name == slot(0)), (table.name, last + number)
            )
        return range((last or 0) + 1, (last or 0) + 1 + number)

    def next_ids(self, table: Table, number: int) -> range:
        """Predicts the result of `reserve`, valid until rows are added."""
        self.flush()
        first = self._settled.next_ids.get(table.name)
        if first is None:
            first = self._settled.next_ids[table.name] = (self._last_id(table) or 0) + 1
        return range(first, first + number)

    def _last_id(self, table: Table) -> int | None:
        self.flush()
        last: int | None = self.value(lambda: _IDS.select(_IDS.c.seq).where(_IDS.c.name == slot(0)), (table.name,))
        return last

    def set_next_id(self, table: Table, id: int) -> None:
        """Sets the id of the next row, for a table whose rows were copied."""
        self._settled.next_ids.pop(table.name, None)
        if self._last_id(table) is None:
            self.run(lambda: _IDS.insert({_IDS.c.name: slot(0), _IDS.c.seq: slot(1)}), (table.name, id - 1))
        else:
            self.run(lambda: _IDS.update({_IDS.c.seq: slot(1)}).where(_IDS.c.name == slot(0)), (table.name, id - 1))

    def add_whole(self, table: Table, rows: Sequence[Row]) -> None:
        """Inserts rows of another database, with the values of all columns and their ids."""
        self.run_many(lambda: table.sql.insert(slots(table, table.names)), rows)

    def put(self, table: Table, values: dict[str, Any]) -> None:
        """Inserts a row, or replaces the one with the same primary key."""
        names = tuple(values)
        self.run(lambda: table.sql.insert(slots(table, names)).on_conflict_replace(), tuple(values.values()))

    def put_many(self, table: Table, names: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        """Inserts or replaces many rows with the values of these columns."""
        columns = tuple(names)
        self.run_many(lambda: table.sql.insert(slots(table, columns)).on_conflict_replace(), rows)

    def add(self, table: Table, values: dict[str, Any]) -> bool:
        """Inserts a row unless one with the same key exists; returns whether it did."""
        return bool(self.run(_adding(table, tuple(values)), tuple(values.values())))

    def update(self, table: Table, id: int, values: dict[str, Any]) -> int:
        """Updates columns of the row with this id; returns 0 if there is none."""
        if not values:
            return 0
        return self.run(_updating(table, tuple(values)), (*values.values(), id))

    def set(self, table: Table, id: int, values: dict[str, Any]) -> None:
        """Updates columns of an existing row."""
        if values:
            self.later(_updating(table, tuple(values)), (*values.values(), id))

    def add_later(self, table: Table, values: dict[str, Any]) -> None:
        """Inserts a row unless one with the same key exists, without reporting which."""
        self.later(_adding(table, tuple(values)), tuple(values.values()))

    def delete(self, table: Table, **equals: Any) -> int:
        """Deletes the rows whose columns equal these values; returns their number."""
        names = tuple(equals)
        return self.run(lambda: with_equal(table, table.sql.delete(), names), tuple(equals.values()))

    def part(self, work: Callable[["Transaction"], Result]) -> Result:
        """Runs `work` in a savepoint: if it raises, its changes are undone and the transaction can continue."""
        self.require_open()
        self.flush()
        callbacks = len(self._callbacks)
        if not self.has_savepoints:
            return self._part_at_risk(work, callbacks)
        self.connection.execute("SAVEPOINT part")
        try:
            result = work(self)
            self.connection.execute("RELEASE part")
        except BaseException:
            del self._callbacks[callbacks:]
            self._forget()
            if self.connection.in_transaction:  # SQLite rolls the whole transaction back on a full disk
                self.connection.execute("ROLLBACK TO part")
                self.connection.execute("RELEASE part")
            raise
        return result

    def _part_at_risk(self, work: Callable[["Transaction"], Result], callbacks: int) -> Result:
        """Runs `work` without a savepoint; an error after a change spoils the whole transaction."""
        changes = self.connection.total_changes()
        try:
            return work(self)
        except BaseException:
            del self._callbacks[callbacks:]
            self._forget()
            if self.store.is_failed(self.connection) or self.connection.total_changes() != changes:
                self.is_spoiled = True
            raise

    def _forget(self) -> None:
        """Drops all caches."""
        self.memo.clear()
        self._rows.clear()
        self._settled.clear()
        self._queued.clear()

    def after_commit(self, callback: Callable[[], None]) -> None:
        """Runs `callback` once the transaction is on disk; never if it fails. It must not use this transaction."""
        self._callbacks.append((False, callback))

    def at_commit(self, callback: Callable[[], None]) -> None:
        """Runs `callback` after the commit on the writer's thread, before any waiter wakes: for state that every later
        request must see. It must be quick and not use the database."""
        self._callbacks.append((True, callback))

    def take_callbacks(self) -> list[Callback]:
        """Returns and clears the callbacks. Called by the writer."""
        callbacks, self._callbacks = self._callbacks, []
        return callbacks


# Builders of frequent statements.


def _one_version() -> Any:
    return _VERSION.select(_VERSION.c.value).where(_VERSION.c.name == slot(0))


def _every_version() -> Any:
    return _VERSION.select(_VERSION.c.name, _VERSION.c.value)


def _getting(table: Table) -> Builder:
    return lambda: table.sql.select(*table.all_columns).where(table.sql.id == slot(0))


def _finding(table: Table, names: tuple[str, ...]) -> Builder:
    return lambda: _found(table, names)


def _finding_first(table: Table, names: tuple[str, ...]) -> Builder:
    return lambda: _found(table, names).limit(1)


def inserting(table: Table, names: tuple[str, ...]) -> Builder:
    """Builds an insert with values for these columns."""
    return lambda: table.sql.insert(slots(table, names))


def _adding(table: Table, names: tuple[str, ...]) -> Builder:
    return lambda: table.sql.insert(slots(table, names)).on_conflict_ignore()


def _updating(table: Table, names: tuple[str, ...]) -> Builder:
    return lambda: table.sql.update(slots(table, names)).where(table.sql.id == slot(len(names)))


def slots(table: Table, names: Sequence[str]) -> dict[Any, peewee.Node]:
    """The columns of these names with the slots of their values, for an insert or update."""
    return {getattr(table.sql, name): slot(place) for place, name in enumerate(names)}


def equal_to(table: Table, names: Sequence[str], *columns: Any) -> Any:
    """A select of these columns, of all by default, from the rows whose columns `names` equal the first slots."""
    return with_equal(table, table.sql.select(*(columns or table.all_columns)), names)


def _found(table: Table, names: Sequence[str]) -> Any:
    query = equal_to(table, names)
    return query.order_by(*(getattr(table.sql, name) for name in table.key or ("id",)))


def with_equal(table: Table, query: Any, names: Sequence[str], first: int = 0) -> Any:
    """The query for the rows whose columns `names` equal the slots from `first` on."""
    for place, name in enumerate(names, first):
        query = query.where(getattr(table.sql, name) == slot(place))
    return query
