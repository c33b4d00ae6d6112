"""Articles as the team manages them: the list by category, their order, and deletions that can be undone."""

from collections.abc import Iterable
from dataclasses import field
from typing import Any

import peewee

from server.access.service_actor import own_context
from server.context import Context, Service
from server.dataclass import dataclass
from server.errors import NotFound
from server.help_center import votes
from server.help_center.votes import DELETED_VOTE, VOTE
from server.jobs.scheduler import periodic
from server.people import undoable_deletions
from server.people.undoable_deletions import UNDOABLE_DELETION
from server.record_types.kb.article_files import ARTICLE, attach_own
from server.record_types.kb.article_versions import VERSION
from server.record_types.kb.categories import PLACED, Tree
from server.record_types.shared import brands
from server.record_types.shared.relation_tables import ATTACHED
from server.records import records
from server.records.reading import RecordReader
from server.records.writing import RecordWriter
from server.store.statements import slot
from server.store.tables import Column, Table, table_named
from server.store.transaction import Transaction
from server.translation import N_, _

URI, CATEGORY = "kb_article", "kb_category"
PUBLISH = f"contexts.{ARTICLE}.publish"
GONE = 200  # deleted articles that are cleared in one run
_COLUMNS = ("id", "title", "status", "language", "translation_of_id", "position", "updated", "brand_id", "views")

DELETED_FILE = Table(
    "kb_deleted_file",
    [Column("article_id"), Column("attachment_id")],
    key=("article_id", "attachment_id"),
)  # files of deleted articles, until an article is restored or can no longer be


@dataclass(frozen=True, slots=True)
class ArticleLine:
    """An article in the list of all. translations: of an original, by language."""

    id: int
    title: str
    status: str
    language: str
    translation_of_id: int
    position: int
    updated: int
    brand_id: int
    views: int
    helpful: int = 0
    unhelpful: int = 0
    translations: "dict[str, ArticleLine]" = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CategoryLine:
    """A category with its articles, in their order. trail: the names of those above it, the top first."""

    id: int
    name: str
    parent_id: int
    trail: tuple[str, ...]
    language: str
    articles: list[ArticleLine]


def may_publish(ctx: Context) -> bool:
    """Returns whether the caller may publish articles, and change published ones."""
    return ctx.actor.may(PUBLISH)


def languages(ctx: Context) -> list[str]:
    """Returns the languages of all brands, then further languages of articles."""

    def read(tx: Transaction) -> list[str]:
        table = table_named(URI)
        own = [tag for each in brands.all_brands(tx) for tag in each.languages]
        used = [row[0] for row in tx.rows(lambda: table.select(table.c.language).distinct()) if row[0]]
        return list(dict.fromkeys([*own, *sorted(used)]))

    return records.reading(ctx, read)


def overview(ctx: Context, q: str, *, status: str = "", language: str = "", missing: str = "") -> list[CategoryLine]:
    """Returns the categories in their order with the articles that a search finds; articles without a category follow
    under the id 0. Translations are listed with their original, if the search finds it. status, language: of the
    articles, "" for all. missing: a language that the articles lack. Raises BadQuery."""

    def read(tx: Transaction) -> list[CategoryLine]:
        reader = RecordReader(ctx, tx)
        table = table_named(URI)
        rows = tx.rows(
            lambda: table.select(*(getattr(table.c, name) for name in _COLUMNS)).order_by(table.c.position, table.c.id)
        )
        tallies = _votes(tx)
        lines = {row[0]: _line(row, *tallies.get(row[0], (0, 0))) for row in rows}
        found = set(reader.search_ids(URI, q)) if q.strip() else lines.keys()
        ids = {
            each.id
            for each in lines.values()
            if each.id in found and status in ("", each.status) and language in ("", each.language)
        }
        for each in lines.values():
            original = lines.get(each.translation_of_id)
            if original is not None:
                original.translations[each.language] = each
        articles = [each for each in lines.values() if each.id in ids and each.translation_of_id not in ids]
        if missing:
            articles = [each for each in articles if not each.translation_of_id and missing not in _spoken(each)]
        return _by_category(tx, articles)

    return records.reading(ctx, read)


def _line(row: tuple[Any, ...], helpful: int, unhelpful: int) -> ArticleLine:
    return ArticleLine(**dict(zip(_COLUMNS, row, strict=True)), helpful=helpful, unhelpful=unhelpful)


def _votes(tx: Transaction) -> dict[int, tuple[int, int]]:
    """Returns the numbers of votes by article: helpful, and not helpful."""
    vote: Any = VOTE.sql
    rows = tx.rows(
        lambda: vote.select(vote.article_id, peewee.fn.SUM(vote.is_helpful), peewee.fn.COUNT(vote.id)).group_by(
            vote.article_id
        )
    )
    return {id: (int(yes), int(total) - int(yes)) for id, yes, total in rows}


def _spoken(line: ArticleLine) -> set[str]:
    return {line.language, *line.translations}


def _by_category(tx: Transaction, articles: list[ArticleLine]) -> list[CategoryLine]:
    table, placed = table_named(CATEGORY), PLACED.sql
    rows = tx.rows(
        lambda: table.select(
            table.c.id, table.c.name, table.c.parent_id, table.c.language, table.c.translation_of_id
        ).order_by(table.c.position, table.c.id)
    )
    names, tree = {id: (name, parent) for id, name, parent, *_more in rows}, Tree(tx)
    articles_by_category: dict[int, set[int]] = {}
    for article_id, category_id in tx.rows(lambda: placed.select(placed.article_id, placed.category_id)):
        articles_by_category.setdefault(category_id, set()).add(article_id)
    ordered = _depth_first([(id, parent) for id, _name, parent, _language, original in rows if not original])
    languages_by_id = {id: language for id, _name, _parent, language, _original in rows}
    lines = [
        CategoryLine(
            id,
            names[id][0],
            names[id][1],
            tuple(each.name for each in tree.trail(names[id][1])),
            languages_by_id[id],
            [each for each in articles if each.id in articles_by_category.get(id, ())],
        )
        for id in ordered
    ]
    placed_ids = {each.id for line in lines for each in line.articles}
    rest = [each for each in articles if each.id not in placed_ids]
    return [*lines, CategoryLine(0, "", 0, (), "", rest)] if rest else lines


def _depth_first(pairs: list[tuple[int, int]]) -> list[int]:
    """Returns ids so that each follows the one above it. pairs: id and the id above, in the order of siblings."""
    ids = {id for id, _parent in pairs}
    below: dict[int, list[int]] = {}
    for id, parent in pairs:
        below.setdefault(parent if parent in ids else 0, []).append(id)
    ordered: list[int] = []
    waiting = list(reversed(below.get(0, [])))
    while waiting:
        id = waiting.pop()
        ordered.append(id)
        waiting += reversed(below.get(id, []))
    return ordered


# -- order -------------------------------------------------------------------------------------------------------------


def move_article(ctx: Context, category_id: int, id: int, by: int) -> None:
    """Moves an article down in a category, up if `by` is negative. category_id: 0 for articles without one. Raises
    NotFound, Forbidden."""

    def write(tx: Transaction) -> None:
        line = next((each for each in _by_category(tx, _originals(tx)) if each.id == category_id), None)
        _move(
            RecordWriter(ctx, tx), URI, [(each.id, each.position) for each in (line.articles if line else ())], id, by
        )

    ctx.service.store.write(write)


def move_category(ctx: Context, id: int, by: int) -> None:
    """Moves a category down on its level, up if `by` is negative. Raises NotFound, Forbidden."""

    def write(tx: Transaction) -> None:
        writing = RecordWriter(ctx, tx)
        parent, table = writing.retrieve(CATEGORY, id)["parent_id"], table_named(CATEGORY)
        rows = tx.rows(
            lambda: (
                table.select(table.c.id, table.c.position)
                .where(table.c.parent_id == slot(0), table.c.translation_of_id == slot(1))
                .order_by(table.c.position, table.c.id)
            ),
            (parent, 0),
        )
        _move(writing, CATEGORY, rows, id, by)

    ctx.service.store.write(write)


def _originals(tx: Transaction) -> list[ArticleLine]:
    table = table_named(URI)
    rows = tx.rows(
        lambda: (
            table.select(*(getattr(table.c, name) for name in _COLUMNS))
            .where(table.c.translation_of_id == slot(0))
            .order_by(table.c.position, table.c.id)
        ),
        (0,),
    )
    return [ArticleLine(*row) for row in rows]


def _move(writing: RecordWriter, uri: str, positions: Iterable[tuple[int, int]], id: int, by: int) -> None:
    """Moves a record of a list. The records share out their positions, so that others keep their places."""
    stored = dict(positions)
    places, ids = list(stored.values()), list(stored)
    if id not in ids:
        raise NotFound(_("This is no longer in the list. Load the page again."), type=uri, id=id)
    at = ids.index(id)
    ids.insert(min(max(at + by, 0), len(ids) - 1), ids.pop(at))
    least = 0
    for each, place in zip(ids, places, strict=True):
        least = max(least, place)
        if stored[each] != least:
            writing.update_sent(writing.registry.type(uri), each, {"position": str(least)})
        least += 1


# -- deletion and files ------------------------------------------------------------------------------------------------


def delete_article(ctx: Context, id: int) -> bool:
    """Deletes an article. Returns whether the worker can restore it, with its files and votes. Raises NotFound,
    Forbidden."""
    fields = records.editable(ctx, URI, id)

    def write(tx: Transaction) -> bool:
        places = [row[1] for row in tx.find(PLACED, article_id=id)]
        translations = [row[0] for row in tx.find(ctx.service.registry.type(URI).table, translation_of_id=id)]
        for row in tx.find(ATTACHED, context=ARTICLE, record_id=id):
            tx.put(DELETED_FILE, {"article_id": id, "attachment_id": row[0]})
            tx.delete(ATTACHED, attachment_id=row[0], context=ARTICLE, record_id=id)
        votes.hold_votes(tx, id)
        records.delete(ctx, URI, id)
        stored = fields | {"categories": places, "translations": translations}
        return undoable_deletions.store(ctx, tx, URI, id, stored)

    return ctx.service.store.write(write)


def restore_article(ctx: Context, id: int) -> str:
    """Creates an article again that the worker has deleted, with its id, so that its address works; returns its title.
    Raises NotFound, Forbidden."""

    def write(tx: Transaction) -> str:
        writing = RecordWriter(ctx, tx)
        article = writing.registry.type(URI)
        stored = undoable_deletions.take(ctx, tx, URI, id)
        sent = undoable_deletions.fields_of(article, stored)
        if sent["translation_of_id"] and writing.record(URI, sent["translation_of_id"]) is None:
            sent["translation_of_id"] = 0
        writing.create_sent(article, sent, id)
        for each in stored["translations"]:
            if writing.record(URI, each) is not None:
                writing.set(URI, each, {"translation_of_id": id})
        for row in tx.find(DELETED_FILE, article_id=id):
            if writing.record("attachment", row[1]) is not None:
                tx.put(ATTACHED, {"attachment_id": row[1], "context": ARTICLE, "record_id": id})
        tx.delete(DELETED_FILE, article_id=id)
        votes.restore_votes(tx, id)
        return str(stored["title"])

    return ctx.service.store.write(write)


def attach_files(ctx: Context, id: int, file_ids: Iterable[int]) -> None:
    """Attaches files that the worker has uploaded to an article. Raises NotFound, Forbidden."""

    def write(tx: Transaction) -> None:
        writing = RecordWriter(ctx, tx)
        writing.registry.type(URI).require_file_change(id, writing)
        attach_own(writing, id, file_ids)

    ctx.service.store.write(write)


def detach_file(ctx: Context, id: int, file_id: int) -> str:
    """Removes a file from an article, and deletes it if it belongs to nothing else; returns its name. Raises NotFound,
    Forbidden."""

    def write(tx: Transaction) -> str:
        writing = RecordWriter(ctx, tx)
        row = {"attachment_id": file_id, "context": ARTICLE, "record_id": id}
        writing.registry.type(URI).require_file_change(id, writing)
        file = writing.record("attachment", file_id)
        if file is None or not tx.first(ATTACHED, **row):
            raise NotFound(_("The article does not have this file."), type="attachment", id=file_id)
        tx.delete(ATTACHED, **row)
        if tx.first(ATTACHED, attachment_id=file_id):
            writing.touch("attachment", id=file_id)
        else:
            writing.delete("attachment", file_id)
        return str(file["name"])

    return ctx.service.store.write(write)


@periodic(
    N_("deleted articles"),
    N_("Removes versions, files and votes of articles that can no longer be restored."),
    deletes=True,
)
def forget_deleted(service: Service, now: int) -> None:
    """Removes the versions, files and votes of articles that are gone and cannot be restored."""
    ctx = own_context(service, now)
    for id in records.reading(ctx, _gone):
        service.store.write(lambda tx, id=id: _forget(RecordWriter(ctx, tx), id))  # type: ignore[misc]


def _gone(tx: Transaction) -> list[int]:
    """Returns the ids of deleted articles that still have versions, files or votes and cannot be restored."""
    return sorted({id for table in (VERSION, DELETED_FILE, DELETED_VOTE) for id in _left_in(tx, table)})


def _left_in(tx: Transaction, table: Table) -> list[int]:
    rows: Any = table.sql
    article, undoable = table_named(URI), UNDOABLE_DELETION.sql
    ids = tx.rows(
        lambda: (
            rows.select(rows.article_id)
            .where(
                rows.article_id.not_in(article.select(article.c.id)),
                rows.article_id.not_in(undoable.select(undoable.record_id).where(undoable.uri == slot(0))),
            )
            .distinct()
            .limit(GONE)
        ),
        (URI,),
    )
    return [row[0] for row in ids]


def _forget(writing: RecordWriter, id: int) -> None:
    for _article_id, file_id in writing.tx.find(DELETED_FILE, article_id=id):
        if writing.record("attachment", file_id) is not None and not writing.tx.first(ATTACHED, attachment_id=file_id):
            writing.delete("attachment", file_id)
    writing.tx.delete(DELETED_FILE, article_id=id)
    writing.tx.delete(DELETED_VOTE, article_id=id)
    writing.tx.delete(VERSION, article_id=id)
