"""The values of a ticket before the last change of its status or spam judgement, from which an undo restores derived
columns. One row per kind of change, for a day."""

import json
from typing import Any

from server.record_types.parts import Change, Writing
from server.record_types.record_type import Record
from server.store.tables import Column, Index, Table
from server.store.transaction import Transaction

TICKET_BEFORE = Table(
    "ticket_before",
    [
        Column("ticket_id", references="ticket(id)"),
        Column("kind", "TEXT"),
        Column("became", "TEXT"),
        Column("columns", "TEXT"),
        Column("changed_at"),
    ],
    [Index(("changed_at",), "rows that are too old")],
    key=("ticket_id", "kind"),
)  # kind: a column of KINDS; became: its new value; columns: JSON, {column: value before the change}
# {column that a worker changes: columns derived from it}
KINDS: dict[str, tuple[str, ...]] = {
    "status_id": (
        "closed",
        "elapsed_resolution_first",
        "elapsed_status_open",
        "last_opened_at",
        "deleted_at",
        "resolution_used",
        "resolution_since",
        "resolution_missed",
        "resolution_due_at",
        "next_response_since",
        "next_response_due_at",
        "due_at",
        "tell_at",
    ),
    "status_name_id": (
        "resolution_used",
        "resolution_since",
        "resolution_missed",
        "resolution_due_at",
        "due_at",
        "tell_at",
    ),
    "spam_training": ("spam_score",),
}


def store(change: Change, writing: Writing) -> None:
    """Stores the values that an undo of this change needs."""
    for kind, columns in KINDS.items():
        if not change.is_create and change.changes(kind):
            was = {name: change.was(name) for name in (kind, *columns)}
            writing.tx.put(
                TICKET_BEFORE,
                {
                    "ticket_id": change.id,
                    "kind": kind,
                    "became": str(change.value(kind)),
                    "columns": json.dumps(was),
                    "changed_at": writing.now,
                },
            )


def columns_to_restore(tx: Transaction, ticket: Record, kind: str, value: str) -> dict[str, Any]:
    """Returns the derived columns from before the last change of this kind, if restoring `value` undoes exactly that
    change; else {}."""
    row = tx.first(TICKET_BEFORE, ticket_id=ticket["id"], kind=kind)
    at = TICKET_BEFORE.position
    if row is None or row[at["became"]] != str(ticket[kind]) or str(ticket[kind]) == value:
        return {}
    was: dict[str, Any] = json.loads(row[at["columns"]])
    return {name: was[name] for name in KINDS[kind] if name in was} if str(was[kind]) == value else {}
