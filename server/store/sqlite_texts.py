"""Full-text indexes as SQLite keeps them: tables of FTS5."""

from collections.abc import Iterable

from server.store.fulltext import TextIndex
from server.store.transaction import Transaction


def create_text(text: TextIndex) -> str:
    """The statement that makes the index."""
    columns = ", ".join(f'"{column}"' for column in text.columns)
    return (
        f"CREATE VIRTUAL TABLE \"{text.name}\" USING fts5({columns}, content='', contentless_delete=1, "
        f"tokenize='unicode61 remove_diacritics 2')"
    )


def add(tx: Transaction, text: TextIndex) -> None:
    """Make the index, in place of one with other parts."""
    tx.connection.execute(f'DROP TABLE IF EXISTS "{text.name}"')
    tx.connection.execute(create_text(text))


def parts_of(tx: Transaction, text: TextIndex) -> list[str]:
    """The parts of the index that the file has, [] when there is none."""
    return [row[1] for row in tx.connection.execute(f'PRAGMA table_info("{text.name}")')]


def index(tx: Transaction, text: TextIndex, id: int, parts: Iterable[str]) -> None:
    """Put a record's texts into the index, in place of what was there."""
    names = ("rowid", *text.columns)
    columns = ", ".join(f'"{name}"' for name in names)
    marks = ", ".join("?" * len(names))
    tx.connection.execute(f'INSERT OR REPLACE INTO "{text.name}" ({columns}) VALUES ({marks})', (id, *parts))
