"""Loads a behavior and its bot for a run."""

from typing import Any

from server.automation.behaviors.tree import BehaviorNode, Variable, tree, variables
from server.context import Context
from server.dataclass import dataclass
from server.digits import id_in
from server.records import records
from server.store.transaction import Transaction
from server.template.values import items


@dataclass(frozen=True)
class BehaviorProgram:
    """A behavior. event: the id of the event that it handles."""

    id: int
    name: str
    bot_id: int
    event: str
    is_disabled: bool
    variables: dict[str, Variable]
    tree: tuple[BehaviorNode, ...]


@dataclass(frozen=True)
class BehaviorOwner:
    """The bot that a behavior belongs to. config: its permissions: {events, actions}, each {mode, items}."""

    id: int
    name: str
    is_disabled: bool
    config: dict[str, Any]

    def lets(self, part: str, name: str) -> bool:
        """Returns whether its behaviors may handle an event, or run an action. part: events or actions. The mode
        `allow` permits only the items, `deny` everything else; any other mode permits everything."""
        rule = self.config.get(part)
        if not isinstance(rule, dict) or rule.get("mode") not in ("allow", "deny"):
            return True
        names = items(rule.get("items"))
        return (name in names) is (rule["mode"] == "allow")


def find(ctx: Context, tx: Transaction, name: str) -> BehaviorProgram | None:
    """Returns the behavior of an id or uri, None if there is none. Raises Invalid for a tree that cannot be run."""
    record_type = ctx.service.registry.type("behavior")
    id = id_in(name)
    if id is not None:
        row = tx.get(record_type.table, id)
    else:
        row = tx.first(record_type.table, uri=name) if name else None
    if row is None:
        return None
    record = record_type.record(row)
    return BehaviorProgram(
        record["id"],
        record["name"],
        record["bot_id"],
        record["event_point"],
        bool(record["is_disabled"]),
        variables(record["variables"]),
        tree(record["nodes"]),
    )


def read_tree(ctx: Context, id: int) -> tuple[BehaviorNode, ...]:
    """Returns the nodes of a behavior. Raises NotFound, Forbidden for one that the caller may not read."""
    records.retrieve(ctx, "behavior", id)
    program = ctx.service.store.read(lambda tx: find(ctx, tx, str(id)))
    return program.tree if program is not None else ()


def bot_of(ctx: Context, tx: Transaction, behavior: BehaviorProgram) -> BehaviorOwner | None:
    """Returns the bot of a behavior; None if it no longer exists."""
    record_type = ctx.service.registry.type("bot")
    row = tx.get(record_type.table, behavior.bot_id)
    if row is None:
        return None
    record = record_type.record(row)
    return BehaviorOwner(record["id"], record["name"], bool(record["is_disabled"]), record["config"])
