"""Automations: scripts with a name, a trigger that starts them and a policy that limits them. Does not run them."""

from typing import Any

from server import contexts
from server.automation import versions
from server.automation.rules import rule_tables
from server.errors import Invalid, KataSyntax
from server.fields import CreatedAt, Structure, Text, UpdatedAt
from server.kata.kata_parser import parse, plain
from server.record_types.record_type import (
    Access,
    Change,
    DictionaryContext,
    Event,
    Key,
    Record,
    RecordType,
    Subtotals,
    Writing,
)
from server.record_types.shared.secrets import random_text
from server.record_types.shared.triggers import RULE, TRIGGERS, WEBHOOK
from server.record_types.traits import Comments, CustomFields, Links, Search, Watchers
from server.store.tables import Column, Index

NAME_CHARS = 16  # random characters of a generated name, after "automation."


def declared_inputs(script: str) -> dict[str, dict[str, str]]:
    """Returns {name: {key, type}} of the entries directly below `inputs:`; empty for a script that is not valid KATA.

    >>> declared_inputs("inputs:\\n  text/email:\\n    required@bool: yes\\nstart:\\n  text/no:")
    {'email': {'key': 'email', 'type': 'text'}}
    """
    try:
        tree = parse(script).tree
    except KataSyntax:
        return {}
    declared = next((value for key, value in tree.items() if plain(key) == "inputs"), {})
    inputs: dict[str, dict[str, str]] = {}
    for key in declared if isinstance(declared, dict) else ():
        kind, _, name = plain(key).partition("/")
        if name:
            inputs[name] = {"key": name, "type": kind}
    return inputs


def _require_trigger(script: str, trigger: str) -> None:
    """Refuses a script that its trigger cannot run. Raises Invalid."""
    if trigger != WEBHOOK or "await" not in script:
        return
    from server.automation import checker  # loads every command

    for each in checker.check_trigger(script, trigger)[:1]:
        raise Invalid(f"script: line {each.line}: {each.message}", field="script", line=each.line)


def _inputs(record: Record, context: DictionaryContext) -> dict[str, Any]:
    return declared_inputs(record["script"])


class Automation(RecordType):
    """A script in KATA that a trigger starts, such as a webhook or arriving mail, within its policy.

    Script and policy are stored as submitted; those with mistakes are refused."""

    uri, context = "automation", contexts.AUTOMATION
    lookup = "name"
    checked = {"script": "script", "policy_kata": "policy"}
    traits = (Comments(), CustomFields(), Links(), Watchers(), Search())
    access = Access(read="macro owner", write=("admins",))
    for_admins = frozenset(("form", "policy_kata", "script"))  # only administrators can edit them
    fields = {
        "created_at": CreatedAt(),
        "description": Text("What it does.", filter=None),
        "extension_id": Text(
            "The trigger that starts it, such as svc.trigger.webhook.respond.",
            required=True,
            allowed=TRIGGERS,
            form="extension",
            filter="trigger",
            filter_note="Exact id of the trigger; lists are allowed.",
            match="exact",
        ),
        "extension_params": Structure("Settings of the trigger.", immutable=True, is_map=True, origin="ours"),
        "form": Structure(
            "The form that a rule was built by. Script and policy follow from it; changing these clears it. Returned "
            "with `expand`.",
            262144,
            is_map=True,
            shown=False,
            origin="ours",
        ),
        "name": Text(
            "The name in svc:automation:<name>: letters, digits, dots, dashes and underscores; "
            "unique regardless of case. A random one when omitted. Also the label.",
            unique=True,
            auto="generated",
            pattern="[A-Za-z0-9._-]*",
            filter_note="The name other automations call it by.",
        ),
        "policy_kata": Text(
            "What the script may do, as KATA; with a blank policy, it can only compute.", 16777215, filter=None
        ),
        "script": Text("The script, as KATA.", 16777215, shown=False),
        "updated_at": UpdatedAt(),
    }
    # version: number of the current version. last_run_*: written with a delay by records/usage_flush.py. The others
    # belong to macros, see automation/macros/forms.py. available_*: who may run it; blank for every worker.
    columns = (
        Column("version"),
        Column("last_run_at"),
        Column("last_run_state", "TEXT"),
        Column("available_context", "TEXT"),
        Column("available_id"),
        Column("uses"),
        Column("last_used_at"),
    )
    tables = (versions.VERSION, rule_tables.RULE_RUN, rule_tables.RULE_DONE)
    bumps = {"automations": ("extension_id", "form", "name", "script")}
    indexes = (
        Index(("name",), "an automation by the name that others call it by", unique=True),
        Index(("extension_id", "available_context", "available_id"), "the macros of a worker and their groups"),
    )
    keys = (
        Key("form", "object", "The form.", lambda record, shown: record["form"], on_expand=True),
        Key("inputs", "object", "The inputs that the script declares, by name: {key, type}.", _inputs, on_expand=True),
        Key("outputs", "object", "Always empty.", lambda record, shown: {}, on_expand=True),
        Key("script", "text", "The script.", lambda record, shown: record["script"], on_expand=True),
    )
    subtotals = Subtotals(search=("fieldset", "links", "trigger", "watchers"))
    events = (Event("automation.rule.off", "a rule was switched off because it cannot run"),)

    def prepare(self, change: Change, writing: Writing) -> None:
        if change.value("extension_id") == RULE:
            from server.automation.rules import rule_building  # no start needs the steps of rules

            rule_building.build(change, writing)
        if change.is_create and not change.new.get("name"):
            change.new["name"] = f"automation.{random_text(NAME_CHARS)}"
        if change.changes("script") or change.changes("extension_id"):
            _require_trigger(change.value("script"), change.value("extension_id"))
        versions.count(change)

    def after_write(self, change: Change, writing: Writing) -> None:
        versions.keep(change, writing)
        if change.value("extension_id") == RULE:
            from server.automation.rules import rule_building

            rule_building.bind(change, writing)

    def after_delete(self, record: Record, writing: Writing) -> None:
        if record["extension_id"] == RULE:
            from server.automation.rules import rule_building

            rule_building.unbind(record, writing)
