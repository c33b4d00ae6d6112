"""One connection to PostgreSQL, with what the store asks of one to SQLite: texts with their values in, rows out."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import psycopg
from psycopg import RawCursor, RawServerCursor, pq
from psycopg.adapt import Loader
from psycopg.types.numeric import Int8Dumper
from psycopg.types.string import StrDumperUnknown

READ, WRITE = "helpdesk reads", "helpdesk writes"  # as pg_stat_activity shows them
APPLICATION = "application_name"
STATEMENTS_PREPARED = 512  # kept on each connection
EACH_ROWS = 500  # fetched at once where rows are read one after the other
IN_TRANSACTION = (pq.TransactionStatus.INTRANS, pq.TransactionStatus.INERROR)
DEFINING = ("CREATE", "ALTER", "DROP")


class _FlagDumper(Int8Dumper):
    """Yes and no are whole numbers in the tables."""

    def dump(self, obj: Any) -> bytes:
        return b"1" if obj else b"0"


class _TextDumper(StrDumperUnknown):
    """Text whose type is that of what it is compared with. PostgreSQL keeps no NUL characters."""

    def dump(self, obj: str) -> Any:
        return super().dump(obj.replace("\0", "\ufffd") if "\0" in obj else obj)


class _NumberLoader(Loader):
    """Sums and means: whole numbers where they are."""

    def load(self, data: Any) -> int | float:
        text = bytes(data)
        return int(text) if text.lstrip(b"-").isdigit() else float(text)


class _FlagLoader(Loader):
    def load(self, data: Any) -> int:
        return int(bytes(data) == b"t")


def connect(address: str, name: str, options: dict[str, str], seconds: int) -> "Connection":
    """A new connection. options: settings of PostgreSQL for it. Raises psycopg.Error."""
    told = " ".join(f"-c {option}={value}" for option, value in options.items())
    given: dict[str, Any] = psycopg.conninfo.conninfo_to_dict(address)
    told = f"{given.pop('options', '')} {told}".strip()
    driver = psycopg.Connection.connect(
        **{"connect_timeout": seconds, "fallback_application_name": name, **given},
        options=told, autocommit=True, cursor_factory=RawCursor, prepare_threshold=1,
    )  # fmt: skip
    driver.prepared_max = STATEMENTS_PREPARED
    adapters = driver.adapters
    adapters.register_dumper(int, Int8Dumper)
    adapters.register_dumper(bool, _FlagDumper)
    adapters.register_dumper(str, _TextDumper)
    adapters.register_loader("numeric", _NumberLoader)
    adapters.register_loader("bool", _FlagLoader)
    return Connection(driver)


class Connection:
    """`driver` is psycopg's."""

    __slots__ = ("driver", "outline", "_changes", "_total")

    def __init__(self, driver: "psycopg.Connection[Any]") -> None:
        self.driver = driver
        self.outline = 0  # how often it changed tables
        self._changes = 0  # rows that the last statement changed
        self._total = 0

    def execute(self, sql: str, values: Sequence[Any] = ()) -> Any:
        """Run a statement; answers a cursor with fetchall, fetchone, and its rows one after the other."""
        cursor = self.driver.execute(sql, values or None)
        if cursor.description is None:
            self._changes = max(cursor.rowcount, 0)
            self._total += self._changes
            if sql.startswith(DEFINING):
                self.outline += 1
        return cursor

    def insert(self, sql: str, values: Sequence[Any]) -> int:
        """Run a statement that adds a row and tells its id; answers that."""
        row: Any = self.driver.execute(sql, values).fetchone()
        self._changes = 1
        self._total += 1
        return int(row[0])

    def executemany(self, sql: str, values: Iterable[Sequence[Any]]) -> None:
        """Run a statement once for each of these values, in one go."""
        with self.driver.cursor() as cursor:
            cursor.executemany(sql, list(values))
            self._changes = max(cursor.rowcount, 0)
            self._total += self._changes

    def each(self, sql: str, values: Sequence[Any]) -> Iterator[Any]:
        """The rows one after the other, never all of them in memory."""
        with RawServerCursor(self.driver, "each", scrollable=False) as cursor:
            cursor.itersize = EACH_ROWS
            cursor.execute(sql, values)
            yield from cursor

    def changes(self) -> int:
        return self._changes

    def total_changes(self) -> int:
        return self._total

    @property
    def in_transaction(self) -> bool:
        return self.driver.pgconn.transaction_status in IN_TRANSACTION

    @property
    def is_failed(self) -> bool:
        """Whether no transaction runs, or it takes nothing more before it is rolled back."""
        return self.driver.pgconn.transaction_status != pq.TransactionStatus.INTRANS

    @property
    def is_lost(self) -> bool:
        return self.driver.closed or self.driver.broken

    def close(self) -> None:
        self.driver.close()
