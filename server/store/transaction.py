"""What code may do inside one read or write transaction: run remembered statements, handle rows by id.

Not for beginning or ending one: Store.read and Store.write do."""

import json
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import peewee

from server.store.shapes import Builder
from server.store.statements import Statement, StatementCache, in_list, slot
from server.store.tables import Table, table_named

if TYPE_CHECKING:
    from server.store.database import Store

MAX_QUICK_VALUES = 200  # bound by one statement; to make and compile a longer one holds the event loop for too long

_VERSION = table_named("version")
_IDS: Any = table_named("sqlite_sequence")  # SQLite keeps the last id of each table in it
Row = tuple[Any, ...]
Result = TypeVar("Result")
Callback = tuple[bool, Callable[[], None]]  # whether it runs before the waiter is told


class Transaction:
    """One snapshot to read from, and for the writer one unit of change.

    `statements` counts what was run, for the log line and for tests that bound it."""

    __slots__ = (
        "store", "connection", "can_write", "statements", "_cache", "_callbacks", "memo", "has_savepoints",
        "is_spoiled",
    )  # fmt: skip

    def __init__(self, store: "Store", connection: Any, cache: StatementCache, can_write: bool) -> None:
        self.store = store
        self.connection = connection
        self.can_write = can_write
        self.statements = 0
        self._cache = cache
        self._callbacks: list[Callback] = []
        self.memo: dict[Hashable, Any] = {}
        self.has_savepoints = True  # False: what fails half way spoils all, and the writer does it again with them
        self.is_spoiled = False

    def rows(self, build: Builder, values: Sequence[Any] = ()) -> list[Row]:
        """All rows of the statement that `build` composes; see shapes.py for what it may close over."""
        statement = self._asked(build, values)
        return self.connection.execute(statement.sql, statement.bind(values)).fetchall()

    def each(self, build: Builder, values: Sequence[Any] = ()) -> Iterator[Row]:
        """As rows, one after the other: for more than fit into memory. Others may run in between."""
        statement = self._asked(build, values)
        return iter(self.connection.execute(statement.sql, statement.bind(values)))

    def row(self, build: Builder, values: Sequence[Any] = ()) -> Row | None:
        """The first row, or None."""
        statement = self._asked(build, values)
        return self.connection.execute(statement.sql, statement.bind(values)).fetchone()

    def _asked(self, build: Builder, values: Sequence[Any]) -> Statement:
        """The statement, counted. A read may be over its time here, too: making and compiling statements takes some, in
        which SQLite looks at no clock."""
        if not self.can_write:
            self.store.require_time()
            if len(values) > MAX_QUICK_VALUES:
                self.store.require_thread()
        self.statements += 1
        return self._cache.get(build)

    def value(self, build: Builder, values: Sequence[Any] = ()) -> Any:
        """The first column of the first row, or None."""
        row = self.row(build, values)
        return row[0] if row else None

    def run(self, build: Builder, values: Sequence[Any] = ()) -> int:
        """Run a statement that changes rows; answers how many it changed."""
        statement = self._changing(build)
        self.connection.execute(statement.sql, statement.bind(values))
        return int(self.connection.changes())

    def later(self, build: Builder, values: Sequence[Any] = ()) -> None:
        """As run, where nobody asks how many rows it changed: a store may go on before it is done. What goes wrong is
        told by a later statement, or by the commit."""
        self.run(build, values)

    def _changing(self, build: Builder) -> Statement:
        """A statement that changes rows, counted."""
        self.statements += 1
        self.require_open()
        return self._cache.get(build)

    def run_many(self, build: Builder, values: Sequence[Sequence[Any]]) -> None:
        """Run a statement that changes rows once for each of these values."""
        if not values:
            return
        statement = self._changing(build)
        self.connection.executemany(statement.sql, [statement.bind(each) for each in values])

    def require_open(self) -> None:
        """SQLite drops the whole transaction for lack of room; what ran behind it would be committed by itself."""
        if self.store.is_failed(self.connection):
            raise self.store.dropped()

    def version(self, name: str) -> int:
        """A counter that rises with every change of the tables that bump it, whoever makes it; see tables.py."""
        found = self.value(lambda: _VERSION.select(_VERSION.c.value).where(_VERSION.c.name == slot(0)), (name,))
        return int(found or 0)

    def get(self, table: Table, id: int) -> Row | None:
        """The row with this id, or None."""
        return self.row(lambda: table.sql.select(*table.all_columns).where(table.sql.id == slot(0)), (id,))

    def get_many(self, table: Table, ids: Iterable[int]) -> list[Row]:
        """The rows with these ids, in id order; ids that do not exist are left out. One statement."""
        wanted = list(ids)
        if not wanted:
            return []
        return self.rows(
            lambda: table.sql.select(*table.all_columns).where(in_list(table.sql.id, slot(0))).order_by(table.sql.id),
            (json.dumps(wanted),),
        )

    def find(self, table: Table, **equals: Any) -> list[Row]:
        """The rows whose columns equal these values, in id (or primary key) order."""
        names = tuple(equals)
        return self.rows(lambda: _found(table, names), tuple(equals.values()))

    def first(self, table: Table, **equals: Any) -> Row | None:
        """The first of `find`, or None."""
        names = tuple(equals)
        return self.row(lambda: _found(table, names).limit(1), tuple(equals.values()))

    def some(self, table: Table, limit: int, **equals: Any) -> list[Row]:
        """At most `limit` of `find`, in any order."""
        names = tuple(equals)
        return self.rows(lambda: equal_to(table, names).limit(slot(len(names))), (*equals.values(), limit))

    def insert(self, table: Table, values: dict[str, Any]) -> int:
        """Add a row; absent columns get their initial value. Answers its id (the row id where there is none)."""
        names = tuple(values)
        self.run(lambda: table.sql.insert(slots(table, names)), tuple(values.values()))
        return int(self.connection.last_insert_rowid())

    def reserve(self, table: Table, number: int) -> range:
        """So many ids that no row gets by itself; for rows that must be named before they are added."""
        last = self._last_id(table)
        if last is None:  # never had a row
            self.run(lambda: _IDS.insert({_IDS.c.name: slot(0), _IDS.c.seq: slot(1)}), (table.name, number))
        else:
            self.run(
                lambda: _IDS.update({_IDS.c.seq: slot(1)}).where(_IDS.c.name == slot(0)), (table.name, last + number)
            )
        return range((last or 0) + 1, (last or 0) + 1 + number)

    def next_ids(self, table: Table, number: int) -> range:
        """What reserve answers unless somebody adds rows before."""
        first = (self._last_id(table) or 0) + 1
        return range(first, first + number)

    def _last_id(self, table: Table) -> int | None:
        found: int | None = self.value(lambda: _IDS.select(_IDS.c.seq).where(_IDS.c.name == slot(0)), (table.name,))
        return found

    def set_next_id(self, table: Table, id: int) -> None:
        """The id that the next row gets; for a table whose rows were copied."""
        if self._last_id(table) is None:
            self.run(lambda: _IDS.insert({_IDS.c.name: slot(0), _IDS.c.seq: slot(1)}), (table.name, id - 1))
        else:
            self.run(lambda: _IDS.update({_IDS.c.seq: slot(1)}).where(_IDS.c.name == slot(0)), (table.name, id - 1))

    def add_whole(self, table: Table, rows: Sequence[Row]) -> None:
        """Add many rows of another database, with the values of all columns and their ids."""
        self.run_many(lambda: table.sql.insert(slots(table, table.names)), rows)

    def put(self, table: Table, values: dict[str, Any]) -> None:
        """Add a row, or replace the one with the same primary key."""
        names = tuple(values)
        self.run(lambda: table.sql.insert(slots(table, names)).on_conflict_replace(), tuple(values.values()))

    def put_many(self, table: Table, names: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        """As put, for many rows with the values of these columns."""
        columns = tuple(names)
        self.run_many(lambda: table.sql.insert(slots(table, columns)).on_conflict_replace(), rows)

    def add(self, table: Table, values: dict[str, Any]) -> bool:
        """Add a row unless one with the same key exists; tells whether it was added."""
        names = tuple(values)
        return bool(self.run(
            lambda: table.sql.insert(slots(table, names)).on_conflict_ignore(), tuple(values.values())
        ))  # fmt: skip

    def update(self, table: Table, id: int, values: dict[str, Any]) -> int:
        """Change columns of the row with this id; answers 0 when there is none."""
        if not values:
            return 0
        names = tuple(values)
        return self.run(lambda: _changed(table, names), (*values.values(), id))

    def set(self, table: Table, id: int, values: dict[str, Any]) -> None:
        """As update, of a row that is known to be there."""
        if not values:
            return
        names = tuple(values)
        self.later(lambda: _changed(table, names), (*values.values(), id))

    def add_later(self, table: Table, values: dict[str, Any]) -> None:
        """As add, where nobody asks whether it was added."""
        names = tuple(values)
        self.later(lambda: table.sql.insert(slots(table, names)).on_conflict_ignore(), tuple(values.values()))

    def delete(self, table: Table, **equals: Any) -> int:
        """Remove the rows whose columns equal these values; answers how many."""
        names = tuple(equals)
        return self.run(lambda: _equal(table, table.sql.delete(), names), tuple(equals.values()))

    def part(self, work: Callable[["Transaction"], Result]) -> Result:
        """Run `work` so that a caller who goes on after its error keeps nothing of it."""
        self.require_open()
        kept = len(self._callbacks)
        if not self.has_savepoints:
            return self._part_at_risk(work, kept)
        self.connection.execute("SAVEPOINT part")
        try:
            result = work(self)
            self.connection.execute("RELEASE part")
        except BaseException:
            del self._callbacks[kept:]
            self.memo.clear()
            if self.connection.in_transaction:  # SQLite drops the whole transaction when there is no room
                self.connection.execute("ROLLBACK TO part")
                self.connection.execute("RELEASE part")
            raise
        return result

    def _part_at_risk(self, work: Callable[["Transaction"], Result], kept: int) -> Result:
        """As part, where nothing can be undone by itself."""
        changes = self.connection.total_changes()
        try:
            return work(self)
        except BaseException:
            del self._callbacks[kept:]
            self.memo.clear()
            if self.store.is_failed(self.connection) or self.connection.total_changes() != changes:
                self.is_spoiled = True
            raise

    def after_commit(self, callback: Callable[[], None]) -> None:
        """Run `callback` once the transaction is on disk; never when it fails. It may not touch this transaction."""
        self._callbacks.append((False, callback))

    def at_commit(self, callback: Callable[[], None]) -> None:
        """As after_commit, on the writer's thread and before anybody is told: for what every later request must see.
        It must be quick, and touch no database."""
        self._callbacks.append((True, callback))

    def take_callbacks(self) -> list[Callback]:
        """The callbacks so far; the writer's part."""
        callbacks, self._callbacks = self._callbacks, []
        return callbacks


def slots(table: Table, names: Sequence[str]) -> dict[Any, peewee.Node]:
    """The columns of these names with the slots of their values, for an insert or update."""
    return {getattr(table.sql, name): slot(place) for place, name in enumerate(names)}


def equal_to(table: Table, names: Sequence[str], *columns: Any) -> Any:
    """A select of these columns, of all by default, from the rows whose columns `names` equal the first slots."""
    return _equal(table, table.sql.select(*(columns or table.all_columns)), names)


def _found(table: Table, names: Sequence[str]) -> Any:
    query = equal_to(table, names)
    return query.order_by(*(getattr(table.sql, name) for name in table.key or ("id",)))


def _changed(table: Table, names: Sequence[str]) -> Any:
    """An update of the row whose id stands behind the values of these columns."""
    return table.sql.update(slots(table, names)).where(table.sql.id == slot(len(names)))


def _equal(table: Table, query: Any, names: Sequence[str]) -> Any:
    for place, name in enumerate(names):
        query = query.where(getattr(table.sql, name) == slot(place))
    return query
