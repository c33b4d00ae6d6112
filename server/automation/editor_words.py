"""Describes the vocabulary of scripts and policies for the completion of editors."""

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
