"""Gives numbers and texts of custom fields columns of their own; one column of any kind held both before."""

from server.store.transaction import Transaction


def up(tx: Transaction) -> None:
    """Rebuilds the table with its rows. Values are numbers or texts; the program never stored anything else."""
    execute = tx.connection.execute
    if "value" not in {row[1] for row in execute('PRAGMA table_info("custom_value")')}:
        return
    execute('ALTER TABLE "custom_value" RENAME TO "custom_value_before"')
    execute(
        'CREATE TABLE "custom_value" ("field_id" INTEGER NOT NULL DEFAULT 0, "record_id" INTEGER NOT NULL DEFAULT 0, '
        '"place" INTEGER NOT NULL DEFAULT 0, "number" INTEGER, "text" TEXT COLLATE NOCASE, '
        'PRIMARY KEY ("field_id", "record_id", "place")) STRICT, WITHOUT ROWID'
    )
    execute(
        'INSERT INTO "custom_value" ("field_id", "record_id", "place", "number", "text") '
        'SELECT "field_id", "record_id", "place", '
        "CASE WHEN typeof(\"value\") IN ('integer', 'real') THEN CAST(\"value\" AS INTEGER) END, "
        'CASE WHEN typeof("value") = \'text\' THEN "value" END '
        'FROM "custom_value_before" WHERE "value" IS NOT NULL ORDER BY 1, 2, 3'
    )
    execute('DROP TABLE "custom_value_before"')
