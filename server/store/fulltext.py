"""Full-text indexes of the texts of records. A search finds everything committed before it, although texts may wait
until then to be indexed together (sqlite_texts.py).

An index stores words and positions only; the texts stay in their tables. The query language is that of SQLite's FTS5,
which is known only here; postgresql/tsvectors.py translates it."""

from typing import Any

import peewee

from server.dataclass import dataclass
from server.store import words
from server.store.statement_shapes import Part
from server.store.statements import SQLITE, slot
from server.store.tables import Column, Table, table_named
from server.store.transaction import Transaction

MAX_INDEXED_CHARS = 50_000  # per text; the rest of a mail is quoted history
MIN_WORD, MAX_WORD = 3, 83
STOP_WORDS = frozenset(
    "a about an are as at be by can com de en for from how http https i in is it la of on or that the this to und was "
    "what when where who will with www you".split()
)


# Indexes that were added to existing rows, and their progress; see records/index_backfill.py.
# is_refill: the index is complete, but has texts beyond ASCII as words of an earlier version of words.py.
TEXT_FILL = Table(
    "text_fill", [Column("name", "TEXT"), Column("next_id"), Column("top_id"), Column("is_refill")], key=("name",)
)


@dataclass(frozen=True)
class TextIndex(Part):
    """A full-text index. `columns` are its parts; the row id is the id of the record, a row of the table `of`."""

    name: str
    columns: tuple[str, ...]
    of: str

    @property
    def sql(self) -> Any:
        return peewee.Table(self.name, ("rowid", self.name, *self.columns))


def make(tx: Transaction, text: TextIndex) -> None:
    """Creates the index, replacing one with other parts, and marks existing rows to be indexed, the newest first."""
    tx.store.add_text(tx, text)
    _fill(tx, text, is_refill=False)


def refill(tx: Transaction, text: TextIndex) -> None:
    """Marks texts beyond ASCII to be indexed again after a change of words.py. Searches continue meanwhile."""
    row = tx.first(TEXT_FILL, name=text.name)
    _fill(tx, text, is_refill=row is None or bool(row[3]))


def _fill(tx: Transaction, text: TextIndex, *, is_refill: bool) -> None:
    records = table_named(text.of)
    top = tx.value(lambda: records.select(peewee.fn.MAX(records.c.id)))
    if top:
        tx.put(TEXT_FILL, {"name": text.name, "next_id": top, "top_id": top, "is_refill": int(is_refill)})


def index(tx: Transaction, text: TextIndex, id: int, parts: dict[str, str]) -> None:
    """Indexes the texts of a record, replacing earlier ones. Absent parts are empty."""
    tx.statements += 1
    tx.store.index_text(
        tx, text, id, [words.indexed(parts.get(column, "")[:MAX_INDEXED_CHARS]) for column in text.columns]
    )


def remove(tx: Transaction, text: TextIndex, id: int) -> None:
    """Removes a record from the index."""
    table = text.sql
    tx.run(lambda: table.delete().where(table.rowid == slot(0)), (id,))
    tx.store.unwait_text(tx, text, id)


class Match(peewee.Node):
    """The condition that a row of the index matches a query of `words_query`."""

    def __init__(self, text: TextIndex, value: peewee.Node) -> None:
        self.text, self.value = text, value

    def __sql__(self, ctx: Any) -> Any:
        if ctx.dialect == SQLITE:
            return ctx.literal(f'"{self.text.name}" MATCH ').sql(self.value)
        return ctx.literal('"words" @@ ').sql(ctx.words(self.text, self.value)).literal("::tsquery")


def match(text: TextIndex, value: Any) -> Any:
    """Returns the condition that a row of the index matches `value`, a query of `words_query`; for select().where()."""
    return Match(text, value)


def words_query(query: str, is_phrase: bool = False, column: str = "") -> str | None:
    """Returns a full-text query for a user's words, or None if no searchable word is left.

    All words must occur; `word*` finds beginnings; a word with symbols in it, such as an address, is a phrase. Stop
    words and words under three letters are ignored, except inside phrases and as beginnings, such as `be*`.

    >>> words_query("the pump leak*")
    '"pump" "leak"*'
    >>> words_query("ana@larch.example")
    '"ana larch example"'
    >>> words_query("of the") is None
    True
    """
    searched = phrases(query, is_phrase)
    return phrases_query(searched, column) if searched else None


def phrases(query: str, is_phrase: bool = False) -> list[words.Phrase]:
    """Returns the searchable phrases of a user's words."""
    pieces = [query] if is_phrase else query.split()
    found = (words.phrase(piece, piece.endswith("*")) for piece in pieces)
    return [each for each in found if each is not None and not _is_passed_over(each, is_phrase)]


def phrases_query(searched: list[words.Phrase], column: str = "") -> str:
    """Returns the full-text query for texts, or one of their columns, in which all of these phrases occur."""
    joined = " ".join('"{}"{}'.format(" ".join(each.words), "*" if each.is_start else "") for each in searched)
    return f"{{{column}}} : ({joined})" if column else joined


def _is_passed_over(phrase: words.Phrase, is_quoted: bool) -> bool:
    """Returns whether a phrase is too short, too long or too common to be searched."""
    if phrase.is_unspaced:
        return False
    if len(phrase.words) == 1 and not is_quoted:
        word = phrase.words[0]
        return len(word) > MAX_WORD or (not phrase.is_start and (len(word) < MIN_WORD or word.lower() in STOP_WORDS))
    return is_quoted and not phrase.is_start and all(word.lower() in STOP_WORDS for word in phrase.words)


def problems(tx: Transaction, text: TextIndex) -> list[str]:
    """Lists the problems of the index; [] if it is sound."""
    table = text.sql
    was_as_indexed, tx.as_indexed = tx.as_indexed, True
    try:
        tx.value(lambda: table.select(peewee.fn.COUNT(table.rowid)).where(match(text, slot(0))), ('"zzzz"',))
    except Exception as error:  # any error belongs in the report of `helpdesk check`
        return [f"full-text index {text.name} cannot be read: {error}"]
    finally:
        tx.as_indexed = was_as_indexed
    return []
