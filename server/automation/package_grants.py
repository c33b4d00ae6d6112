"""Describes what a package's automations, bindings and behaviors allow people and programs to do; see
packages/grants.py."""

from collections.abc import Iterable, Iterator
from typing import Any

from server.automation import bindings, commands, policy
from server.automation.behaviors import actions
from server.automation.behaviors.action import ACTIONS
from server.automation.behaviors.tree import BehaviorNode, tree
from server.automation.command import COMMANDS
from server.automation.commands.functions import automation_name
from server.errors import KataSyntax
from server.kata.annotations import as_bool
from server.record_types.record_type import Record
from server.record_types.shared.triggers import EVENTS
from server.records.writing import RecordWriter
from server.rules.rule_form import EVERYTHING

# Read-only commands and actions with the rights of an administrator. An automation that only reads
# needs no consent, unless an outside program can start it.
READING_COMMANDS = frozenset(
    ("api.command", "data.query", "file.read", "record.get", "record.search", "signature.verify", "storage.get")
)
READING_ACTIONS = frozenset(
    (
        "_get_links",
        "core.bot.action.data_query",
        "core.bot.action.record.retrieve",
        "core.bot.action.record.search",
    )
)
UNAVAILABLE_COMMANDS = frozenset(("decrypt.pgp", "encrypt.pgp"))


def allowed_commands(policy_kata: str) -> list[str]:
    """Returns the governed commands that a policy may allow, sorted. Rules that depend on a run count as allowing.

    >>> allowed_commands("commands:\\n  record.get:\\n    allow@bool: yes\\n  http.request:\\n    deny@bool: yes\\n")
    ['record.get']
    """
    commands.load()
    try:
        rules = policy.read(policy_kata)
    except KataSyntax:
        return []
    governed = sorted(name for name, each in COMMANDS.items() if each.governed)
    common = rules.commands.get("all", ())
    return [
        name
        for name in governed
        if name not in UNAVAILABLE_COMMANDS and _may_allow((*rules.commands.get(name, ()), *common))
    ]


def _may_allow(rules: Iterable[policy.Rule]) -> bool:
    for rule in rules:
        is_template = "{" in rule.text
        if rule.allows and (is_template or as_bool(rule.text)):
            return True
        if not rule.allows and not is_template and as_bool(rule.text):
            return False
    return False


def bound_automations(binding: str) -> list[str]:
    """Returns the names of the automations in a binding as written, enabled or not.

    >>> bound_automations("automation/x:\\n  uri: svc:automation:orders.new\\n")
    ['orders.new']
    """
    try:
        entries = bindings.entries(binding)
    except KataSyntax:
        return []
    uris = (str(value) for _, _, entry in entries.values() for key, value in entry.items() if key.startswith("uri"))
    return list(dict.fromkeys(automation_name(each.strip()) for each in uris))


def describe(writing: RecordWriter, uri: str, record: Record) -> Iterable[str]:
    """Returns what an automation record lets people or programs do: verb phrases with the package as subject."""
    return _DESCRIBERS[uri](writing, record)


def _automation(writing: RecordWriter, automation: Record) -> Iterator[str]:
    acting = [each for each in allowed_commands(automation["policy_kata"]) if each not in READING_COMMANDS]
    if acting:
        yield f"lets the automation {automation['name']} use {', '.join(acting)} with the rights of an administrator"
    if isinstance(automation["form"], dict) and automation["form"].get(EVERYTHING):
        yield f"lets the rule {automation['name']} run on every ticket"


def _event(writing: RecordWriter, event: Record) -> Iterator[str]:
    for name in bound_automations(event["automations_kata"]):
        trigger = EVENTS.get(event["name"])
        when = f": {trigger.when[0].lower()}{trigger.when[1:].rstrip('.')}" if trigger is not None else ""
        yield f"runs the automation {name} at each event {event['name']}{when}"


def _timer(writing: RecordWriter, timer: Record) -> Iterator[str]:
    for name in bound_automations(timer["automations_kata"]):
        yield f"runs the automation {name} at the times of the timer {timer['name']}"


def _resource(writing: RecordWriter, resource: Record) -> Iterator[str]:
    for name in bound_automations(resource["automation_kata"]) if resource["is_dynamic"] else ():
        yield f"runs the automation {name} when the resource {resource['name']} is opened"


def _webhook(writing: RecordWriter, webhook: Record) -> Iterator[str]:
    """Describes a webhook. An automation that only computes its response grants nothing to outside programs and needs
    no consent."""
    for name in bound_automations(webhook["automations_kata"]):
        automation = writing.find("automation", name=name)
        used = ["commands of an automation that does not exist yet"]
        if automation is not None:
            used = allowed_commands(automation["policy_kata"])
        if used:
            yield f"lets outside programs run the automation {name} by the webhook {webhook['name']}: {', '.join(used)}"


def _behavior(writing: RecordWriter, behavior: Record) -> Iterator[str]:
    actions.load()
    names = sorted(set(_actions(tree(behavior["nodes"]))))
    used = [each for each in names if each in READING_ACTIONS or (each in ACTIONS and ACTIONS[each].effects)]
    if used:
        yield f"lets the behavior {behavior['name']} use {', '.join(used)} with the rights of an administrator"


def _column(writing: RecordWriter, column: Record) -> Iterator[str]:
    for name in bound_automations(column["functions_kata"]):
        yield f"runs the automation {name} when somebody moves a card to the column {column['name']}, with their rights"


def _actions(nodes: Iterable[BehaviorNode]) -> Iterator[str]:
    for node in nodes:
        actions: list[dict[str, Any]] = node.params.get("actions") or [] if node.type == "action" else []
        yield from (str(each.get("action")) for each in actions)
        yield from _actions(node.nodes)


_DESCRIBERS = {
    "automation": _automation,
    "automation_event": _event,
    "automation_timer": _timer,
    "behavior": _behavior,
    "project_board_column": _column,
    "resource": _resource,
    "webhook_listener": _webhook,
}
