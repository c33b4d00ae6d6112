"""Describes the vocabulary of scripts, policies, bindings and toolbars for the completion of editors."""

from typing import Any

from server.automation import commands, inputs
from server.automation.checker import POLICY_PARTS, POLICY_SETTINGS
from server.automation.command import COMMANDS
from server.automation.program import BRANCHES, CONTROL, FLOW, PARTS
from server.kata.annotations import KNOWN
from server.record_types.registry import Registry

_BRANCH_NOTES = {
    "inputs": "The inputs of the command.",
    "output": "The key under which its result is stored.",
    "on_simulate": "What a simulation does instead.",
    "on_success": "What runs after it succeeded.",
    "on_error": "What runs after it failed.",
}


_INPUTS = "The inputs of the automation."
# The keys of entries with a name, in bindings and toolbars: {text: {kind of entry: {key: note}}}.
ENTRIES: dict[str, dict[str, dict[str, str]]] = {
    "binding": {
        "automation": {
            "uri": "The automation: svc:automation:<name>.",
            "inputs": _INPUTS,
            "disabled": "With @bool: whether it is left out; may be a template.",
        }
    },
    "toolbar": {
        "interaction": {
            "label": "The text of the button.",
            "uri": "The automation: svc:automation:<name>.",
            "inputs": _INPUTS,
            "tooltip": "An explanation.",
            "hidden": "With @bool: whether it is left out; may be a template.",
        },
        "menu": {"label": "The name of the menu.", "items": "Its interactions and menus."},
    },
}


def entry_words(text: str, names: list[str]) -> dict[str, Any]:
    """Returns the vocabulary of a kind of text in ENTRIES. names: of automations."""
    return {"entries": ENTRIES[text], "annotations": sorted(KNOWN), "names": names}


def words(registry: Registry) -> dict[str, Any]:
    """Returns the vocabulary of scripts and policies. commands: {name: {note, inputs: {name: note}, keys: nested
    keys}}; flow: {name: {note, keys}}; branches: {key: note} of commands; blocks: the keys that hold commands;
    annotations; inputs: their kinds, options, types of texts; policy: its parts, settings, and the commands that it
    may name. fields: {record type: {name: note}} of writable fields."""
    names = sorted(commands.load() - CONTROL)
    return {
        "commands": {
            name: {
                "note": COMMANDS[name].note,
                "keys": list(COMMANDS[name].own_keys),
                "inputs": {each.name: each.note for each in COMMANDS[name].inputs},
            }
            for name in names
        },
        "flow": {name: {"note": note, "keys": list(PARTS.get(name, ()))} for name, note in FLOW.items()},
        "branches": _BRANCH_NOTES,
        "blocks": [*BRANCHES, "then", "do"],
        "annotations": sorted(KNOWN),
        "inputs": {
            "kinds": list(inputs.KINDS),
            "options": list(inputs.OPTIONS),
            "texts": sorted(filter(None, inputs.TEXTS)),
        },
        "policy": {
            "parts": list(POLICY_PARTS),
            "settings": list(POLICY_SETTINGS),
            "commands": ["all", *(name for name in names if COMMANDS[name].governed)],
        },
        "fields": {
            each.uri: {
                name: field.note for name, field in each.fields.items() if not field.immutable and name.isidentifier()
            }
            for each in registry
        },
    }
