"""The tree of categories: the articles of a category, and the categories above and below it."""

import json

from server.dataclass import dataclass
from server.record_types.shared.brands import VERSION
from server.store.statements import in_list, slot
from server.store.tables import Column, Index, Table, table_named
from server.store.transaction import Transaction

PLACED = Table(
    "kb_placed",
    [Column("article_id"), Column("category_id")],
    [Index(("category_id", "article_id"), "the articles of a category")],
    key=("article_id", "category_id"),
    bumps={VERSION: ()},
)


@dataclass(frozen=True)
class Category:
    """A category in the tree. parent_id: 0 at the top."""

    id: int
    name: str
    parent_id: int


class Tree:
    """All categories. There are few, so they are read at once."""

    def __init__(self, tx: Transaction) -> None:
        table = table_named("kb_category")
        rows = tx.rows(lambda: table.select(table.c.id, table.c.name, table.c.parent_id))
        self._by_id = {row[0]: Category(*row) for row in rows}

    def trail(self, id: int) -> list[Category]:
        """A category and those above it, the top first; [] for an unknown one."""
        path: dict[int, Category] = {}
        while id in self._by_id and id not in path:
            path[id] = self._by_id[id]
            id = self._by_id[id].parent_id
        return list(reversed(path.values()))


def below(tx: Transaction, id: int) -> list[int]:
    """The ids of all categories below one, the nearest first; one statement per level."""
    table = table_named("kb_category")
    ids: list[int] = []
    level = [id]
    while level:
        rows = tx.rows(
            lambda: table.select(table.c.id).where(in_list(table.c.parent_id, slot(0))).order_by(table.c.id),
            (json.dumps(level),),
        )
        level = [row[0] for row in rows if row[0] not in ids and row[0] != id]
        ids += level
    return ids
