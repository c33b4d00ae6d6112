"""Stores the words of articles and categories in web addresses, made from their titles and names."""

from typing import Any

from server.markup.slugs import make_slug, numbered_slug
from server.store.statements import slot
from server.store.tables import table_named
from server.store.transaction import Transaction

TITLES = {"kb_article": "title", "kb_category": "name"}  # columns
USUAL = {"kb_article": "article", "kb_category": "category"}  # slugs for titles without letters


def up(tx: Transaction) -> None:
    """Adds the columns, and writes a slug for each row; equal ones get the id as a number."""
    for name, title in TITLES.items():
        columns = tx.store.columns(tx, name)
        if not columns or "slug" in columns:
            continue
        tx.connection.execute(f'ALTER TABLE "{name}" ADD COLUMN "slug" TEXT NOT NULL DEFAULT \'\'')
        _fill(tx, name, title)


def _fill(tx: Transaction, name: str, title: str) -> None:
    table: Any = table_named(name)
    slugs: set[str] = set()
    for id, text in tx.rows(lambda: table.select(table.c.id, getattr(table.c, title)).order_by(table.c.id)):
        usual = slug = make_slug(text) or USUAL[name]
        number = id
        while slug in slugs:
            slug = numbered_slug(usual, number)
            number += 1
        slugs.add(slug)
        tx.run(lambda: table.update({table.c.slug: slot(0)}).where(table.c.id == slot(1)), (slug, id))
