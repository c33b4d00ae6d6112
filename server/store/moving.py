"""Copies a database into another one, of the same kind or not: table by table in the order of the keys, in portions.
Each portion is one transaction of the target and includes the progress, so that an interrupted copy resumes where it
stopped.

Until the last transaction the target contains the table MOVING, and schema.py refuses to open it as a database of this
program. cli/moving.py finds the databases and ensures that nothing else uses them."""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from server.dataclass import dataclass
from server.errors import Conflict, Damaged, HelpdeskError
from server.store import schema
from server.store.database import Store
from server.store.fulltext import TEXT_FILL, TextIndex
from server.store.schema import META, MOVING, add_all, base_tables
from server.store.sqlite_schema import NUMBER
from server.store.statements import POSTGRESQL
from server.store.tables import Table
from server.store.transaction import Row, Transaction

PORTION_BYTES = 4 * 1024 * 1024  # texts and files in one transaction, approximately
MAX_ROWS, FIRST_ROWS = 5000, 200  # in one transaction
SOURCE = ""  # the row of MOVING that names the source; the other rows are named after tables
OWN_META = frozenset((schema.SCHEMA, NUMBER))  # each database has its own
NUL, INSTEAD = "\0", "\ufffd"  # PostgreSQL does not store NUL characters in texts
SUM = 2**128

Progress = Callable[[int, int], None]  # called with the number of copied rows and of all rows
Report = Callable[[str], None]


@dataclass(frozen=True)
class Amount:
    """The size of a database to copy. rows: their number by table. bytes: the size of the database on disk."""

    rows: dict[str, int]
    bytes: int

    @property
    def total(self) -> int:
        return sum(self.rows.values())


@dataclass(frozen=True)
class Copied:
    """The progress of a table. last: the key of the last copied row. rows: their number. sum: the sum of their digests,
    which does not depend on their order. replaced: the number of replaced NUL characters."""

    last: tuple[Any, ...] = ()
    rows: int = 0
    sum: int = 0
    replaced: int = 0

    def with_rows(self, table: Table, rows: Sequence[Row], replaced: int) -> "Copied":
        """Returns the progress after further rows, given as the target stores them."""
        key = _key_places(table)
        last = tuple(rows[-1][place] for place in key) if rows else self.last
        added = sum(map(digest, rows))
        return Copied(last, self.rows + len(rows), (self.sum + added) % SUM, self.replaced + replaced)

    def is_same(self, other: "Copied") -> bool:
        return (self.rows, self.sum) == (other.rows, other.sum)


@dataclass(frozen=True)
class Moved:
    """The outcome of a copy. replaced: {table: number of NUL characters in its texts that became U+FFFD}. was_begun:
    whether it resumed an earlier run. was_changed: whether it started again because the source had been used since
    then."""

    rows: int
    tables: int
    replaced: dict[str, int]
    was_begun: bool = False
    was_changed: bool = False


class Mover:
    """One copy. tables: the tables of the program. custom: the tables of custom record types. During the copy nothing
    else may write to the source or use the target."""

    def __init__(
        self,
        source: Store,
        target: Store,
        tables: list[Table],
        custom: list[Table],
        texts: list[TextIndex],
        name: str,
    ) -> None:
        """name: identifies the source. Raises Conflict if the target contains anything other than a copy of this
        source."""
        self._source, self._target = source, target
        self._all, self._custom, self._texts = base_tables(tables), custom, texts
        self._copied = ordered([each for each in (*self._all, *custom) if each not in (META, TEXT_FILL)])
        self._name = name
        self.was_begun = _is_begun(target, name)

    def run(self, reading: Transaction, progress: Progress, report: Report) -> Moved:
        """Copies the missing rows, verifies the copy and turns the target into a database of this program. reading: a
        transaction of the source, which must not change during the copy. report: called with each step as a phrase.
        Raises Damaged if source and copy differ at the end, and Conflict."""
        was_changed = False
        if self.was_begun:
            report("looking whether the source is as it was when the copy was begun")
            was_changed = not self._is_unchanged(reading)
        if was_changed:
            report("it was used since: the copy starts again")
        if was_changed or not self.was_begun:
            self._begin()
        done = self._copy(reading, progress)
        report("checking: all rows of the copy are read and compared with those of the source")
        self._check(done)
        report("making indexes, triggers and counts")
        self._end(reading)
        return Moved(
            sum(each.rows for each in done.values()),
            len(done),
            {name: each.replaced for name, each in done.items() if each.replaced},
            self.was_begun,
            was_changed,
        )

    # -- preparation ------------------------------------------------------------------------------------------------

    def _is_unchanged(self, reading: Transaction) -> bool:
        """Returns whether the rows copied by an earlier run are still the same in the source."""
        for table in self._copied:
            done = _state(self._target, table.name)
            if done.rows and not done.is_same(self._read_again(reading, table, done)):
                return False
        return True

    def _read_again(self, reading: Transaction, table: Table, earlier: Copied) -> Copied:
        done, size = Copied(), FIRST_ROWS
        while done.rows < earlier.rows:
            fetched = _next_rows(reading, table, done.last, min(size, earlier.rows - done.rows))
            rows, replaced = _as_target_stores(fetched)
            if not rows:
                break
            done = done.with_rows(table, rows, replaced)
            size = _portion(rows)
        return done

    def _begin(self) -> None:
        """Creates bare tables, in place of those of an unusable copy. Indexes and triggers follow at the end, when it
        is quicker to create them."""

        def begin(tx: Transaction) -> None:
            for table in (*reversed(self._copied), MOVING):
                tx.store.drop_table(tx, table)
            tx.store.add_missing(tx, [META, MOVING])
            for table in self._copied:
                tx.store.add_table(tx, _bare(table))
            tx.put(MOVING, {"name": SOURCE, "value": json.dumps(self._name)})

        self._target.write(begin)
        self._target.statements.forget()

    # -- rows -------------------------------------------------------------------------------------------------------

    def _copy(self, reading: Transaction, progress: Progress) -> dict[str, Copied]:
        total = sum(count(reading, table) for table in self._copied)
        done: dict[str, Copied] = {}
        before = 0
        for table in self._copied:
            done[table.name] = self._copy_table(
                reading,
                table,
                lambda rows, before=before: progress(before + rows, total),  # type: ignore[misc]
            )
            before += done[table.name].rows
        return done

    def _copy_table(self, reading: Transaction, table: Table, report: Callable[[int], None]) -> Copied:
        done, size = _state(self._target, table.name), FIRST_ROWS
        while fetched := _next_rows(reading, table, done.last, size):
            done = self._add_portion(table, done, fetched)
            report(done.rows)
            size = _portion(fetched)
        if not table.key:
            following = reading.next_ids(table, 1)[0]
            self._target.write(lambda tx: tx.set_next_id(table, following))
        return done

    def _add_portion(self, table: Table, done: Copied, fetched: Sequence[Row]) -> Copied:
        rows, replaced = _as_target_stores(fetched)
        progress = done.with_rows(table, rows, replaced)
        source_key = tuple(fetched[-1][place] for place in _key_places(table))
        progress = replace(progress, last=source_key)

        def write(tx: Transaction) -> None:
            tx.add_whole(table, rows)
            value = json.dumps([progress.last, progress.rows, f"{progress.sum:x}", progress.replaced])
            tx.put(MOVING, {"name": table.name, "value": value})

        try:
            self._target.write(write)
        except HelpdeskError:
            raise
        except self._target.fault as error:
            raise Conflict(f"rows of {table.name} cannot be kept there: {_one_line(error)}") from error
        return progress

    # -- the end ----------------------------------------------------------------------------------------------------

    def _check(self, done: dict[str, Copied]) -> None:
        for table in self._copied:
            copy = self._target.read(lambda tx, table=table: _sum_of_table(tx, table))  # type: ignore[misc]
            source = done[table.name]
            if not source.is_same(copy):
                raise Damaged(
                    f"{table.name} differs: {source.rows} rows in the source, {copy.rows} in the copy"
                    f"{'' if source.rows != copy.rows else ' with other contents'}; nothing uses the copy. Remove it, "
                    "look for what else writes into it, and begin again"
                )

    def _end(self, reading: Transaction) -> None:
        own = [row for row in reading.find(META) if row[0] not in OWN_META]

        def end(tx: Transaction) -> None:
            for row in own:
                tx.put(META, {"name": row[0], "value": row[1]})
            add_all(tx, self._all, self._texts)
            schema.add_tables(tx, self._custom)
            tx.store.drop_table(tx, MOVING)

        try:
            self._target.write(end)
        except HelpdeskError:
            raise
        except self._target.fault as error:
            raise Conflict(
                f"the rows are all there, and an index cannot be made: {_one_line(error)}. Values that must be unique "
                "may differ by case alone in the source; change one of them there and begin again"
            ) from error


def count_all(tx: Transaction, tables: list[Table], custom: list[Table]) -> dict[str, int]:
    """Returns {table: number of rows to copy}."""
    copied = [each for each in (*base_tables(tables), *custom) if each not in (META, TEXT_FILL)]
    return {table.name: count(tx, table) for table in copied}


def count(tx: Transaction, table: Table) -> int:
    """Returns the number of rows of a table."""
    return int(tx.connection.execute(f'SELECT count(*) FROM "{table.name}"').fetchone()[0])


def ordered(tables: Sequence[Table]) -> list[Table]:
    """Sorts tables so that each comes after the tables that its rows refer to.

    >>> from server.store.blobs import BLOB, BLOB_PIECE
    >>> [table.name for table in ordered([BLOB_PIECE, BLOB])]
    ['blob', 'blob_piece']
    """
    by_name = {table.name: table for table in tables}
    sorted_tables: dict[str, Table] = {}

    def add(table: Table) -> None:
        for column in table.columns:
            target = column.references.partition("(")[0]
            if target in by_name and target not in sorted_tables and target != table.name:
                add(by_name[target])
        sorted_tables.setdefault(table.name, table)

    for table in tables:
        add(table)
    return list(sorted_tables.values())


def digest(row: Row) -> int:
    """Returns a number computed from the contents of a row, the same for both kinds of database."""
    values = [hashlib.blake2b(each, digest_size=16).digest() if isinstance(each, bytes) else each for each in row]
    return int.from_bytes(hashlib.blake2b(repr(values).encode(), digest_size=16).digest(), "big")


def _is_begun(target: Store, name: str) -> bool:
    """Returns whether the target contains an unfinished copy of the named source. Raises Conflict if it contains
    anything else."""
    if not target.read(lambda tx: tx.store.columns(tx, MOVING.name)):
        if not target.read(lambda tx: tx.store.is_empty(tx)):
            raise Conflict(f"there are tables in {target.place} already; choose an empty database, or a new file")
        return False
    row = target.read(lambda tx: tx.first(MOVING, name=SOURCE))
    if row is None or json.loads(row[1]) != name:
        raise Conflict(f"{target.place} is a begun copy of another database; choose an empty one, or a new file")
    return True


def _state(target: Store, table: str) -> Copied:
    row = target.read(lambda tx: tx.first(MOVING, name=table))
    if row is None:
        return Copied()
    last, rows, sums, replaced = json.loads(row[1])
    return Copied(tuple(last), rows, int(sums, 16), replaced)


def _bare(table: Table) -> Table:
    return replace(table, indexes=(), bumps={}, summary=(), days=())


def _key_places(table: Table) -> list[int]:
    return [table.position[name] for name in table.key or ("id",)]


def _next_rows(tx: Transaction, table: Table, last: tuple[Any, ...], limit: int) -> list[Row]:
    """Returns the rows after a key, in the order of keys."""
    columns = ", ".join(f'"{name}"' for name in table.names)
    key = ", ".join(f'"{name}"' for name in table.key or ("id",))
    marks = ", ".join(f"${place}" if tx.store.dialect == POSTGRESQL else "?" for place in range(1, len(last) + 1))
    where = f" WHERE ({key}) > ({marks})" if last else ""
    text = f'SELECT {columns} FROM "{table.name}"{where} ORDER BY {key} LIMIT {limit}'
    rows: list[Row] = tx.connection.execute(text, last).fetchall()
    return [_as_texts(table, row) for row in rows] if _anys(table) else rows


def _sum_of_table(tx: Transaction, table: Table) -> Copied:
    """Computes number and digests of all rows of a table."""
    progress, size = Copied(), FIRST_ROWS
    while rows := _next_rows(tx, table, progress.last, size):
        progress = progress.with_rows(table, rows, 0)
        size = _portion(rows)
    return progress


def _anys(table: Table) -> list[int]:
    return [table.position[column.name] for column in table.columns if column.kind == "ANY"]


def _as_texts(table: Table, row: Row) -> Row:
    """Converts the values of columns of kind ANY to texts, as PostgreSQL stores them."""
    places = _anys(table)
    return tuple(str(value) if place in places and value is not None else value for place, value in enumerate(row))


def _as_target_stores(rows: Sequence[Row]) -> tuple[list[Row], int]:
    """Returns the rows as the target stores them, and the number of replaced characters."""
    stored, replaced = [], 0
    for row in rows:
        nuls = sum(value.count(NUL) for value in row if isinstance(value, str))
        if nuls:
            row = tuple(value.replace(NUL, INSTEAD) if isinstance(value, str) else value for value in row)
            replaced += nuls
        if any(isinstance(value, float) for value in row):
            row = tuple(value + 0.0 if isinstance(value, float) else value for value in row)  # -0.0 is 0.0
        stored.append(row)
    return stored, replaced


def _portion(rows: Sequence[Row]) -> int:
    """Returns the number of rows of the next portion, according to the size of the given ones."""
    size = sum(len(value) if isinstance(value, (str, bytes)) else 8 for row in rows for value in row)
    return max(min(len(rows) * PORTION_BYTES // max(size, 1), 2 * len(rows), MAX_ROWS), 1)


def _one_line(error: BaseException) -> str:
    return str(error).strip().replace("\n", " ")
