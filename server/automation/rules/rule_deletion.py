"""Deletes rules so that the worker can restore them: with their place in the order, their runs, and the tickets that a
rule by time has handled."""

import json
from typing import Any

from server.automation import binding_edits
from server.automation.bindings import entries
from server.automation.rules import rule_building, rule_list
from server.automation.rules.rule_tables import RULE_DONE, RULE_RUN
from server.automation.versions import TEXTS
from server.context import Context
from server.people import undoable_deletions
from server.records.reading import RecordReader
from server.records.writing import RecordWriter
from server.rules.rule_form import EVERYTHING
from server.store.statements import in_list, slot
from server.store.tables import Table
from server.store.transaction import Transaction

URI = "automation"
MAX_HANDLED = 10_000  # tickets that a rule by time has handled
HIDDEN = ("last_run_at", "last_run_state")  # columns of automations
FORM = "form"
ENTRY, LATER, RUNS, HANDLED = "entry", "later", "runs", "handled"  # keys of a stored deletion, besides the fields


def delete(ctx: Context, id: int) -> bool:
    """Deletes a rule. Returns whether the worker can restore it. Raises AdminOnly, NotFound, Conflict."""
    rule = rule_list.find(ctx, id)

    def write(tx: Transaction) -> bool:
        writing = RecordWriter(ctx, tx)
        record = writing.retrieve(URI, id)
        _id, text = rule_building.binding(writing)
        key = rule_building.entry_of(text, rule.name)
        names = list(entries(text)) if key else []
        stored: dict[str, Any] = {name: record[name] for name in (*TEXTS, FORM, *HIDDEN)}
        stored[ENTRY] = binding_edits.entry_text(text, key) if key else ""
        stored[LATER] = names[names.index(key) + 1 :] if key else []
        stored[RUNS], stored[HANDLED] = _rows(tx, RULE_RUN, id), _rows(tx, RULE_DONE, id)
        writing.delete_sent(writing.registry.type(URI), id)
        if len(stored[HANDLED]) > MAX_HANDLED:
            return False
        return undoable_deletions.store(ctx, tx, URI, id, stored)

    return ctx.service.store.write(write)


def restore(ctx: Context, id: int) -> str:
    """Restores a rule that the worker has deleted, with its id; returns its title.

    Raises AdminOnly, NotFound, and Conflict or Invalid if another rule has taken its name, or a record that it names no
    longer exists."""
    ctx.require_admin(rule_list.DOING)

    def write(tx: Transaction) -> str:
        stored = undoable_deletions.take(ctx, tx, URI, id)
        writing = RecordWriter(ctx, tx)
        automation = writing.registry.type(URI)
        fields = {name: stored[name] for name in (*TEXTS, FORM)}
        if fields[FORM]:
            fields[FORM] |= {EVERYTHING: 1}
        writing.create_sent(automation, fields, id)
        tx.set(automation.table, id, {name: stored[name] for name in HIDDEN})
        _restore_place(writing, stored)
        for table, rows in ((RULE_RUN, stored[RUNS]), (RULE_DONE, stored[HANDLED])):
            _restore_rows(writing, table, rows)
        return rule_building.title_of(RecordReader(ctx, tx).retrieve(URI, id))

    return ctx.service.store.write(write)


def _restore_place(writing: RecordWriter, stored: dict[str, Any]) -> None:
    """Puts the entry of a rule above the first of the entries that were below it."""
    holder, text = rule_building.binding(writing)
    new_key = rule_building.entry_of(text, stored["name"])
    if new_key:
        text = binding_edits.without_entry(text, new_key)
    if stored[ENTRY]:
        present = entries(text)
        following = next((name for name in stored[LATER] if name in present), "")
        text = binding_edits.with_entry_text(text, stored[ENTRY], following)
    rule_building.store(writing, holder, text)


def _rows(tx: Transaction, table: Table, id: int) -> list[dict[str, Any]]:
    """Returns the rows of a rule, the oldest first, one more than MAX_HANDLED at most."""
    own, order = table.sql, tuple(table.key or ("id",))
    names = tuple(each for each in table.names if each not in ("id", "automation_id"))
    rows = tx.rows(
        lambda: (
            own.select(*(getattr(own, name) for name in names))
            .where(own.automation_id == slot(0))
            .order_by(*(getattr(own, name) for name in order))
            .limit(slot(1))
        ),
        (id, MAX_HANDLED + 1),
    )
    return [dict(zip(names, row, strict=True)) | {"automation_id": id} for row in rows]


def _restore_rows(writing: RecordWriter, table: Table, rows: list[dict[str, Any]]) -> None:
    """Stores rows again, except those of tickets that no longer exist."""
    ticket = writing.registry.type("ticket").table.sql
    ids = json.dumps(sorted({row["ticket_id"] for row in rows}))
    found = writing.tx.rows(lambda: ticket.select(ticket.id).where(in_list(ticket.id, slot(0))), (ids,))
    present = {id for (id,) in found}
    for row in rows:
        if row["ticket_id"] in present:
            writing.tx.insert(table, row)
