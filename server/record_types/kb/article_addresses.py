"""The addresses of articles and categories: their slugs, present and former."""

from typing import Any

from server.markup.slugs import make_slug, numbered_slug
from server.record_types.record_type import Change, Writing
from server.store.statements import slot
from server.store.tables import Column, Index, Table, table_named
from server.store.transaction import Transaction

FORMER_SLUG = Table(
    "kb_former_slug",
    [Column("record_type", "TEXT"), Column("language", "TEXT"), Column("slug", "TEXT"), Column("record_id")],
    [Index(("record_type", "record_id"), "the former slugs of a record")],
    key=("record_type", "language", "slug"),
)
NUMBERS_IN_TURN = 9  # numbers in turn; a higher one is taken from the newest id, so that equal titles stay cheap
USUAL = {"kb_article": "article", "kb_category": "category"}  # slugs of titles without letters


def find_by_slug(tx: Transaction, record_type: str, slug: str, language: str = "") -> int:
    """Returns the id of the article or category with a present or former slug in a language, 0 if there is none.
    record_type: kb_article or kb_category."""
    table = table_named(record_type)
    id = tx.value(
        lambda: table.select(table.c.id).where(table.c.slug == slot(0), table.c.language == slot(1)).limit(1),
        (slug, language),
    )
    return int(id or _former_owner(tx, record_type, slug, language))


def settle_slug(change: Change, title: str) -> None:
    """Chooses the slug of a record from what was sent, or from its title if it has none."""
    sent = change.new.get("slug")
    if sent is not None or not change.value("slug"):
        change.new["slug"] = make_slug(sent or "") or make_slug(title) or USUAL[change.type.uri]


def reserve_slug(change: Change, writing: Writing) -> None:
    """Adds a number to a new slug that another record of the language has or had."""
    if not (change.is_create or change.changes("slug") or change.changes("language")):
        return
    wanted, language, number = change.value("slug"), change.value("language"), 1
    while find_by_slug(writing.tx, change.type.uri, numbered_slug(wanted, number), language) not in (0, change.id):
        number = number + 1 if number < NUMBERS_IN_TURN else _rows_ever(writing.tx, change.type.uri) + number
    change.new["slug"] = numbered_slug(wanted, number)


def remember_slug(change: Change, writing: Writing) -> None:
    """Lets the slug that a record had until now lead to it."""
    if change.is_create or not (change.changes("slug") or change.changes("language")):
        return
    tx, uri = writing.tx, change.type.uri
    tx.delete(FORMER_SLUG, record_type=uri, language=change.value("language"), slug=change.value("slug"))
    former = {"record_type": uri, "language": change.was("language"), "slug": change.was("slug")}
    tx.put(FORMER_SLUG, {**former, "record_id": change.id})


def forget_slugs(writing: Writing, record_type: str, id: int) -> None:
    """Forgets the former slugs of a deleted record."""
    writing.tx.delete(FORMER_SLUG, record_type=record_type, record_id=id)


def last_position(writing: Writing, record_type: str) -> int:
    """Returns the position after all records of a type."""
    table = table_named(record_type)
    highest: Any = writing.tx.value(lambda: table.select(table.c.position).order_by(table.c.position.desc()).limit(1))
    return 0 if highest is None else int(highest) + 1


def _rows_ever(tx: Transaction, record_type: str) -> int:
    """Returns the id of the newest record."""
    table = table_named(record_type)
    return int(tx.value(lambda: table.select(table.c.id).order_by(table.c.id.desc()).limit(1)) or 0)


def _former_owner(tx: Transaction, record_type: str, slug: str, language: str) -> int:
    row: Any = tx.first(FORMER_SLUG, record_type=record_type, language=language, slug=slug)
    return row[FORMER_SLUG.position["record_id"]] if row else 0
