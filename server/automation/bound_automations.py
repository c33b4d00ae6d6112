"""Checks the automations that bindings name: a binding is refused if one does not exist or has another trigger; one
that disappears later is reported.

Only literal names count; the name of a template is computed when the event happens."""

from collections.abc import Iterator, Mapping
from typing import Any

from server.automation.bindings import entries
from server.automation.commands.functions import automation_name
from server.dataclass import dataclass
from server.errors import Invalid, KataSyntax, nearest
from server.kata.annotations import as_bool
from server.kata.kata_parser import Tree, plain
from server.record_types.parts import Change, Writing
from server.record_types.registry import Registry
from server.record_types.shared.triggers import PREFIX
from server.store.known_rows import Row
from server.store.tables import Table
from server.store.transaction import Transaction

FIELD = "automations_kata"
TIMER, WEBHOOK = f"{PREFIX}automation.timer", f"{PREFIX}webhook.respond"
HOLDERS = ("automation_event", "automation_timer", "webhook_listener")
MAX_REPORTED = 20  # entries that the health check lists


@dataclass(frozen=True, slots=True)
class LostEntry:
    """An entry of a stored binding that never runs. holder: the name of the record with the binding."""

    uri: str
    id: int
    holder: str
    key: str
    reason: str


def require_runnable(change: Change, writing: Writing, trigger: str, field: str = FIELD) -> None:
    """Refuses a new binding with an entry that would never run. Raises Invalid."""
    text = change.new.get(field)
    if not text or not change.changes(field):
        return
    for key, line, reason in _lost(_triggers(writing.registry, writing.tx), text, trigger):
        raise Invalid(f"{field}: line {line}: {key}: {reason}", field=field, line=line)


def lost_entries(registry: Registry, tx: Transaction) -> list[LostEntry]:
    """Returns the entries of all events, timers, webhooks and boards that never run because an automation was renamed,
    deleted or given another trigger. Runs one statement for each kind of binding."""
    triggers = _triggers(registry, tx)
    event, timer, webhook = (registry.type(uri).table.sql for uri in HOLDERS)

    def events() -> Any:
        return event.select(event.id, event.name, event.automations_kata, event.extension_id).where(bound(event))

    def timers() -> Any:
        return timer.select(timer.id, timer.name, timer.automations_kata).where(bound(timer), timer.is_disabled == 0)

    def webhooks() -> Any:
        query = webhook.select(webhook.id, webhook.name, webhook.automations_kata)
        return query.where(bound(webhook), webhook.is_disabled == 0)

    rows = [("automation_event", *row) for row in tx.rows(events)]
    rows += [("automation_timer", *row, TIMER) for row in tx.rows(timers)]
    rows += [("webhook_listener", *row, WEBHOOK) for row in tx.rows(webhooks)]
    for record_type in registry:
        for field, trigger in record_type.bound.items():
            bound_rows = _bound_rows(record_type.table, record_type.label_column, field, tx)
            rows += [(record_type.uri, *row, trigger) for row in bound_rows]
    return [
        LostEntry(uri, id, name, key, reason)
        for uri, id, name, text, trigger in rows
        for key, _, reason in _lost(triggers, text, trigger)
    ]


def _bound_rows(table: Table, label: str, field: str, tx: Transaction) -> list[Row]:
    def build() -> Any:
        text = getattr(table.sql, field)
        return table.sql.select(table.sql.id, getattr(table.sql, label), text).where(text != "")

    return tx.rows(build)


def bound(table: Any) -> Any:
    """Returns the SQL condition for rows with a binding."""
    return getattr(table, FIELD) != ""


def _triggers(registry: Registry, tx: Transaction) -> dict[str, str]:
    """Returns {lower-case name of each automation: its trigger}."""
    table = registry.type("automation").table.sql
    return {name.lower(): trigger for name, trigger in tx.rows(lambda: table.select(table.name, table.extension_id))}


def _lost(triggers: Mapping[str, str], text: str, trigger: str) -> Iterator[tuple[str, int, str]]:
    """Yields (key, line from 1, reason) of the entries that never run; nothing for a binding that cannot be parsed."""
    try:
        parsed = entries(text)
    except KataSyntax:
        return
    for key, line, tree in parsed.values():
        uri = tree_text(tree, "uri")
        if not uri or "{" in uri or is_off(tree):
            continue
        name = automation_name(uri)
        own = triggers.get(name.lower())
        if own is None:
            fitting = [each for each, its_trigger in triggers.items() if its_trigger == trigger]
            yield key, line, f"there is no automation '{name[:80]}'{nearest(name, fitting)}"
        elif own != trigger:
            yield key, line, f"the automation '{name[:80]}' has the trigger {own}, but {trigger} is required here"


def tree_text(tree: Tree, name: str) -> str:
    """Returns the text below a key, whatever its annotations; "" if there is none."""
    for key, value in tree.items():
        if plain(key) == name and isinstance(value, str):
            return value.strip()
    return ""


def is_off(tree: Tree) -> bool:
    """Returns whether an entry is disabled by a literal value, not by a template."""
    value: Any = tree_text(tree, "disabled")
    return bool(value) and "{" not in value and as_bool(value)
