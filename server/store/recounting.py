"""Compares the counts that triggers maintain with the rows, and corrects them.

Rows change without triggers under another program, or in a file that was repaired by hand."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from server.store.tables import KeptCounts, Table
from server.store.transaction import Transaction

if TYPE_CHECKING:
    from server.store.database import Store


def recounted(store: "Store", tables: Iterable[Table]) -> list[str]:
    """Corrects wrong counts; returns a description of each."""
    counts = [kept for table in tables for kept in table.counts]
    wrong = store.read(lambda tx: [kept for kept in counts if is_wrong(tx, kept)])
    for kept in wrong:
        store.write(lambda tx, kept=kept: recount(tx, kept))  # type: ignore[misc]
    return [f"{kept.name} did not match the rows of {kept.of.name}; counted anew" for kept in wrong]


def is_wrong(tx: Transaction, kept: KeptCounts) -> bool:
    """Returns whether the counts differ from the rows; reads all rows."""
    held = f'SELECT {kept.columns}, n FROM "{kept.name}"'
    for one, other in ((held, kept.counted), (kept.counted, held)):
        more = f"SELECT * FROM ({one}) AS one EXCEPT SELECT * FROM ({other}) AS other"
        if tx.connection.execute(f"SELECT 1 FROM ({more}) AS more LIMIT 1").fetchone() is not None:
            return True
    return False


def recount(tx: Transaction, kept: KeptCounts) -> None:
    """Counts all rows again."""
    tx.connection.execute(f'DELETE FROM "{kept.name}"')
    tx.connection.execute(kept.fill)
