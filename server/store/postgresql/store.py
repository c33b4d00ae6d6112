"""The store of a PostgreSQL database that several processes use.

Reads are snapshots on separate connections. The writes of all processes take turns: a writing transaction holds one
advisory lock of the database, so everything that it reads stays unchanged until it commits, as in SQLite. Upserts,
masks, counters and unique values of two processes cannot conflict, and no write has to be repeated. The waiting writes
of one process share the next turn and its commit."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterable
from typing import TypeVar
from urllib.parse import parse_qsl, urlsplit

import psycopg

from server import log
from server.errors import Conflict, Damaged, Unavailable
from server.store.database import AfterCommit, OutOfSteps, PendingRead, Store
from server.store.faults import MOMENT_SECONDS, stopping
from server.store.fulltext import TextIndex
from server.store.postgresql import schema, tsvectors
from server.store.postgresql.composing import COMPOSER
from server.store.postgresql.connection import IDLE_MS, READ, SNAPSHOT, WRITE, Connection, connect
from server.store.postgresql.faults import as_helpdesk_error, away, is_lost, reason, refusal
from server.store.postgresql.listening import AnnouncementListener
from server.store.postgresql.looking import state_of
from server.store.postgresql.small_reads import THREADS, SmallReads
from server.store.postgresql.transaction import PostgresqlTransaction
from server.store.server_state import ServerState
from server.store.sqlite_schema import NUMBER, SCHEMA_NUMBER
from server.store.statements import POSTGRESQL, StatementCache
from server.store.tables import Table
from server.store.transaction import Transaction
from server.store.writer import Unsure, Writer

Result = TypeVar("Result")

MIN_VERSION = 150000  # the format of server_version_num
MAX_FREE = 16  # idle connections for reads
MAX_READING = 40 - THREADS  # concurrent reads; the server allows about 100 connections for all processes
ROOM_SECONDS = 5  # limit for a read that waits for a connection
TURN = 0x53564348  # the advisory lock of the writing transaction
COPYING = TURN + 1  # the advisory lock of a process that copies into the database
TURN_SECONDS = 20  # limit for the wait for the writers' lock
COMMIT_SECONDS = 20  # limit for the result of a COMMIT
STEPS_A_MS = 2000  # converts limits in steps; SQLite does ten times as many, without a round trip
LOG = log.get("store")


class PostgresqlStore(Store):
    """address: a libpq connection string, such as postgresql://user:password@host/name."""

    dialect = POSTGRESQL
    is_shared = True
    reads_wait = True
    keeps_statistics = True
    fault = psycopg.Error

    def __init__(
        self,
        address: str,
        read_seconds: float = 5.0,
        queue_limit: int = 1024,
        batch_limit: int = 64,
        after_commit: AfterCommit | None = None,
        **_: object,
    ) -> None:
        super().__init__(StatementCache(COMPOSER.statement), read_seconds, after_commit)
        self.address = address
        self._turn = (
            f"SELECT pg_advisory_xact_lock({TURN}), "
            f"set_config('statement_timeout', '{self._milliseconds(read_seconds)}', true)"
        )
        self._free: list[Connection] = []  # used as a stack
        self._all: set[Connection] = set()
        self._lock = threading.Lock()
        self._room = threading.BoundedSemaphore(MAX_READING)
        self._writing: Connection | None = None
        self._small = SmallReads(self)
        try:
            first = self._opened(READ)
        except (psycopg.Error, UnicodeError) as error:
            raise refusal(error, self.place) from None
        try:
            _require_fit(first)
        except BaseException:
            first.close()
            raise
        self._free.append(first)
        self._writer = Writer(self, queue_limit, batch_limit)
        self._listener = AnnouncementListener(address, lambda name: self.on_announced(name))

    # -- connections ------------------------------------------------------------------------------------------------

    def connected(self, name: str, seconds: float = 0) -> Connection:
        """Opens a connection. seconds: the time limit of a statement, 0 for that of reads. Raises Unavailable,
        Damaged."""
        try:
            return self._opened(name, seconds)
        except psycopg.Error as error:
            LOG.warning("database.away", reason=reason(error))
            raise as_helpdesk_error(error) from None

    def _opened(self, name: str, seconds: float = 0) -> Connection:
        timeout = str(self._milliseconds(seconds or self.read_seconds))
        options = {"statement_timeout": timeout, "client_encoding": "UTF8"}
        if name == WRITE:  # the wait for the lock has a separate limit
            waits = {"statement_timeout": "0", "lock_timeout": str(self._milliseconds(TURN_SECONDS))}
            idle = {"idle_in_transaction_session_timeout": str(IDLE_MS)}
            options |= {"synchronous_commit": "on", **waits, **idle}
        connection = connect(self.address, name, options)
        with self._lock:
            self._all.add(connection)
        return connection

    @staticmethod
    def _milliseconds(seconds: float) -> int:
        return max(int(seconds * 1000), 1)

    def _borrow(self) -> Connection:
        if self._closed:
            raise stopping()
        try:
            return self._free.pop()
        except IndexError:
            return self.connected(READ)

    def _give_back(self, connection: Connection) -> None:
        """Ends the snapshot of a read and returns its connection to the idle ones. Closes it if that fails or if there
        are too many."""
        try:
            connection.end_later()
            if not connection.is_lost and len(self._free) < MAX_FREE and not self._closed:
                self._free.append(connection)
                return
        except psycopg.Error:
            pass  # lost; the caller that noticed has logged it
        self.drop(connection)

    def drop(self, connection: Connection) -> None:
        with self._lock:
            self._all.discard(connection)
        connection.close()

    def _drop_free(self) -> None:
        """Closes idle connections after one was lost, since the others are as old."""
        while self._free:
            with contextlib.suppress(IndexError):
                self.drop(self._free.pop())

    # -- reading and writing ----------------------------------------------------------------------------------------

    def read(
        self, work: Callable[[Transaction], Result], steps: int | None = None, seconds: float | None = None
    ) -> Result:
        outer = self._writer.transaction_here()
        if outer is not None:
            return work(outer)
        shared = self._small.here
        if shared is not None:
            if seconds is not None:  # may take long
                raise OutOfSteps
            return shared.read(work)
        if steps is not None:  # the event loop must not wait for another program
            raise OutOfSteps
        local = self._local
        local.deadline = time.monotonic() + (self.read_seconds if seconds is None else seconds)
        try:
            return self._read(work, seconds)
        finally:
            local.deadline = None

    def submit_read(self, work: Callable[[], Result], done: Callable[[PendingRead], None]) -> None:
        self._small.submit(work, done)

    def require_thread(self) -> None:
        if self._small.here is not None:
            raise OutOfSteps

    def write(self, work: Callable[[Transaction], Result]) -> Result:
        self.require_thread()  # other reads would wait for its turn
        return super().write(work)

    def _read(self, work: Callable[[Transaction], Result], seconds: float | None) -> Result:
        if not self._room.acquire(timeout=ROOM_SECONDS):
            raise Unavailable("too many reads at once; try again in a moment", retry_after=MOMENT_SECONDS)
        try:
            return self._read_on(self._borrow(), work, seconds)
        finally:
            self._room.release()

    def _read_on(self, connection: Connection, work: Callable[[Transaction], Result], seconds: float | None) -> Result:
        connection.begin_later(SNAPSHOT)
        tx = PostgresqlTransaction(self, connection, self.statements, False)
        try:
            if seconds is not None:
                connection.execute(f"SET LOCAL statement_timeout = {self._milliseconds(seconds)}")
            return work(tx)
        except psycopg.errors.ReadOnlySqlTransaction:
            raise  # in a read a bug; in a write the server has become a standby
        except psycopg.Error as error:
            self.handle_loss(connection, error)
            raise as_helpdesk_error(error) from error
        finally:
            self._give_back(connection)
            self.count_queries(tx.statements)

    def handle_loss(self, connection: Connection, error: psycopg.Error) -> bool:
        """Returns whether a connection is unusable after this error; if so, logs it and closes the idle ones as
        well."""
        if not is_lost(error) and not connection.is_lost:
            return False
        LOG.warning("database.away", reason=reason(error))
        self._drop_free()
        return True

    def bounded(self, steps: int, work: Callable[[], Result]) -> Result:
        tx = self._writer.transaction_here()
        if tx is None:
            return work()
        tx.connection.execute(f"SET LOCAL statement_timeout = {max(steps // STEPS_A_MS, 1)}")
        try:
            result = work()
        except psycopg.Error as error:
            raise as_helpdesk_error(error) from error
        tx.connection.execute(f"SET LOCAL statement_timeout = {self._milliseconds(self.read_seconds)}")
        return result

    def lift_limit(self, tx: Transaction) -> None:
        tx.connection.execute("SET LOCAL statement_timeout = 0")

    # -- for the writer ---------------------------------------------------------------------------------------------

    def transaction(self, connection: Connection, can_write: bool) -> Transaction:
        return PostgresqlTransaction(self, connection, self.statements, can_write)

    def begin(self) -> Connection:
        for is_last in (False, True):
            if self._writing is not None and self._writing.is_lost:
                self._lose()
            if self._writing is None:
                self._writing = self.connected(WRITE)
            connection = self._writing
            try:
                connection.begin_now("BEGIN ISOLATION LEVEL READ COMMITTED", self._turn)
                return connection
            except psycopg.Error as error:
                if not is_lost(error):
                    self.undo(connection)
                    raise
                self._lose()
                if is_last:
                    raise
        raise away()

    def undo(self, connection: Connection) -> None:
        """Rolls back. If the connection is lost, the server has already done so."""
        try:
            connection.execute("ROLLBACK")
        except psycopg.Error:
            self._lose()

    def _lose(self) -> None:
        """Closes the lost connection of the writer, and the idle ones."""
        if self._writing is not None:
            self.drop(self._writing)
            self._writing = None
        self._drop_free()

    def commit(self, connection: Connection) -> None:
        """Raises Unsure if the database went away during the commit: the outcome is unknown, so the write is neither
        reported as committed nor repeated."""
        if connection.is_failed and connection.in_transaction:
            raise self.dropped()
        try:
            connection.commit(COMMIT_SECONDS)
        except psycopg.errors.ReadOnlySqlTransaction:
            raise  # in a read a bug; in a write the server has become a standby
        except psycopg.Error as error:
            if is_lost(error) or connection.is_lost:
                self._lose()
                if connection.may_have_committed:
                    raise Unsure from error
            raise

    def is_failed(self, connection: Connection) -> bool:
        return connection.is_failed

    def dropped(self) -> Exception:
        return psycopg.errors.InFailedSqlTransaction("the transaction was dropped")

    def outline(self, connection: Connection) -> int:
        return connection.outline

    def state(self, connection: Connection) -> int:
        return connection.era

    def as_helpdesk_error(self, error: BaseException) -> BaseException:
        return away() if isinstance(error, Unsure) else as_helpdesk_error(error)

    # -- the whole database -----------------------------------------------------------------------------------------

    def check(self) -> list[str]:
        """Checks only that the database responds. PostgreSQL guards its own files; amcheck and checksums are up to its
        operators."""
        try:
            self.read(lambda tx: tx.connection.execute("SELECT 1").fetchall())
        except Exception as error:
            return [str(error)]
        return []

    def claim(self) -> None:
        connection = self.connected("helpdesk copies")
        if not connection.execute(f"SELECT pg_try_advisory_lock({COPYING})")[0][0]:
            raise Conflict(f"another process copies into {self.place}; wait for its end")

    @property
    def place(self) -> str:
        """The address without password and user name, which would tell whose password to ask for."""
        parts = urlsplit(self.address)
        hosts = parts.netloc.rpartition("@")[2]
        folder = dict(parse_qsl(parts.query)).get("host", "")
        return f"postgresql://{hosts or folder or 'localhost'}/{parts.path.strip('/')}"

    def sizes(self) -> tuple[int, int]:
        text = "SELECT pg_database_size(current_database())"
        return int(self.read(lambda tx: tx.connection.execute(text).fetchone()[0])), 0

    def product(self) -> tuple[str, str]:
        return "PostgreSQL", str(self.read(lambda tx: tx.connection.execute("SHOW server_version").fetchone()[0]))

    def server_state(self) -> ServerState:
        return self.read(lambda tx: state_of(tx.connection, TURN))

    def announce_after(self, tx: Transaction, name: str) -> None:
        if ("announced", name) not in tx.memo:
            tx.memo["announced", name] = True
            tx.connection.later("SELECT pg_notify($1, $2)", (self._listener.channel, self._listener.payload(name)))

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._listener.close()
        self._small.close()
        self._writer.close()
        with self._lock:
            everything = list(self._all)
            self._all.clear()
            self._free.clear()
        for connection in everything:
            connection.close()

    # -- schema -----------------------------------------------------------------------------------------------------

    def refuse_newer(self) -> None:
        def number(tx: Transaction) -> int:
            if not schema.columns_of(tx, "meta"):
                return 0
            row = tx.connection.execute("SELECT value FROM meta WHERE name = $1", (NUMBER,)).fetchone()
            return int(row[0]) if row else 0

        if self.read(number) > SCHEMA_NUMBER:
            raise Damaged("this database was written by a newer version of this program; start that version")
        self.read(schema.lacks_extension)  # before the first write

    def before_migration(self) -> None:
        """Does nothing: the operators of PostgreSQL make its backups, and a migration is one transaction."""

    def columns(self, tx: Transaction, table: str) -> set[str]:
        return schema.columns_of(tx, table)

    def is_empty(self, tx: Transaction) -> bool:
        return schema.is_empty(tx)

    def indexes(self, tx: Transaction, table: Table) -> set[str]:
        return schema.indexes_of(tx, table)

    def outlines(self, tables: list[Table], texts: list[TextIndex]) -> list[str]:
        return schema.texts_of(tables, texts)

    def add_missing(self, tx: Transaction, tables: list[Table]) -> None:
        schema.add_missing(tx, tables)

    def add_table(self, tx: Transaction, table: Table) -> str | None:
        return schema.add_table(tx, table)

    def drop_table(self, tx: Transaction, table: Table) -> None:
        schema.drop_table(tx, table)

    def add_text(self, tx: Transaction, text: TextIndex) -> None:
        schema.add_text(tx, text)

    def text_parts(self, tx: Transaction, text: TextIndex) -> list[str]:
        return schema.text_parts(tx, text)

    def index_text(self, tx: Transaction, text: TextIndex, id: int, parts: Iterable[str]) -> None:
        tx.connection.later(
            f'INSERT INTO "{text.name}" (rowid, "words") VALUES ($1, $2::tsvector) '
            'ON CONFLICT (rowid) DO UPDATE SET "words" = EXCLUDED."words"',
            (id, tsvectors.as_tsvector(parts)),
        )


def _require_fit(connection: Connection) -> None:
    """Raises Damaged if the version of the server or the encoding of the database is not supported."""
    version = connection.driver.info.server_version
    if version < MIN_VERSION:
        raise Damaged(
            f"PostgreSQL {MIN_VERSION // 10000} or newer is needed, this is {version // 10000}; upgrade the server, or "
            "choose another in the setting database"
        )
    encoding = connection.execute("SHOW server_encoding")[0][0]
    if encoding != "UTF8":
        raise Damaged(
            f"the database keeps its texts as {encoding}; make one that keeps all characters: "
            "createdb --encoding=UTF8 --template=template0 NAME"
        )
