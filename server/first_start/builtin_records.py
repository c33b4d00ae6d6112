"""Records that are part of the service: automation events, toolbars, a currency. Missing ones are added at every start,
so that new releases can add records. setup.py has the records that only a new database gets."""

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
    """Adds the built-in records that the database lacks; existing ones keep their changes."""
    missing = ctx.service.store.read(_missing)
    if missing:
        ctx.service.store.write(lambda tx: _add(ctx, tx))


def _add(ctx: Context, tx: Transaction) -> None:
    writing = RecordWriter(ctx, tx)
    for uri, row in _missing(tx):
        writing.create(uri, row)


def _missing(tx: Transaction) -> list[tuple[str, dict[str, Any]]]:
    """Returns the missing records as pairs of type and values."""
    missing: list[tuple[str, dict[str, Any]]] = []
    if not _names(tx, "currency"):  # amounts need a currency; users choose their own, so any is fine
        missing.append(("currency", dict(CURRENCY)))
    for uri, rows in BUILT_IN.items():
        present = _names(tx, uri)
        missing += [(uri, dict(row)) for row in rows if row["name"] not in present]
    return missing


def _names(tx: Transaction, uri: str) -> set[str]:
    table = table_named(uri)
    return {row[0] for row in tx.rows(lambda: table.select(table.c.name))}
