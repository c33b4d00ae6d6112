"""Full-text indexes as SQLite keeps them: tables of FTS5, and beside each one a table of texts that wait.

A text that goes into the index by itself makes a segment of its own, which is merged with others later: ten times the
work of one that goes in together with many. So a text is first kept as it is, in the transaction of its record, and
goes into the index with others: when there are enough of them, when the writer has nothing to do, at the stop, or
before somebody looks for words. A search sees by its own snapshot whether texts wait there (Texts.has_waiting)."""

from collections.abc import Iterable
from functools import lru_cache

from server.store.fulltext import TextIndex
from server.store.transaction import Transaction

TEXT_WEIGHT = 2000  # of a text besides its characters
LONG_WEIGHT = 16_000  # of a text that is indexed at once, since its words are most of the work
ENOUGH_WEIGHT = 160_000  # of those that wait for one index: a few milliseconds of work for whoever puts them in
FEW = 8  # texts since the last search for words go in at once: the next search would have to wait for them
QUIET_SECONDS = 2.0  # without a write, after which the writer puts in what waits


class Texts:
    """Puts texts into the indexes of one file. What is known here of those that wait is a guess, since transactions
    are undone and programs killed: the tables tell."""

    def __init__(self) -> None:
        self._weights: dict[str, int] = {}  # of what waits, by index
        self._unsearched = FEW  # texts since the last search for words
        self.are_stuck = False  # those that wait could not be put in when somebody last looked for words
        self._moving: dict[str, str] = {}  # statements, by index
        self._looking: dict[tuple[str, ...], str] = {}

    @property
    def may_wait(self) -> bool:
        """Whether texts of this process may wait."""
        return bool(self._weights)

    def index(self, tx: Transaction, text: TextIndex, id: int, parts: Iterable[str]) -> None:
        """Have a record's texts found, in place of those that were there."""
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
        """Whether texts wait for these indexes, in which words are looked for now."""
        self._unsearched = 0
        looking = self._looking.get(names)
        if looking is None:
            looking = " OR ".join(f'EXISTS(SELECT 1 FROM "{_waiting(name)}")' for name in names)
            looking = self._looking[names] = f"SELECT {looking}"
        return bool(tx.connection.execute(looking).get)

    def put_in(self, tx: Transaction, names: Iterable[str]) -> None:
        """Put what waits into these indexes, in the order of ids: any other would make more segments."""
        for name in names:
            self._weights.pop(name, None)
            moving = self._moving.get(name)
            if moving is None:
                moving = self._moving[name] = _move(tx, name)
            tx.connection.execute(moving)
            tx.connection.execute(f'DELETE FROM "{_waiting(name)}"')

    def put_in_all(self, tx: Transaction) -> None:
        """The same, for all indexes for which texts of this process may wait."""
        self.put_in(tx, list(self._weights))

    def add(self, tx: Transaction, text: TextIndex) -> None:
        """Make the index, in place of one with other parts."""
        for name in (text.name, _waiting(text.name)):
            tx.connection.execute(f'DROP TABLE IF EXISTS "{name}"')
        self._moving.pop(text.name, None)
        tx.connection.execute(create_text(text))
        add_waiting(tx, text)


def create_text(text: TextIndex) -> str:
    """The statement that makes the index."""
    columns = ", ".join(f'"{column}"' for column in text.columns)
    return (
        f"CREATE VIRTUAL TABLE \"{text.name}\" USING fts5({columns}, content='', contentless_delete=1, "
        f"tokenize='unicode61 remove_diacritics 2')"
    )


def create_waiting(text: TextIndex) -> str:
    """The statement that makes the table of texts that wait for the index."""
    columns = ", ".join(f'"{column}" TEXT NOT NULL' for column in text.columns)
    return f'CREATE TABLE IF NOT EXISTS "{_waiting(text.name)}" (id INTEGER PRIMARY KEY, {columns}) STRICT'


def add_waiting(tx: Transaction, text: TextIndex) -> None:
    """Make the table of texts that wait, unless it is there."""
    tx.connection.execute(create_waiting(text))


def parts_of(tx: Transaction, text: TextIndex) -> list[str]:
    """The parts of the index that the file has, [] when there is none."""
    return [row[1] for row in tx.connection.execute(f'PRAGMA table_info("{text.name}")')]


def unwait(tx: Transaction, text: TextIndex, id: int) -> None:
    """Forget the texts of a record that wait, if they do."""
    tx.connection.execute(f'DELETE FROM "{_waiting(text.name)}" WHERE id = ?', (id,))


def _waiting(name: str) -> str:
    return f"{name}_waiting"


@lru_cache(maxsize=64)
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
