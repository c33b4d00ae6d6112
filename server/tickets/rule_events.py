"""Events of tickets that rules wait for: rows that are written with the change, unless no rule waits for it.

automation/rules/ finds the rules for them, many at a time."""

import json
from collections.abc import Iterable
from typing import Any

from server.record_types.parts import Change, Writing
from server.records.event_publishing import VERSION, bound
from server.store.statements import slot
from server.store.store_local import VersionedLocal
from server.store.tables import Column, Table, table_named
from server.store.transaction import Transaction

CREATED, CHANGED, WROTE, REPLIED = "created", "changed", "customer_wrote", "worker_replied"
RATED = "customer_rated"
EVENT = "ticket.event"  # the automation event that rules are bound to
RULE_EVENT = Table(
    "rule_event",
    [
        Column("ticket_id"),
        Column("event", "TEXT"),
        Column("fields", "TEXT"),
        Column("depth"),
        Column("is_by_machine"),
        Column("at"),
    ],
    is_log=True,
)  # event: created, customer_wrote and so on. fields: what changed, separated by commas
LISTENING: VersionedLocal[frozenset[str]] = VersionedLocal()  # events that rules wait for; "*" for all
# Columns whose change a rule can wait for, by the name of the change.
COLUMNS = {
    "status_id": "status",
    "status_name_id": "status",
    "owner_id": "owner",
    "bucket_id": "place",
    "group_id": "place",
    "importance": "importance",
    "subject": "subject",
    "org_id": "org",
}
_LOG: Any = RULE_EVENT.sql


def record(writing: Writing, ticket_id: int, event: str, fields: Iterable[str] = ()) -> None:
    """Records an event of a ticket if a rule waits for it."""
    tx, ctx = writing.tx, writing.ctx
    if ctx.is_quiet or ctx.is_untold or EVENT not in bound(tx):
        return
    events = _listening(tx)
    text = ",".join(sorted(set(fields)))
    key = ("rule event", ticket_id, event, text)
    if key in tx.memo or events.isdisjoint(("*", event)):
        return
    tx.memo[key] = True
    tx.append(_row, (ticket_id, event, text, ctx.depth, int(ctx.is_by_machine), writing.now))


def record_change(change: Change, writing: Writing) -> None:
    """Records that a ticket was created, or which of its fields changed."""
    if change.is_create:
        record(writing, change.id, CREATED)
        return
    fields = {name for column, name in COLUMNS.items() if change.changes(column)}
    if change.also_changed:
        fields.add("custom")
    if fields:
        record(writing, change.id, CHANGED, fields)


def record_message(change: Change, writing: Writing) -> None:
    """Records that a customer or a worker replied. Forwards and automatic replies do not count."""
    is_answer = change.value("worker_id") and not change.value("is_forward") and not change.value("is_autoreply")
    if change.value("is_outgoing"):
        if is_answer:
            record(writing, change.value("ticket_id"), REPLIED)
    else:
        record(writing, change.value("ticket_id"), WROTE)


def _row() -> Any:
    columns = (_LOG.ticket_id, _LOG.event, _LOG.fields, _LOG.depth, _LOG.is_by_machine, _LOG.at)
    return _LOG.insert({column: slot(place) for place, column in enumerate(columns)})


def _listening(tx: Transaction) -> frozenset[str]:
    events: frozenset[str] | None = tx.memo.get("rules listen")
    if events is None:
        events = tx.memo["rules listen"] = LISTENING.read(tx, VERSION, _find_listening)
    return events


def _find_listening(tx: Transaction) -> frozenset[str]:
    """Returns the events that rules wait for. A rule that was edited as a script waits for all."""
    automation: Any = table_named("automation")
    rows = tx.rows(
        lambda: automation.select(automation.c.form).where(automation.c.extension_id == slot(0)),
        (f"svc.trigger.{EVENT}",),
    )
    return frozenset(event for (form,) in rows for event in json.loads(form or "{}").get("when", ["*"]))
