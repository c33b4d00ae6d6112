"""Finds where automations are used: webhooks, events, timers, resources, behaviors, toolbars, widgets, boards and their
columns, other automations.

Searches their texts: a name that a template computes at run time is not found."""

import functools
import operator
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import peewee

from server.context import Context
from server.dataclass import dataclass
from server.store.expressions import contains
from server.store.statement_shapes import keyed
from server.store.statements import slot
from server.store.tables import Table
from server.store.transaction import Transaction

DOING = "look up what uses an automation"  # completes the message of AdminOnly

# (record type, text column) of the records that may name automations.
HOLDERS = (
    ("webhook_listener", "automations_kata"),
    ("automation_event", "automations_kata"),
    ("automation_timer", "automations_kata"),
    ("resource", "automation_kata"),
    ("behavior", "nodes"),
    ("automation", "script"),
    ("toolbar", "toolbar_kata"),
    ("workspace_widget", "params"),
    ("project_board", "cards_kata"),
    ("project_board_column", "cards_kata"),
    ("project_board_column", "functions_kata"),
    ("project_board_column", "toolbar_kata"),
)
MAX_USES = 500  # listed uses per automation
# For lower-case texts. Each pattern has a literal prefix, which is much faster to search than alternatives.
_NAMED = tuple(
    re.compile(pattern, re.MULTILINE | re.ASCII)
    for pattern in (
        r"svc:automation:([\w.-]+)",
        r"svc_automation\(\s*(?:uri\s*=\s*)?[\"']([\w.-]+)[\"']",
        r"uri(?:@\w+)?:[ \t]*([\w.-]+)[ \t]*(?:$|\\[rn])",
        r"automation\.invoke\b.{0,500}?\bname:[ \t]*\"?([\w.-]+)",
    )
)
_WORD = re.compile(r"\w", re.ASCII)
# Cached for the list of automations, which searches all their texts: 5 microseconds for 400 characters, 16 for 4,000.
KEPT_TEXTS, KEPT_CHARS = 1000, 16 * 1024


@dataclass(frozen=True, slots=True)
class AutomationUse:
    """A record that names an automation. uri: its type. label: its display name."""

    uri: str
    id: int
    label: str


def names(text: str) -> frozenset[str]:
    """Returns the automations that a text names, in lower case.

    >>> sorted(names("automation/a:\\n  uri: svc:automation:Shop.Echo\\n  function:\\n    uri: other"))
    ['other', 'shop.echo']
    """
    return _kept(text) if len(text) <= KEPT_CHARS else _read(text)


@functools.lru_cache(maxsize=KEPT_TEXTS)
def _kept(text: str) -> frozenset[str]:
    return _read(text)


def _read(text: str) -> frozenset[str]:
    small = text.lower()
    return frozenset(
        match[1]
        for pattern in _NAMED
        for match in pattern.finditer(small)
        if not _WORD.match(small, match.start() - 1 if match.start() else len(small))
    )


def uses_of(ctx: Context, name: str) -> list[AutomationUse]:
    """Returns the records that name an automation, at most MAX_USES, by type. Runs one statement per type. Raises
    AdminOnly."""
    ctx.require_admin(DOING)
    lower = name.lower()

    def read(tx: Transaction) -> list[AutomationUse]:
        found = (use for use, automations in _holders(ctx, tx, lower) if lower in automations)
        return list(dict.fromkeys(found))[:MAX_USES]

    return ctx.service.store.read(read)


def counts(ctx: Context) -> Counter[str]:
    """Returns how many records name each automation, by its lower-case name. Raises AdminOnly."""
    ctx.require_admin(DOING)

    def read(tx: Transaction) -> Counter[str]:
        holders = _holders(ctx, tx, "automation", "uri")
        return Counter(name for _, name in {(use, name) for use, automations in holders for name in automations})

    return ctx.service.store.read(read)


def _holders(ctx: Context, tx: Transaction, *parts: str) -> Iterator[tuple[AutomationUse, frozenset[str]]]:
    """Yields the records whose texts contain one of the parts, in any case, with the automations that they name."""
    for uri, column in HOLDERS:
        record_type = ctx.service.registry.type(uri)
        for id, name, text in _holding(tx, record_type.table, record_type.label_column, column, parts):
            own = {name.lower()} if uri == "automation" else set()
            yield AutomationUse(uri, id, name or f"{record_type.label_names[0]} {id}"), names(text) - own


def _holding(
    tx: Transaction, table: Table, label: str, column: str, parts: tuple[str, ...]
) -> list[tuple[int, str, str]]:
    def build() -> Any:
        text = getattr(table.sql, column)
        small = peewee.fn.LOWER(text)
        holds = functools.reduce(operator.or_, (contains(small, slot(at)) for at in range(len(parts))))
        return table.sql.select(table.sql.id, getattr(table.sql, label), text).where(holds).order_by(table.sql.id)

    return tx.rows(keyed(build, table, label, column, len(parts)), parts)
