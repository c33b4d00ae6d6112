"""Stores the versions of articles: the texts of each save with author and time, up to a limit.

The newest version equals the article. help_center/article_history.py reads the versions."""

from collections.abc import Callable
from typing import Any

import peewee

from server.record_types.parts import Change, Writing
from server.store.statements import slot
from server.store.tables import Column, Index, Table
from server.store.transaction import Transaction

TEXTS = ("title", "summary", "content", "format")  # fields of a version that are restored
NOTED = (*TEXTS, "status")
MAX_VERSIONS = 50  # per article, including the current one; the oldest are deleted first
MAX_VERSION_CHARS = 32 * 1024 * 1024  # per article, not counting the newest two

VERSION = Table(
    "kb_article_version",
    [
        Column("article_id"),
        Column("number"),
        Column("at"),
        Column("actor_context", "TEXT"),
        Column("actor_id"),
        Column("actor_name", "TEXT"),
        Column("changed", "TEXT"),
        Column("size"),
        *(Column(name, "TEXT") for name in NOTED),
    ],
    [Index(("article_id", "number"), "the versions of an article; one of them", unique=True)],
)  # at: time of the save. actor_*: the author, blank if unknown. changed: the fields that differ from the previous
# version, separated by blanks. size: characters of all fields. Rows stay for a day after their article, for an undo.


def store_version(change: Change, writing: Writing) -> None:
    """Stores a change of texts or status as a version, in the same transaction, and deletes the oldest versions."""
    changed = [name for name in NOTED if change.changes(name)]
    if not (change.is_create or changed):
        return
    number = newest_number(writing.tx, change.id) + 1
    if number == 1 and not change.is_create:  # created before versions were stored
        _add(writing, change.id, 1, change.was("updated"), ("", 0, ""), "", _texts(change.was))
        number = 2
    actor = writing.actor
    who = (actor.context, actor.id, writing.label(actor.context, actor.id))
    named = "" if change.is_create else " ".join(changed)
    _add(writing, change.id, number, writing.now, who, named, _texts(change.value))
    if number > 1:
        _forget_oldest(writing, change.id)


def newest_number(tx: Transaction, id: int) -> int:
    """Returns the number of the newest version, 0 if none is stored."""
    table: Any = VERSION.sql
    query = tx.value(lambda: table.select(peewee.fn.MAX(table.number)).where(table.article_id == slot(0)), (id,))
    return int(query or 0)


def _texts(value: Callable[[str], Any]) -> dict[str, str]:
    """Returns the texts of a version. value: reads a column of the article."""
    return {name: str(value(name)) for name in NOTED}


def _add(
    writing: Writing, id: int, number: int, at: int, who: tuple[str, int, str], changed: str, texts: dict[str, str]
) -> None:
    values = {"article_id": id, "number": number, "at": at, "changed": changed, "size": sum(map(len, texts.values()))}
    author = {"actor_context": who[0], "actor_id": who[1], "actor_name": who[2]}
    writing.tx.insert(VERSION, values | author | texts)


def _forget_oldest(writing: Writing, id: int) -> None:
    """Deletes the versions beyond the limits."""
    table = VERSION.sql
    sizes = writing.tx.rows(
        lambda: table.select(table.id, table.size).where(table.article_id == slot(0)).order_by(table.number.desc()),
        (id,),
    )
    old, chars = [], 0
    for place, (version, size) in enumerate(sizes):
        chars += size if place > 1 else 0
        if place >= MAX_VERSIONS or chars > MAX_VERSION_CHARS:
            old.append((version,))
    writing.tx.run_many(lambda: table.delete().where(table.id == slot(0)), old)
