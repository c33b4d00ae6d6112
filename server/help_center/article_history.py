"""Lists earlier versions of articles and restores them. record_types/kb/article_versions.py stores them."""

from collections.abc import Mapping
from typing import Any

from server.context import Context
from server.dataclass import dataclass
from server.errors import NotFound
from server.record_types.kb.article_versions import NOTED, TEXTS, VERSION
from server.record_types.shared.record_versions import MAX_VERSIONS, list_rows, newest_number
from server.records import records
from server.records.reading import RecordReader
from server.store.transaction import Transaction
from server.translation import lazy_gettext

URI = "kb_article"
_WITHOUT_TEXTS = ("number", "at", "actor_name", "changed", "size", "status")


@dataclass(frozen=True, slots=True)
class ArticleVersion:
    """A version of an article. number: from 1; the highest is the current one. at: Unix seconds of the save.
    actor_name: "" if unknown. changed: the fields that differ from the previous version. size: in characters."""

    number: int
    at: int
    actor_name: str
    changed: tuple[str, ...]
    size: int
    status: str


@dataclass(frozen=True, slots=True)
class ArticleComparison:
    """A version, and how it differs from another. texts: its fields. differing: {field: (old text, new text)}. older:
    the number of the version before, 0 for none."""

    texts: Mapping[str, str]
    differing: Mapping[str, tuple[str, str]]
    older: int


def list_article_versions(ctx: Context, id: int) -> list[ArticleVersion]:
    """Returns the versions of an article, newest first; [] if it has not changed since versions are stored. Raises
    NotFound, Forbidden."""

    def read(tx: Transaction) -> list[ArticleVersion]:
        RecordReader(ctx, tx).retrieve(URI, id)
        return [ArticleVersion(**values) for values in list_rows(VERSION, _WITHOUT_TEXTS, tx, id)]

    return records.reading(ctx, read)


def compare_article(ctx: Context, id: int, number: int, *, is_with_now: bool) -> ArticleComparison:
    """Compares a version of an article with the one before, or with the present texts. Raises NotFound, Forbidden."""
    version = _texts(ctx, id, number)
    older = next((each.number for each in list_article_versions(ctx, id) if each.number < number), 0)
    if is_with_now:
        [article] = records.stored(ctx, URI, [id])
        pair = (version, {name: str(article[name]) for name in NOTED})
    else:
        pair = (_texts(ctx, id, older) if older else version, version)
    before, after = pair
    differing = {name: (before[name], after[name]) for name in TEXTS if before[name] != after[name]}
    return ArticleComparison(version, differing, older)


def restore_version(ctx: Context, id: int, number: int) -> int:
    """Restores the texts of a version as an ordinary change; returns the number of the version that was current before.
    Raises NotFound, Forbidden."""
    texts = _texts(ctx, id, number)
    before = records.reading(ctx, lambda tx: newest_number(VERSION, tx, id))
    records.update(ctx, URI, id, {name: texts[name] for name in TEXTS})
    return before


def _texts(ctx: Context, id: int, number: int) -> dict[str, str]:
    """Returns the texts of a version by field. Raises NotFound if the version is no longer stored, Forbidden."""

    def read(tx: Transaction) -> dict[str, str]:
        RecordReader(ctx, tx).retrieve(URI, id)
        row: Any = tx.first(VERSION, article_id=id, number=number)
        if row is None:
            problem = lazy_gettext(
                "version {number} no longer exists; only the newest {count} are stored",
                number=number,
                count=MAX_VERSIONS,
            )
            raise NotFound(problem, type=URI, id=id)
        return {name: row[VERSION.position[name]] for name in NOTED}

    return records.reading(ctx, read)
