"""Generates the tables of the languages: automations, KATA, templates, data queries and behaviors."""

import inspect
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from cells import code, described, head, row, shown

from server.automation import commands, inputs
from server.automation.behaviors import actions
from server.automation.behaviors.action import ACTIONS
from server.automation.command import COMMANDS, MAX_TEXT, Input
from server.automation.outputs import ANY_KEY, OUTPUTS
from server.automation.program import FLOW
from server.kata import annotations
from server.queries.query_run import keys_of, query_types
from server.queries.query_type import KINDS, QueryKey
from server.record_types.shared import triggers
from server.record_types.shared.triggers import Trigger
from server.template import registry
from server.template.registry import Callee

READS = re.compile(r"\bcall\.(?!run\b|params\b)\w+\([\"'](\w+)[\"']")
HANDS_ON = re.compile(r"\b(_\w+)\(call\b")


# -- automations ------------------------------------------------------------------------------------------------------


def flow() -> Iterator[str]:
    """One row for each keyword."""
    yield from head("Keyword", "Description")
    for name, note in FLOW.items():
        yield row(code(name), note)


def automation_commands() -> Iterator[str]:
    """One row for each command, followed by one for each input."""
    commands.load()
    yield from head("Command", "Input", "Type", "Description")
    for name, each in sorted(COMMANDS.items()):
        more = ["Requires `output:`."] if each.needs_output else []
        more += ["Not subject to policies."] if not each.governed else []
        more += ["Skipped in a simulation."] if each.effects else []
        yield row(f"**`{name}`**", "", "", " ".join([each.note, *more]))
        for one in each.inputs:
            place = "; next to `inputs:`, not below it" if one.name in each.own_keys and one.name != "inputs" else ""
            yield row("", _required(one.name, one.required), _takes(one) + place, one.note)


def _takes(each: Input) -> str:
    is_long = "text" in each.kind and each.max != MAX_TEXT
    return f"{each.kind}, up to {shown(each.max)} characters" if is_long else each.kind


def _required(name: str, is_required: bool) -> str:
    return f"**{code(name)}**" if is_required else code(name)


def automation_outputs() -> Iterator[str]:
    """One row for each command with an example, followed by one for each key."""
    yield from head("Command", "Key", "Value")
    for name, each in sorted(OUTPUTS.items()):
        example = "" if each.example is None else f" Example: {code(json.dumps(each.example, ensure_ascii=False))}"
        yield row(f"**`{name}`**", "", each.holds + example)
        for key, note in each.keys.items():
            yield row(
                "",
                "…" if key == ANY_KEY else code(key.rstrip("?")),
                f"Optional. {note}" if key[-1] == "?" else note,
            )


def automation_inputs() -> Iterator[str]:
    """The kinds, keys and text types that `inputs:` accepts."""
    yield from head("Part of an input", "Allowed values")
    yield row("kinds, as in `text/name:`", code(*inputs.KINDS))
    yield row("keys below it", code(*inputs.OPTIONS))
    yield row("`type:` of a text", code(*filter(None, inputs.TEXTS)))


def trigger_rows() -> Iterator[str]:
    """One row for each trigger that is not an event."""
    yield from _triggers(triggers.OTHERS, triggers.PREFIX)


def trigger_keys() -> Iterator[str]:
    """One row for each key that triggers pass to automations."""
    used: dict[str, list[str]] = {}
    for prefix, listed in (("", triggers.EVENTS), (triggers.PREFIX, triggers.OTHERS)):
        for name, each in listed.items():
            for key in each.keys if not each.is_screen else ():
                used.setdefault(key, []).append(prefix + name)
    yield from head("Key", "Value", "Triggers")
    for key, names in sorted(used.items()):
        if key in triggers.KEYS:
            each = triggers.KEYS[key]
            yield row(code(key), each.note + (f" Example: {code(each.example)}" if each.example else ""), code(*names))


def events() -> Iterator[str]:
    """One row for each event."""
    yield from _triggers(triggers.EVENTS, "")


def _triggers(found: dict[str, Trigger], prefix: str) -> Iterator[str]:
    yield from head("Name", "When", "Dictionary", "Return values", "Runs")
    for name, each in found.items():
        if not each.is_screen:
            answer = "; ".join(f"`{key}`: {note}" for key, note in each.answer.items())
            yield row(code(prefix + name), each.when, code(*each.keys), answer, each.runs)
    waiting = [prefix + name for name, each in found.items() if each.is_screen]
    if waiting:
        yield ""
        yield f"Reserved for interactive screens; nothing triggers them in this version: {code(*waiting)}."


def kata_annotations() -> Iterator[str]:
    """One row for each annotation."""
    yield from head("Annotation", "Result")
    for name, note in annotations.NOTES.items():
        yield row(f"`@{name}`", note)


# -- templates --------------------------------------------------------------------------------------------------------


def filters() -> Iterator[str]:
    """One row for each filter; a filter with two names has one row."""
    yield from _callees(registry.FILTERS, "Filter", lambda name, listed: f"{name}({listed})" if listed else name)


def functions() -> Iterator[str]:
    """One row for each function."""
    yield from _callees(registry.FUNCTIONS, "Function", lambda name, listed: f"{name}({listed})")


def template_tests() -> Iterator[str]:
    """One row for each test."""
    yield from _callees(registry.TESTS, "Test", lambda name, listed: f"is {name}({listed})" if listed else f"is {name}")


def _callees(found: dict[str, Callee], title: str, written: Callable[[str, str], str]) -> Iterator[str]:
    yield from head(title, "Result")
    rows: dict[Any, list[str]] = {}
    for name, each in sorted(found.items()):
        rows.setdefault(each.call, []).append(name)
    for call, names in rows.items():
        each = found[names[0]]
        yield row(code(*(written(name, _arguments(each)) for name in names)), described(each.note, call))


def _arguments(each: Callee) -> str:
    """Returns the signature, `value, step?, others...`; `?` marks optional arguments."""
    listed = [name if place < each.least else f"{name}?" for place, name in enumerate(each.names)]
    return ", ".join(listed if each.most is not None else [*listed, "..."])


# -- data queries -----------------------------------------------------------------------------------------------------


def query_keys() -> Iterator[str]:
    """One row for each type of data query, followed by one for each key; the keys of all types come first."""
    yield from head("Type", "Key", "Value", "Description")
    types = query_types()
    anything = next(iter(types.values()))
    yield row("**all types**", "", "", "")
    for each in keys_of(anything)[: len(keys_of(anything)) - len(anything.keys)]:
        yield _key(each if each.name != "format" else QueryKey("format", "text", each.note), "")
    for name, query_type in types.items():
        formats = f" Formats: {code(*query_type.formats)}." if any(query_type.formats) else ""
        yield row(f"**`{name}`**", "", "", query_type.description + formats)
        for each in query_type.keys:
            yield _key(each, "")
            for inner in each.keys:
                yield _key(inner, f"{each.name}: ")


def _key(each: QueryKey, before: str) -> str:
    takes = code(*each.choices) if each.choices else KINDS[each.kind]
    default = f" Default: `{each.default}`." if each.default else ""
    others = f" Also {code(*each.aliases)}." if each.aliases else ""
    return row("", _required(f"{before}{each.name}", each.required), takes, f"{each.note}{default}{others}")


# -- behaviors --------------------------------------------------------------------------------------------------------


def behavior_actions() -> Iterator[str]:
    """One row for each action."""
    actions.load()
    yield from head("Action", "Description", "Parameters", "Result stored in")
    for name, each in sorted(ACTIONS.items()):
        more = described((inspect.getdoc(each.call) or "").partition("\n\n")[0], each.call)
        place = f"the placeholder named by `{each.placeholder}`" if each.placeholder else ""
        place += f"; default `{each.default}`" if each.default else ""
        effects = " Skipped in a simulation without `run_in_simulator`." if each.effects else ""
        yield row(code(name), f"{each.note} {more}{effects}", code(*_parameters(each.call)), place)


def _parameters(function: Callable[..., Any]) -> list[str]:
    """Returns the parameters that a function reads, also through functions of its module."""
    module, found, looked = inspect.getmodule(function), dict[str, None](), set[str]()
    waiting = [inspect.getsource(function)]
    while waiting:
        source = waiting.pop()
        found |= dict.fromkeys(READS.findall(source))
        for name in HANDS_ON.findall(source):
            if name not in looked and hasattr(module, name):
                looked.add(name)
                waiting.append(inspect.getsource(getattr(module, name)))
    return list(found)
