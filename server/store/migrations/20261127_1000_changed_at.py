"""Stores when tickets were last written. Existing tickets get the time of their last activity."""

from server.store.transaction import Transaction


def up(tx: Transaction) -> None:
    """Adds the column with its values, before its index is created."""
    columns = tx.store.columns(tx, "ticket")
    if not columns or "changed_at" in columns:
        return
    kind = "BIGINT" if tx.store.is_shared else "INTEGER"
    tx.connection.execute(f'ALTER TABLE "ticket" ADD COLUMN "changed_at" {kind} NOT NULL DEFAULT 0')
    tx.connection.execute('UPDATE "ticket" SET "changed_at" = "updated"')
