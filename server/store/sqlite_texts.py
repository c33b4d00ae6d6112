"""Full-text indexes in SQLite: tables of FTS5, each with a table of waiting texts.

A text that is indexed alone creates a segment of its own, to be merged later: ten times the work of one indexed with
many others. So a text is first stored in the transaction of its record, and indexed with others: when there are enough,
when the writer is idle, at the stop, or before a search. A search sees in its own snapshot whether texts wait
(Texts.has_waiting)."""

from collections.abc import Iterable

from server.store.fulltext import TextIndex
from server.store.transaction import Transaction

TEXT_WEIGHT = 2000  # base weight of a text; each character adds 1
LONG_WEIGHT = 16_000  # a heavier text is indexed at once, since its words are most of the work
ENOUGH_WEIGHT = 160_000  # waiting texts of an index: a few milliseconds of work
FEW = 8  # first texts after a search, indexed at once: the next search would wait for them
QUIET_SECONDS = 2.0  # without a write, after which the writer indexes waiting texts


class Texts:
    """Indexes the texts of one file. The counts in memory are estimates, since transactions are rolled back and
    programs killed; the tables are authoritative."""

    def __init__(self) -> None:
        self._weights: dict[str, int] = {}  # {index: weight of its waiting texts}
        self._unsearched = FEW  # texts since the last search for words
        self.are_stuck = False  # the last search could not index the waiting texts
        self._moving: dict[str, str] = {}  # statements, by index
        self._looking: dict[tuple[str, ...], str] = {}

    @property
    def may_wait(self) -> bool:
        """Returns whether texts of this process may wait."""
        return bool(self._weights)

    def index(self, tx: Transaction, text: TextIndex, id: int, parts: Iterable[str]) -> None:
        """Makes the texts of a record searchable, replacing earlier ones."""
        parts = tuple(parts)
        values, weight = (id, *parts), TEXT_WEIGHT + sum(map(len, parts))
        self._unsearched += 1
        if weight > LONG_WEIGHT or self._unsearched <= FEW:
            unwait(tx, text, id)
            tx.connection.execute(_insert(text.name, "rowid", text.columns), values)
            return
        tx.connection.execute(_insert(_waiting(text.name), "id", text.columns), values)
        self._weights[text.name] = self._weights.get(text.name, 0) + weight
        if self._weights[text.name] >= ENOUGH_WEIGHT:
            self.put_in(tx, (text.name,))

    def has_waiting(self, tx: Transaction, names: tuple[str, ...]) -> bool:
        """Returns whether texts wait for these indexes. Called by searches."""
        self._unsearched = 0
        looking = self._looking.get(names)
        if looking is None:
            looking = " OR ".join(f'EXISTS(SELECT 1 FROM "{_waiting(name)}")' for name in names)
            looking = self._looking[names] = f"SELECT {looking}"
        return bool(tx.connection.execute(looking).get)

    def put_in(self, tx: Transaction, names: Iterable[str]) -> None:
        """Indexes the waiting texts in the order of ids; any other order would create more segments."""
        for name in names:
            self._weights.pop(name, None)
            moving = self._moving.get(name)
            if moving is None:
                moving = self._moving[name] = _move(tx, name)
            tx.connection.execute(moving)
            tx.connection.execute(f'DELETE FROM "{_waiting(name)}"')

    def put_in_all(self, tx: Transaction) -> None:
        """Indexes the waiting texts of all indexes for which this process has any."""
        self.put_in(tx, list(self._weights))

    def add(self, tx: Transaction, text: TextIndex) -> None:
        """Creates the index, replacing one with other parts."""
        for name in (text.name, _waiting(text.name)):
            tx.connection.execute(f'DROP TABLE IF EXISTS "{name}"')
        self._moving.pop(text.name, None)
        tx.connection.execute(create_text(text))
        add_waiting(tx, text)


def create_text(text: TextIndex) -> str:
    """Returns the statement that creates the index."""
    columns = ", ".join(f'"{column}"' for column in text.columns)
    return (
        f"CREATE VIRTUAL TABLE \"{text.name}\" USING fts5({columns}, content='', contentless_delete=1, "
        f"tokenize='unicode61 remove_diacritics 2')"
    )


def create_waiting(text: TextIndex) -> str:
    """Returns the statement that creates the table of waiting texts."""
    columns = ", ".join(f'"{column}" TEXT NOT NULL' for column in text.columns)
    return f'CREATE TABLE IF NOT EXISTS "{_waiting(text.name)}" (id INTEGER PRIMARY KEY, {columns}) STRICT'


def add_waiting(tx: Transaction, text: TextIndex) -> None:
    """Creates the table of waiting texts, unless it exists."""
    tx.connection.execute(create_waiting(text))


def parts_of(tx: Transaction, text: TextIndex) -> list[str]:
    """Returns the parts of the index in the file, [] if there is none."""
    return [row[1] for row in tx.connection.execute(f'PRAGMA table_info("{text.name}")')]


def unwait(tx: Transaction, text: TextIndex, id: int) -> None:
    """Discards the waiting texts of a record."""
    tx.connection.execute(f'DELETE FROM "{_waiting(text.name)}" WHERE id = ?', (id,))


def _waiting(name: str) -> str:
    return f"{name}_waiting"


def _insert(table: str, key: str, columns: tuple[str, ...]) -> str:
    names = ", ".join(f'"{name}"' for name in (key, *columns))
    marks = ", ".join("?" * (names.count(",") + 1))
    return f'INSERT OR REPLACE INTO "{table}" ({names}) VALUES ({marks})'


def _move(tx: Transaction, name: str) -> str:
    columns = ", ".join(f'"{row[1]}"' for row in tx.connection.execute(f'PRAGMA table_info("{name}")'))
    return (
        f'INSERT OR REPLACE INTO "{name}" ("rowid", {columns}) SELECT "id", {columns} FROM "{_waiting(name)}" '
        'ORDER BY "id"'
    )
