"""One connection to PostgreSQL, with what the store asks of one to SQLite: texts with their values in, rows out.

psycopg connects, adapts and tells errors; statements go through its layer around libpq, since a third of a request
would be spent in its cursors: 17 microseconds in place of 47 for a row by its key. Statements are prepared when first
met. A transaction begins together with its first statement and nobody waits for the end of a read; nor for what
answers nothing (`later`): it is sent with the next statement, or with the commit, whose answer then tells its error.
So most of the round trips of a transaction are spared."""

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

READ, WRITE, LISTEN = "helpdesk reads", "helpdesk writes", "helpdesk listens"  # as pg_stat_activity shows them
SNAPSHOT = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"  # of a read
MAX_PREPARED = 1000  # statements that a connection keeps; a full one forgets all of them
MAX_UNANSWERED = 100  # statements that nobody has waited for
MAX_UNSENT_BYTES = 32 * 1024  # of their values: more is sent at once, and a server that waits for the rest is not idle
MAX_HELD = 4  # statements that stay here until something is waited for; more are sent at once, and done meanwhile
EACH_ROWS = 500  # fetched at once where rows are read one after the other
# Plans are made once for each statement of a connection, for any values, and of loops over indexes alone, as in SQLite,
# for which the indexes are made: to plan a search for words takes longer than to run it, and guesses about values that
# are not known yet lead to reading whole tables (37 ms in place of 0.8 at 100,000 tickets).
PLANS = {
    "plan_cache_mode": "force_generic_plan",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "max_parallel_workers_per_gather": "0",
    "random_page_cost": "1.1",
    "jit": "off",
}
UNDOING = "ROLLBACK"
# Transactions get a number when they first write. Told is FIRST:NEXT:RUNNING,...: the first number of one that has not
# ended, the one behind the last that has, and those between that run. Where none runs and NEXT is behind the number of
# our own last one, nobody has written since.
_ENDED = "SELECT pg_current_snapshot()::text"
_ENDING = "SELECT pg_current_xact_id_if_assigned()::text, pg_current_snapshot()::text"
# A program that is stopped in the midst of a transaction, or whose machine is lost, holds the turn of all others: the
# server ends its transaction after so many milliseconds without a word from it.
IDLE_MS = 15_000
DEFINING = ("CREATE", "ALTER", "DROP")
# libpq gives up a server that does not answer: without these it waits for hours when a machine is lost.
PATIENCE = {
    "connect_timeout": "5",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "30000",
}

_ERAS = itertools.count(1)  # of all connections

_INT8, _FLOAT8, _BYTEA, _UNKNOWN = 20, 701, 17, 0
_TEXT, _BINARY = pq.Format.TEXT, pq.Format.BINARY
_DONE = (pq.ExecStatus.COMMAND_OK, pq.ExecStatus.TUPLES_OK)


class _NumberLoader(Loader):
    """Sums and means: whole numbers where they are."""

    def load(self, data: Any) -> int | float:
        text = bytes(data)
        return int(text) if text.lstrip(b"-").isdigit() else float(text)


class _FlagLoader(Loader):
    """Yes and no are whole numbers."""

    def load(self, data: Any) -> int:
        return int(bytes(data) == b"t")


def connect(address: str, name: str, options: dict[str, str]) -> "Connection":
    """A new connection. options: settings of PostgreSQL for it. Raises psycopg.Error."""
    told = " ".join(f"-c {option}={value}" for option, value in {**PLANS, **options}.items())
    given = parameters(address, name)
    told = f"{told} {given.pop('options', '')}".strip()  # those of the address have the last word

    def opened() -> "psycopg.Connection[Any]":
        driver = psycopg.Connection.connect(autocommit=True, options=told, **given)
        driver.adapters.register_loader("numeric", _NumberLoader)
        driver.adapters.register_loader("bool", _FlagLoader)
        return driver

    return Connection(opened)


def parameters(address: str, name: str) -> dict[str, Any]:
    """How to connect; what the address says of it has the last word. Of several hosts the one that takes writes is
    meant, whichever that is by now."""
    given: dict[str, Any] = psycopg.conninfo.conninfo_to_dict(address)
    several = {"target_session_attrs": "read-write"} if "," in f"{given.get('host')}{given.get('hostaddr')}" else {}
    return {**PATIENCE, **several, "fallback_application_name": name, **given}


class Rows(list[Any]):
    """The rows of a statement."""

    def fetchall(self) -> "Rows":
        return self

    def fetchone(self) -> Any:
        return self[0] if self else None


class Connection:
    """opened: makes the connection, and makes it again when it was lost between two transactions."""

    __slots__ = (
        "_opened",
        "driver",
        "_pg",
        "_transformer",
        "_names",
        "outline",
        "_changes",
        "_total",
        "_beginning",
        "_is_ending",
        "_unanswered",
        "_held",
        "_unsent",
        "_ends",
        "_last",
        "_cursors",
        "versions",
        "next_ids",
        "known_ids",
        "_left",
        "era",
        "may_have_committed",
    )

    def __init__(self, opened: "Callable[[], psycopg.Connection[Any]]") -> None:
        self._opened = opened
        self.outline = 0  # how often it changed tables
        self._changes = 0  # rows that the last statement changed
        self._total = 0
        self._cursors = 0
        self._connect()

    def _connect(self) -> None:
        self.driver = self._opened()
        self._pg = self.driver.pgconn
        self._transformer = Transformer.from_context(self.driver)
        self._names: dict[tuple[str, tuple[int, ...]], bytes] = {}
        self._beginning: bytes | None = None  # what begins a transaction, sent with its first statement
        self._is_ending = False  # whether the end of a transaction was sent and not yet answered
        self.may_have_committed = False  # whether the end of a transaction was sent, and nothing before it has failed
        self._unanswered = 0  # statements that were given to libpq and not answered yet
        self._unsent = 0  # bytes of their values
        self._held = 0  # of these statements, those that were not sent yet
        self._ends = 0  # how often some of them were sent
        self._last: Any = None  # the answer of the last one of them
        self.versions: dict[str, int] | None = None  # as this transaction sees them, once they were asked for
        self.known_ids: dict[str, int] = {}  # the next ids of tables, as the last transaction has left them
        self._left = ""  # which transactions had ended when it had, as PostgreSQL tells it; "" when that is not clear
        self.era = 0  # another one after somebody else may have written
        self.next_ids: dict[str, int] = {}  # of tables for whose rows this transaction counts ids by itself

    # -- transactions -----------------------------------------------------------------------------------------------

    def begin_later(self, text: str) -> None:
        """Begin a transaction with its first statement: without one there is none."""
        self._beginning = text.encode()
        self.versions = None

    def end_later(self) -> None:
        """End the transaction, if one was begun. Nobody waits for it; the next statement does."""
        self._beginning = None
        if self._pg.transaction_status in (pq.TransactionStatus.INTRANS, pq.TransactionStatus.INERROR):
            self._pg.send_query(b"ROLLBACK" if self.is_failed else b"COMMIT")
            self._is_ending = True

    @property
    def in_transaction(self) -> bool:
        if self._unanswered:
            return not self.is_lost
        return self._pg.transaction_status in (pq.TransactionStatus.INTRANS, pq.TransactionStatus.INERROR)

    @property
    def is_failed(self) -> bool:
        """Whether no transaction runs, or it takes nothing more before it is rolled back, as far as is known: what was
        not answered yet may have failed, which the next statement tells."""
        if self._unanswered:
            return self.is_lost
        return bool(self._pg.transaction_status != pq.TransactionStatus.INTRANS)

    @property
    def is_lost(self) -> bool:
        return bool(self._pg.status != pq.ConnStatus.OK)

    def close(self) -> None:
        self.driver.close()

    # -- statements -------------------------------------------------------------------------------------------------

    def execute(self, sql: str, values: Sequence[Any] = ()) -> Rows:
        """Run a statement; answers its rows."""
        if sql.startswith(UNDOING):
            self._forsake()
        elif sql.startswith(DEFINING):
            self._note_all_ids()
            self._forget()
        types, bound, formats = _adapted(values)
        if self._beginning is not None:
            result = self._first(sql, types, bound, formats)
        else:
            name = self._prepared(sql, types)
            if self._unanswered:
                result = self._behind(name, bound, formats)
            else:
                result = self._pg.exec_prepared(name, bound, formats)
        return self._answered(result, sql)

    def later(self, sql: str, values: Sequence[Any] = ()) -> None:
        """Run a statement that changes rows and answers nothing. Its error is raised by a later one, or by `settle`.

        What is sent before has an end, after which the server is idle: one that waits for the rest would not end the
        transaction of a process that says nothing any more."""
        assert self._beginning is None
        types, bound, formats = _adapted(values)
        name = self._prepared(sql, types)
        if not self._unanswered:
            self._pg.enter_pipeline_mode()
        self._unanswered += 1
        self._unsent += sum(map(len, filter(None, bound)))
        self._pg.send_query_prepared(name, bound, formats)
        self._total += 1  # not known yet; too many rather than too few
        self._held += 1
        if self._unanswered >= MAX_UNANSWERED or self._unsent > MAX_UNSENT_BYTES:
            self.settle()
        elif self._held >= MAX_HELD:
            self._held = 0
            self._ends += 1
            self._pg.pipeline_sync()

    def settle(self) -> None:
        """Wait for what nobody has waited for. Raises its error."""
        if self._unanswered:
            self._behind()
        if self._is_ending:
            self._is_ending = False
            while _awaited(self._pg) is not None:
                pass

    def _forsake(self) -> None:
        """What was not answered yet is undone, whether it has failed or not."""
        self._forget()
        if self._unanswered:
            with contextlib.suppress(psycopg.Error):  # of a lost connection the next statement tells
                self._behind()

    def begin_now(self, *texts: str) -> None:
        """Begin a transaction by statements that are answered before it goes on, in one round trip. What the last one
        knew is so still when no other has ended since."""
        left, self._left = self._left, ""
        self.settle()
        for text in texts:
            self.later(text)
        if self.execute(_ENDED)[0][0] != left:
            self._forget()

    def _forget(self) -> None:
        """What this connection knows may not be so any more."""
        self.era = next(_ERAS)
        self.versions = None
        self.next_ids.clear()
        self.known_ids.clear()

    def commit(self, seconds: float) -> None:
        """Commit, when all that was not answered yet goes well; all of it in one round trip. Raises the error of what
        did not: nothing is committed then. Where no answer comes in time the connection is of no use any more, and
        whether it was committed is not known: a server whose synchronous replica is lost says nothing for as long as
        that is so."""
        self.may_have_committed = False
        counted = dict(self.next_ids)
        self._held = -MAX_UNANSWERED  # what follows goes along with it
        self._note_all_ids()
        self.later(_ENDING)
        name = self._prepared("COMMIT", ())
        if not self._unanswered:
            self._pg.enter_pipeline_mode()
        self.may_have_committed = True
        self._answered(self._behind(name, ends_at=time.monotonic() + seconds), "COMMIT")
        self.known_ids |= counted
        self._left = _left(self._last)

    def note_ids(self, table: str) -> None:
        """Tell the server how far the ids of a table were counted here."""
        self.later("SELECT setval($1::regclass, $2)", (f'"{table}_id_seq"', self.next_ids.pop(table) - 1))

    def _note_all_ids(self) -> None:
        for table in tuple(self.next_ids):
            self.note_ids(table)

    def executemany(self, sql: str, values: Iterable[Sequence[Any]]) -> None:
        """Run a statement that changes rows once for each of these values."""
        for each in values:
            self.later(sql, each)

    def copy_in(self, table: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """Add many rows at once, in the midst of a transaction."""
        self.settle()
        listed = ", ".join(f'"{name}"' for name in columns)
        with self.driver.cursor() as cursor, cursor.copy(f'COPY "{table}" ({listed}) FROM STDIN'.encode()) as copy:
            for row in rows:
                copy.write_row(row)

    def each(self, sql: str, values: Sequence[Any]) -> Iterator[Any]:
        """The rows one after the other, never all of them in memory."""
        self._cursors += 1
        name = f"each_{self._cursors}"
        self.execute(f"DECLARE {name} NO SCROLL CURSOR FOR {sql}", values)
        fetch = f"FETCH {EACH_ROWS} FROM {name}"
        while rows := self.execute(fetch):
            yield from rows
        self.execute(f"CLOSE {name}")

    def count_one(self) -> None:
        """A statement that answers rows has changed one."""
        self._changes = 1
        self._total += 1

    def changes(self) -> int:
        return self._changes

    def total_changes(self) -> int:
        return self._total

    def _first(self, sql: str, types: tuple[int, ...], bound: list[Any], formats: list[Any]) -> Any:
        """Begin, and run the first statement. A connection that was lost since it was used last is made again."""
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
            _next(pg)  # the end of both
        finally:
            if not self.is_lost:
                pg.exit_pipeline_mode()
        if began.status not in _DONE or result.status == pq.ExecStatus.PIPELINE_ABORTED:
            raise self._error(began)
        if self.is_lost:
            raise self._error(result)
        return result

    def _behind(
        self, name: bytes = b"", bound: Sequence[Any] = (), formats: Sequence[Any] = (), ends_at: float | None = None
    ) -> Any:
        """Run a statement behind those that were not answered yet, or none; answers its result. Raises the error of the
        first that failed of them."""
        pg, number, is_over = self._pg, self._unanswered, False
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
            _next(pg, ends_at)  # the end of all
            is_over = True
        except psycopg.OperationalError:
            if failed is None:
                raise
        finally:
            self._unanswered = self._held = self._unsent = self._ends = 0
            if is_over and not self.is_lost:
                pg.exit_pipeline_mode()
        if failed is not None:
            self.may_have_committed = False  # what stood behind it was not done
            raise psycopg.errors.error_from_result(failed)
        return result

    def _prepared(self, sql: str, types: tuple[int, ...]) -> bytes:
        """The name of a statement with values of these types."""
        name = self._names.get((sql, types))
        if name is None:
            self.settle()
            if len(self._names) >= MAX_PREPARED:
                self._answered(self._pg.exec_(b"DEALLOCATE ALL"), "")
                self._names.clear()
            name = f"s{len(self._names)}".encode()
            self._answered(self._pg.prepare(name, sql.encode(), types), "")
            self._names[sql, types] = name
        elif self._is_ending:
            self.settle()
        return name

    def _answered(self, result: Any, sql: str) -> Rows:
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


def _left(result: Any) -> str:
    """What _ENDED tells after the transaction for which _ENDING has answered this, if no other ends meanwhile; "" when
    one with an earlier number runs, whose end it would not tell, and for one that has written nothing."""
    own, ended = (result.get_value(0, place) for place in (0, 1))
    if own is None or ended != b"%b:%b:" % (own, own):
        return ""
    after = int(own) + 1
    return f"{after}:{after}:"


def _next(pg: Any, ends_at: float | None = None) -> Any:
    """The next result of several; what follows each of them is nothing. ends_at: as for _awaited."""
    while (result := _awaited(pg, ends_at)) is None:
        if pg.status != pq.ConnStatus.OK:
            raise psycopg.OperationalError(pg.get_error_message())
    return result


def _awaited(pg: Any, ends_at: float | None = None) -> Any:
    """The next result, or None. get_result alone would hold the interpreter, and with it all other threads, until the
    server has answered. ends_at: when to give up, by the clock that nobody can set. Raises psycopg.OperationalError."""
    while pg.is_busy():
        _wait(pg.socket, None if ends_at is None else max(ends_at - time.monotonic(), 0))
        pg.consume_input()
        if ends_at is not None and time.monotonic() >= ends_at and pg.is_busy():
            raise psycopg.OperationalError("the server does not answer")
    return pg.get_result()


def _send_all(pg: Any) -> None:
    """Send what libpq still holds. Meanwhile answers are taken, for which the server might wait."""
    while pg.flush():
        _wait(pg.socket, is_full=True)
        pg.consume_input()


def _wait(socket: int, seconds: float | None = None, is_full: bool = False) -> None:
    """Wait until there is something to read, or room to write where it is full; at most so many seconds."""
    if hasattr(select, "poll"):  # select takes no file beyond the 1024th
        waiting = select.poll()
        waiting.register(socket, select.POLLIN | select.POLLOUT if is_full else select.POLLIN)
        waiting.poll(None if seconds is None else math.ceil(seconds * 1000))
    else:
        select.select([socket], [socket] if is_full else [], [], seconds)


def _adapted(values: Sequence[Any]) -> tuple[tuple[int, ...], list[Any], list[Any]]:
    """(types, values, formats). Text has the type of what it is compared with; PostgreSQL keeps no NUL characters."""
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
        elif isinstance(value, int):  # yes or no, a number of a list of choices
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
