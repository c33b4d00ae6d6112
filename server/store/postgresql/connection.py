"""A connection to PostgreSQL with the interface that the store expects of one to SQLite: takes texts and values,
returns rows.

psycopg connects, adapts values and raises errors. Statements use its layer around libpq instead of its cursors, which
would take a third of the time of a request: 17 microseconds in place of 47 for a row by its key. Each statement is
prepared at its first use. To save most round trips, a transaction begins together with its first statement, the end of
a read is not awaited, and a statement without a result (`later`) is sent with the next statement or with the commit,
whose result then reports its error."""

import contextlib
import itertools
import math
import select
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import psycopg
from psycopg import pq
from psycopg.adapt import Loader, Transformer

from server.store.postgresql.faults import is_lost

READ, WRITE, LISTEN = "helpdesk reads", "helpdesk writes", "helpdesk listens"  # application names in pg_stat_activity
SNAPSHOT = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"  # begins a read
MAX_PREPARED = 1000  # statements for each connection; at the limit all are deallocated
MAX_PENDING = 100  # statements whose results are pending
MAX_UNSENT_BYTES = 32 * 1024  # more is sent at once: the idle timeout does not apply while the server waits for input
MAX_HELD = 4  # statements held back until the next wait; more are sent at once, to run in parallel
EACH_ROWS = 500  # rows per FETCH
# A statement is planned once for a connection, for any values, and only with nested loops over indexes, as in SQLite,
# for which the indexes are designed. To plan a search for words takes longer than to run it, and estimates for unknown
# values lead to scans of whole tables (37 ms in place of 0.8 ms with 100,000 tickets).
PLANS = {
    "plan_cache_mode": "force_generic_plan",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "max_parallel_workers_per_gather": "0",
    "random_page_cost": "1.1",
    "jit": "off",
}
UNDOING = "ROLLBACK"
# A transaction gets a number at its first write. A snapshot reads FIRST:NEXT:RUNNING,...: the first number still
# running, the number after the last one that has ended, and the running ones in between. If none is running and NEXT
# follows the number of our own last transaction, no other transaction has written since.
_ENDED = "SELECT pg_current_snapshot()::text"
_ENDING = "SELECT pg_current_xact_id_if_assigned()::text, pg_current_snapshot()::text"
# The server ends a transaction that has been idle for so long: a process that is suspended within a transaction, or
# whose machine is lost, holds the lock that all other writers wait for.
IDLE_MS = 15_000
DEFINING = ("CREATE", "ALTER", "DROP")
# Limits after which libpq gives up. Without them it waits for hours after the loss of a machine.
PATIENCE = {
    "connect_timeout": "5",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "30000",
}

_ERAS = itertools.count(1)  # shared by all connections

_INT8, _FLOAT8, _BYTEA, _UNKNOWN = 20, 701, 17, 0
_TEXT, _BINARY = pq.Format.TEXT, pq.Format.BINARY
_DONE = (pq.ExecStatus.COMMAND_OK, pq.ExecStatus.TUPLES_OK)


class _NumberLoader(Loader):
    """Loads sums and means as int if they are whole, else as float."""

    def load(self, data: Any) -> int | float:
        text = bytes(data)
        return int(text) if text.lstrip(b"-").isdigit() else float(text)


class _FlagLoader(Loader):
    """Loads booleans as 0 and 1, as SQLite returns them."""

    def load(self, data: Any) -> int:
        return int(bytes(data) == b"t")


def connect(address: str, name: str, options: dict[str, str]) -> "Connection":
    """Opens a connection. options: its PostgreSQL settings. Raises psycopg.Error."""
    settings = " ".join(f"-c {option}={value}" for option, value in {**PLANS, **options}.items())
    arguments = parameters(address, name)
    settings = f"{settings} {arguments.pop('options', '')}".strip()  # options in the address take precedence

    def opened() -> "psycopg.Connection[Any]":
        driver = psycopg.Connection.connect(autocommit=True, options=settings, **arguments)
        driver.adapters.register_loader("numeric", _NumberLoader)
        driver.adapters.register_loader("bool", _FlagLoader)
        return driver

    return Connection(opened)


def parameters(address: str, name: str) -> dict[str, Any]:
    """Returns the connection parameters; those in the address take precedence. Of several hosts, the current primary is
    used."""
    arguments: dict[str, Any] = psycopg.conninfo.conninfo_to_dict(address)
    hosts = f"{arguments.get('host')}{arguments.get('hostaddr')}"
    primary = {"target_session_attrs": "read-write"} if "," in hosts else {}
    return {**PATIENCE, **primary, "fallback_application_name": name, **arguments}


class Rows(list[Any]):
    """The rows of a statement, with the interface of a cursor."""

    def fetchall(self) -> "Rows":
        return self

    def fetchone(self) -> Any:
        return self[0] if self else None


class Connection:
    """A connection that reconnects if it was lost between two transactions. opened: opens a connection of psycopg."""

    __slots__ = (
        "_open_driver",
        "driver",
        "_pg",
        "_transformer",
        "_names",
        "outline",
        "_changes",
        "_total",
        "_beginning",
        "_is_ending",
        "_pending",
        "_held",
        "_unsent",
        "_ends",
        "_last",
        "_cursors",
        "versions",
        "next_ids",
        "known_ids",
        "_expected",
        "era",
        "may_have_committed",
    )

    def __init__(self, opened: "Callable[[], psycopg.Connection[Any]]") -> None:
        self._open_driver = opened
        self.outline = 0  # number of statements that changed tables
        self._changes = 0  # rows changed by the last statement
        self._total = 0
        self._cursors = 0
        self._connect()

    def _connect(self) -> None:
        self.driver = self._open_driver()
        self._pg = self.driver.pgconn
        self._transformer = Transformer.from_context(self.driver)
        self._names: dict[tuple[str, tuple[int, ...]], bytes] = {}
        self._beginning: bytes | None = None  # the BEGIN, sent with the first statement
        self._is_ending = False  # whether the end of a transaction is sent, and its result pending
        self.may_have_committed = False  # whether COMMIT was sent, and no earlier statement failed
        self._pending = 0  # statements passed to libpq whose results are pending
        self._unsent = 0  # bytes of their values
        self._held = 0  # pending statements that are not sent yet
        self._ends = 0  # syncs among them
        self._last: Any = None  # result of the last of them
        self.versions: dict[str, int] | None = None  # read once by this transaction
        self.known_ids: dict[str, int] = {}  # the next ids of tables after the last transaction
        self._expected = ""  # the expected snapshot if no other transaction writes; "" if unknown
        self.era = 0  # changes when another process may have written
        self.next_ids: dict[str, int] = {}  # next ids of the tables whose ids this transaction assigns itself

    # -- transactions -----------------------------------------------------------------------------------------------

    def begin_later(self, text: str) -> None:
        """Begins a transaction with its first statement; without a statement none begins."""
        self._beginning = text.encode()
        self.versions = None

    def end_later(self) -> None:
        """Ends the transaction, if one was begun, without waiting. The next statement waits for the result."""
        self._beginning = None
        if self._pg.transaction_status in (pq.TransactionStatus.INTRANS, pq.TransactionStatus.INERROR):
            self._pg.send_query(b"ROLLBACK" if self.is_failed else b"COMMIT")
            self._is_ending = True

    @property
    def in_transaction(self) -> bool:
        if self._pending:
            return not self.is_lost
        return self._pg.transaction_status in (pq.TransactionStatus.INTRANS, pq.TransactionStatus.INERROR)

    @property
    def is_failed(self) -> bool:
        """Whether no transaction is running, or it accepts only a rollback, as far as is known: a pending statement may
        have failed, which the next statement reports."""
        if self._pending:
            return self.is_lost
        return bool(self._pg.transaction_status != pq.TransactionStatus.INTRANS)

    @property
    def is_lost(self) -> bool:
        return bool(self._pg.status != pq.ConnStatus.OK)

    def close(self) -> None:
        self.driver.close()

    # -- statements -------------------------------------------------------------------------------------------------

    def execute(self, sql: str, values: Sequence[Any] = ()) -> Rows:
        """Runs a statement; returns its rows."""
        if sql.startswith(UNDOING):
            self._abandon_pending()
        elif sql.startswith(DEFINING):
            self._set_all_sequences()
            self._forget()
        types, bound, formats = _adapted(values)
        if self._beginning is not None:
            result = self._first(sql, types, bound, formats)
        else:
            name = self._prepared(sql, types)
            if self._pending:
                result = self._run_after_pending(name, bound, formats)
            else:
                result = self._pg.exec_prepared(name, bound, formats)
        return self._rows_of(result, sql)

    def later(self, sql: str, values: Sequence[Any] = ()) -> None:
        """Runs a statement that changes rows, without waiting for its result. A later statement or `settle` raises its
        error.

        Statements sent early end with a sync, which leaves the server idle. Without it the server would wait for more
        input, and never end the transaction of a process that died."""
        assert self._beginning is None
        types, bound, formats = _adapted(values)
        name = self._prepared(sql, types)
        if not self._pending:
            self._pg.enter_pipeline_mode()
        self._pending += 1
        self._unsent += sum(map(len, filter(None, bound)))
        self._pg.send_query_prepared(name, bound, formats)
        self._total += 1  # an upper bound, as the number is not known yet
        self._held += 1
        if self._pending >= MAX_PENDING or self._unsent > MAX_UNSENT_BYTES:
            self.settle()
        elif self._held >= MAX_HELD:
            self._held = 0
            self._ends += 1
            self._pg.pipeline_sync()

    def settle(self) -> None:
        """Waits for all pending results. Raises the first error among them."""
        if self._pending:
            self._run_after_pending()
        if self._is_ending:
            self._is_ending = False
            while _awaited(self._pg) is not None:
                pass

    def _abandon_pending(self) -> None:
        """Waits for pending results before a rollback and ignores their errors."""
        self._forget()
        if self._pending:
            with contextlib.suppress(psycopg.Error):  # the next statement reports a lost connection
                self._run_after_pending()

    def begin_now(self, *texts: str) -> None:
        """Begins a transaction with statements whose results are awaited, in one round trip. The cached versions and
        ids stay valid if no other transaction has written since the last one."""
        expected, self._expected = self._expected, ""
        self.settle()
        for text in texts:
            self.later(text)
        if self.execute(_ENDED)[0][0] != expected:
            self._forget()

    def _forget(self) -> None:
        """Discards cached versions and ids, which may be outdated."""
        self.era = next(_ERAS)
        self.versions = None
        self.next_ids.clear()
        self.known_ids.clear()

    def commit(self, seconds: float) -> None:
        """Commits, in one round trip with all pending statements. Raises the error of the first that failed; then
        nothing is committed. If the result does not arrive in time, the connection is unusable and it is unknown
        whether the transaction was committed: a server whose synchronous replica is lost does not respond until the
        replica returns."""
        self.may_have_committed = False
        counted = dict(self.next_ids)
        self._held = -MAX_PENDING  # no sync in between: everything is sent with the COMMIT
        self._set_all_sequences()
        self.later(_ENDING)
        name = self._prepared("COMMIT", ())
        if not self._pending:
            self._pg.enter_pipeline_mode()
        self.may_have_committed = True
        self._rows_of(self._run_after_pending(name, ends_at=time.monotonic() + seconds), "COMMIT")
        self.known_ids |= counted
        self._expected = _expected_snapshot(self._last)

    def set_sequence(self, table: str) -> None:
        """Sets the sequence of a table to the ids that were assigned here."""
        self.later("SELECT setval($1::regclass, $2)", (f'"{table}_id_seq"', self.next_ids.pop(table) - 1))

    def _set_all_sequences(self) -> None:
        for table in tuple(self.next_ids):
            self.set_sequence(table)

    def executemany(self, sql: str, values: Iterable[Sequence[Any]]) -> None:
        """Runs a statement that changes rows once for each tuple of values."""
        for each in values:
            self.later(sql, each)

    def copy_in(self, table: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """Adds many rows by COPY, within a transaction."""
        self.settle()
        names = ", ".join(f'"{name}"' for name in columns)
        with self.driver.cursor() as cursor, cursor.copy(f'COPY "{table}" ({names}) FROM STDIN'.encode()) as copy:
            for row in rows:
                copy.write_row(row)

    def each(self, sql: str, values: Sequence[Any]) -> Iterator[Any]:
        """Iterates over the rows by a cursor, without all of them in memory."""
        self._cursors += 1
        name = f"each_{self._cursors}"
        self.execute(f"DECLARE {name} NO SCROLL CURSOR FOR {sql}", values)
        fetch = f"FETCH {EACH_ROWS} FROM {name}"
        while rows := self.execute(fetch):
            yield from rows
        self.execute(f"CLOSE {name}")

    def count_one(self) -> None:
        """Counts the row that a statement with RETURNING changed."""
        self._changes = 1
        self._total += 1

    def changes(self) -> int:
        return self._changes

    def total_changes(self) -> int:
        return self._total

    def _first(self, sql: str, types: tuple[int, ...], bound: list[Any], formats: list[Any]) -> Any:
        """Begins the transaction and runs its first statement. Reconnects if the connection was lost since its last
        use."""
        beginning, self._beginning = self._beginning, None
        assert beginning is not None
        try:
            return self._begun(beginning, sql, types, bound, formats)
        except psycopg.OperationalError as error:
            if not self.is_lost and not is_lost(error):
                raise
        self.close()
        self._connect()
        return self._begun(beginning, sql, types, bound, formats)

    def _begun(self, beginning: bytes, sql: str, types: tuple[int, ...], bound: list[Any], formats: list[Any]) -> Any:
        self.settle()
        name = self._prepared(sql, types)
        pg = self._pg
        pg.enter_pipeline_mode()
        try:
            pg.send_query_params(beginning, None)
            pg.send_query_prepared(name, bound, formats)
            pg.pipeline_sync()
            _send_all(pg)
            began = _next(pg)
            result = _next(pg)
            _next(pg)  # the result of the sync
        finally:
            if not self.is_lost:
                pg.exit_pipeline_mode()
        if began.status not in _DONE or result.status == pq.ExecStatus.PIPELINE_ABORTED:
            raise self._error(began)
        if self.is_lost:
            raise self._error(result)
        return result

    def _run_after_pending(
        self, name: bytes = b"", bound: Sequence[Any] = (), formats: Sequence[Any] = (), ends_at: float | None = None
    ) -> Any:
        """Runs a statement after the pending ones, or only waits for these if name is empty; returns its result. Raises
        the error of the first that failed."""
        pg, number, is_over = self._pg, self._pending, False
        if name:
            pg.send_query_prepared(name, bound, formats)
        failed = result = None
        try:
            pg.pipeline_sync()
            _send_all(pg)
            for _ in range(number + self._ends):
                result = _next(pg, ends_at)
                if result.status == pq.ExecStatus.PIPELINE_SYNC:
                    continue
                self._last = result
                if failed is None and result.status not in _DONE:
                    failed = result
            result = _next(pg, ends_at) if name else None
            _next(pg, ends_at)  # the result of the last sync
            is_over = True
        except psycopg.OperationalError:
            if failed is None:
                raise
        finally:
            self._pending = self._held = self._unsent = self._ends = 0
            if is_over and not self.is_lost:
                pg.exit_pipeline_mode()
        if failed is not None:
            self.may_have_committed = False  # statements after it were skipped
            raise psycopg.errors.error_from_result(failed)
        return result

    def _prepared(self, sql: str, types: tuple[int, ...]) -> bytes:
        """Returns the name of the prepared statement for values of these types."""
        name = self._names.get((sql, types))
        if name is None:
            self.settle()
            if len(self._names) >= MAX_PREPARED:
                self._rows_of(self._pg.exec_(b"DEALLOCATE ALL"), "")
                self._names.clear()
            name = f"s{len(self._names)}".encode()
            self._rows_of(self._pg.prepare(name, sql.encode(), types), "")
            self._names[sql, types] = name
        elif self._is_ending:
            self.settle()
        return name

    def _rows_of(self, result: Any, sql: str) -> Rows:
        status = result.status
        if status == pq.ExecStatus.TUPLES_OK:
            self._transformer.set_pgresult(result)
            return Rows(self._transformer.load_rows(0, result.ntuples, tuple))
        if status != pq.ExecStatus.COMMAND_OK:
            raise self._error(result)
        self._changes = result.command_tuples or 0
        self._total += self._changes
        if sql.startswith(DEFINING):
            self.outline += 1
        return Rows()

    def _error(self, result: Any) -> psycopg.Error:
        if self.is_lost:
            return psycopg.OperationalError(self._pg.get_error_message())
        return psycopg.errors.error_from_result(result)


def _expected_snapshot(result: Any) -> str:
    """Returns the snapshot that _ENDED returns after the transaction with this result of _ENDING, if no other
    transaction writes. Returns "" if a transaction with an earlier number is running, whose end would go unnoticed, and
    for a transaction that has not written."""
    own, ended = (result.get_value(0, place) for place in (0, 1))
    if own is None or ended != b"%b:%b:" % (own, own):
        return ""
    after = int(own) + 1
    return f"{after}:{after}:"


def _next(pg: Any, ends_at: float | None = None) -> Any:
    """Returns the next of several results, skipping the None after each. ends_at: as in _awaited."""
    while (result := _awaited(pg, ends_at)) is None:
        if pg.status != pq.ConnStatus.OK:
            raise psycopg.OperationalError(pg.get_error_message())
    return result


def _awaited(pg: Any, ends_at: float | None = None) -> Any:
    """Returns the next result, or None. get_result alone would hold the interpreter lock until the server responds.
    ends_at: the deadline by time.monotonic(). Raises psycopg.OperationalError."""
    while pg.is_busy():
        _wait(pg.socket, None if ends_at is None else max(ends_at - time.monotonic(), 0))
        pg.consume_input()
        if ends_at is not None and time.monotonic() >= ends_at and pg.is_busy():
            raise psycopg.OperationalError("the server does not respond")
    return pg.get_result()


def _send_all(pg: Any) -> None:
    """Sends everything that libpq has buffered. Reads results at the same time, since the server may wait until they
    are read."""
    while pg.flush():
        _wait(pg.socket, is_full=True)
        pg.consume_input()


def _wait(socket: int, seconds: float | None = None, is_full: bool = False) -> None:
    """Waits until the socket is readable, or writable too if is_full; at most the given seconds."""
    if hasattr(select, "poll"):  # select accepts no file descriptor above 1023
        waiting = select.poll()
        waiting.register(socket, select.POLLIN | select.POLLOUT if is_full else select.POLLIN)
        waiting.poll(None if seconds is None else math.ceil(seconds * 1000))
    else:
        select.select([socket], [socket] if is_full else [], [], seconds)


def _adapted(values: Sequence[Any]) -> tuple[tuple[int, ...], list[Any], list[Any]]:
    """Returns (types, values, formats). Texts are of unknown type, so that PostgreSQL uses the type of the other
    operand. NUL characters are replaced, since PostgreSQL cannot store them."""
    types: list[int] = []
    bound: list[Any] = []
    formats: list[Any] = []
    for value in values:
        kind = type(value)
        if kind is int:
            types.append(_INT8)
            bound.append(b"%d" % value)
            formats.append(_TEXT)
        elif kind is str:
            types.append(_UNKNOWN)
            bound.append(value.replace("\0", "\ufffd").encode())
            formats.append(_TEXT)
        elif value is None:
            types.append(_UNKNOWN)
            bound.append(None)
            formats.append(_TEXT)
        elif kind is float:
            types.append(_FLOAT8)
            bound.append(repr(value).encode())
            formats.append(_TEXT)
        elif isinstance(value, int):  # bool and IntEnum
            types.append(_INT8)
            bound.append(b"%d" % int(value))
            formats.append(_TEXT)
        elif isinstance(value, str):
            types.append(_UNKNOWN)
            bound.append(str(value).replace("\0", "\ufffd").encode())
            formats.append(_TEXT)
        else:
            types.append(_BYTEA)
            bound.append(bytes(value))
            formats.append(_BINARY)
    return tuple(types), bound, formats
