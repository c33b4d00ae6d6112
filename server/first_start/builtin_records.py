"""Records that come with the service: automation events, toolbars, a currency. What is missing is added at every start,
so that a new release brings its own along. Not for what only a new database begins with: that is first_start.py."""

from typing import Any

from server.automation.types import automation_event
from server.context import Context
from server.record_types import toolbar
from server.records.writing import RecordWriter
from server.store.tables import table_named
from server.store.transaction import Transaction

BUILT_IN: dict[str, tuple[dict[str, str], ...]] = {"automation_event": automation_event.ROWS, "toolbar": toolbar.ROWS}

CURRENCY = {"name": "US dollar", "name_plural": "US dollars", "code": "USD", "symbol": "$", "decimal_at": 2}


def add_missing(ctx: Context) -> None:
    """Adds the built-in records that the database lacks; existing ones stay as they were changed."""
    missing = ctx.service.store.read(_missing)
    if missing:
        ctx.service.store.write(lambda tx: _add(ctx, tx))


def _add(ctx: Context, tx: Transaction) -> None:
    writing = RecordWriter(ctx, tx)
    for uri, row in _missing(tx):
        writing.create(uri, row)


def _missing(tx: Transaction) -> list[tuple[str, dict[str, Any]]]:
    """The missing records as pairs of type and values."""
    found: list[tuple[str, dict[str, Any]]] = []
    if not _names(tx, "currency"):  # amounts need one; which is the user's affair, so any will do
        found.append(("currency", dict(CURRENCY)))
    for uri, rows in BUILT_IN.items():
        present = _names(tx, uri)
        found += [(uri, dict(row)) for row in rows if row["name"] not in present]
    return found


def _names(tx: Transaction, uri: str) -> set[str]:
    table = table_named(uri)
    return {row[0] for row in tx.rows(lambda: table.select(table.c.name))}
