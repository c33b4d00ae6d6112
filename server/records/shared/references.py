"""What points to a record that is gone, or about to be."""

from typing import Any

import peewee

from server.store.statements import slot
from server.store.transaction import Transaction


def redirect(tx: Transaction, table: str, column: str, old: int, new: int = 0) -> int:
    """Let a column hold `new` wherever it holds `old`; answers how many rows changed. One statement, no hooks."""
    changed: Any = peewee.Table(table, (column,))
    pointer = getattr(changed, column)
    return tx.run(
        ("redirect", table, column),
        lambda: changed.update({pointer: slot(0)}).where(pointer == slot(1)),
        (new, old),
    )


def ids_pointing(tx: Transaction, table: str, column: str, id: int) -> list[int]:
    """The ids of the rows whose column holds `id`, in order."""
    rows: Any = peewee.Table(table, ("id", column))
    found = tx.rows(
        ("ids pointing", table, column),
        lambda: rows.select(rows.id).where(getattr(rows, column) == slot(0)).order_by(rows.id),
        (id,),
    )
    return [row[0] for row in found]
