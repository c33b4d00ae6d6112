"""Stores the versions of articles. help_center/article_history.py reads them."""

from collections.abc import Callable
from typing import Any

from server.record_types.parts import Change, Writing
from server.record_types.shared import record_versions
from server.store.tables import Column

TEXTS = ("title", "summary", "content", "format")  # fields of a version that are restored
NOTED = (*TEXTS, "status")

# Rows stay for a day after their article, for an undo.
VERSION = record_versions.version_table(
    "kb_article_version", Column("article_id"), NOTED, "the versions of an article; one of them"
)


def store_version(change: Change, writing: Writing) -> None:
    """Stores a change of texts or status as a version, in the same transaction."""
    changed = [name for name in NOTED if change.changes(name)]
    if not (change.is_create or changed):
        return
    number = record_versions.newest_number(VERSION, writing.tx, change.id) + 1
    since = None
    if change.is_create:
        changed = []
    elif number == 1:  # created before versions were stored
        number, since = 2, change.was("updated")
    record_versions.store_version(VERSION, change, writing, number, changed, _texts, since)


def _texts(value: Callable[[str], Any]) -> dict[str, str]:
    """Returns the texts of a version. value: reads a column of the article."""
    return {name: str(value(name)) for name in NOTED}
