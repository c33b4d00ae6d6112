"""What points to a record that is gone, or about to be."""

from typing import Any

from server.store.statements import slot
from server.store.tables import table_named
from server.store.transaction import Transaction


def redirect(tx: Transaction, table: str, column: str, old: int, new: int = 0) -> int:
    """Let a column hold `new` wherever it holds `old`; answers how many rows changed. One statement, no hooks."""
    changed: Any = table_named(table)
    return tx.run(
        lambda: changed.update({getattr(changed.c, column): slot(0)}).where(getattr(changed.c, column) == slot(1)),
        (new, old),
    )


def ids_pointing(tx: Transaction, table: str, column: str, id: int) -> list[int]:
    """The ids of the rows whose column holds `id`, in order."""
    rows: Any = table_named(table)
    found = tx.rows(
        lambda: rows.select(rows.c.id).where(getattr(rows.c, column) == slot(0)).order_by(rows.c.id),
        (id,),
    )
    return [row[0] for row in found]
