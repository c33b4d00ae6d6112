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
    counts = [count for table in tables for count in table.counts]
    wrong = store.read(lambda tx: [count for count in counts if is_wrong(tx, count)])
    for count in wrong:
        store.write(lambda tx, count=count: recount(tx, count))  # type: ignore[misc]
    return [f"{count.name} did not match the rows of {count.of.name}; counted again" for count in wrong]


def is_wrong(tx: Transaction, counts: KeptCounts) -> bool:
    """Returns whether the counts differ from the rows; reads all rows."""
    stored = f'SELECT {counts.columns}, n FROM "{counts.name}"'
    for one, other in ((stored, counts.counted), (counts.counted, stored)):
        more = f"SELECT * FROM ({one}) AS one EXCEPT SELECT * FROM ({other}) AS other"
        if tx.connection.execute(f"SELECT 1 FROM ({more}) AS more LIMIT 1").fetchone() is not None:
            return True
    return False


def recount(tx: Transaction, counts: KeptCounts) -> None:
    """Counts all rows again."""
    tx.connection.execute(f'DELETE FROM "{counts.name}"')
    tx.connection.execute(counts.fill)
