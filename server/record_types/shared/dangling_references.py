"""References to a record that is being deleted or merged."""

from typing import TYPE_CHECKING, Any

from server.store.statements import slot
from server.store.tables import table_named
from server.store.transaction import Transaction

if TYPE_CHECKING:
    from server.record_types.parts import Writing


def redirect(writing: "Writing", table: str, column: str, old: int, new: int = 0) -> int:
    """Replaces the id `old` by `new` in a column of a record type's table; returns the number of changed rows. One
    statement, no hooks."""
    writing.touch(table, **{column: old})
    changed: Any = table_named(table)
    return writing.tx.run(
        lambda: changed.update({getattr(changed.c, column): slot(0)}).where(getattr(changed.c, column) == slot(1)),
        (new, old),
    )


def ids_pointing(tx: Transaction, table: str, column: str, id: int) -> list[int]:
    """The ids of the rows whose column is `id`, in order."""
    rows: Any = table_named(table)
    ids = tx.rows(
        lambda: rows.select(rows.c.id).where(getattr(rows.c, column) == slot(0)).order_by(rows.c.id),
        (id,),
    )
    return [row[0] for row in ids]
