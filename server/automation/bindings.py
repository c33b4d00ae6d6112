"""Event KATA: which automations handle an event, and with which inputs.

An entry is `automation/<name>:` with `uri`, `inputs`, and `disabled` or `enabled`."""

import functools
from collections.abc import Collection, Iterator
from typing import Any

from server import template
from server.automation import checker
from server.automation.commands.functions import automation_name
from server.automation.host import Host, Script
from server.automation.run_dictionary import Dictionary
from server.dataclass import dataclass
from server.errors import KataSyntax, reason
from server.kata import Environment, Generic, check, parse
from server.kata.annotations import as_bool
from server.kata.kata_parser import Tree, plain
from server.template import Budget, Surroundings

MAX_KEPT = 512  # cached bindings; parsing takes 12 microseconds for one entry and 300 for 20, at each event
MAX_KEPT_CHARS = 8 * 1024  # longer bindings are not cached
SCHEMA: dict[str, Any] = {
    "attributes": {
        "automation": {
            "multiple": True,
            "types": {
                "object": {
                    "attributes": {
                        "uri": {"required": True, "types": {"string": None}},
                        "inputs": {
                            "types": {
                                "object": {
                                    "attributePatterns": {
                                        "any": {
                                            "match": "*",
                                            "attributes": {"types": {"any": None}},
                                        }
                                    }
                                }
                            }
                        },
                        "disabled": {"multiple": True, "types": {"any": None}},
                        "enabled": {"multiple": True, "types": {"any": None}},
                    }
                }
            },
        },
    }
}


@dataclass(frozen=True)
class Handler:
    """An automation that handles an event. name: of its entry. line: of the entry in the binding, from 1."""

    name: str
    automation: Script
    inputs: dict[str, Any]
    line: int


@dataclass(frozen=True)
class BindingCandidate:
    """An entry of a binding and whether it runs. key: as written. uri: the automation that it names. handler: None for
    an entry that does not run; reason: why, in words. is_off: whether it is disabled."""

    key: str
    line: int
    uri: str = ""
    handler: Handler | None = None
    reason: str = ""
    is_off: bool = False


def problems(text: str) -> list[tuple[int, str]]:
    """Checks a binding that is about to be saved; returns [(line from 1, message)]."""
    return schema_problems(text, SCHEMA)


def schema_problems(text: str, schema: dict[str, Any]) -> list[tuple[int, str]]:
    """Checks a text in KATA against a schema, and its templates; returns [(line from 1, message)]."""
    try:
        document = parse(text)
        mistakes = checker.check_texts(document)
        if mistakes:
            return [(each.line, f"[{each.path}] {each.message}") for each in mistakes]
        values = Generic(Environment()).value(document.tree)
        violations = check(values if isinstance(values, dict) else {}, schema, scalars=False)
        return [(document.lines.get(each.path, 0) + 1, f"[{each.path}] {each.message}") for each in violations]
    except KataSyntax as error:
        return [(int(str(error.details.get("line", 1))), reason(error))]


def handlers(
    text: str,
    trigger: str,
    values: dict[str, Any],
    host: Host,
    only: Collection[str] | None = None,
    *,
    has_functions: bool = True,
) -> Iterator[Handler]:
    """Returns the enabled automations of a binding in order, without missing ones and those with another trigger.

    only: the names of the entries to consider; None for all. has_functions: whether its templates may call the
    functions of the host. Raises KataSyntax for a binding that cannot be parsed or evaluated."""
    for each in binding_candidates(text, trigger, values, host, only, has_functions=has_functions):
        if each.handler is not None:
            yield each.handler


def binding_candidates(
    text: str,
    trigger: str,
    values: dict[str, Any],
    host: Host,
    only: Collection[str] | None = None,
    *,
    has_functions: bool = True,
    budget: Budget | None = None,
) -> Iterator[BindingCandidate]:
    """Returns every entry of a binding, or `only` those of these names, in order, and whether it runs. has_functions:
    as for handlers(). budget: of its templates, None for the usual one. Raises KataSyntax, BudgetSpent."""
    dictionary = values if isinstance(values, Dictionary) else Dictionary(values, host.load)
    around = Surroundings(zone=host.zone, host=host.functions()) if has_functions else Surroundings(zone=host.zone)
    left = budget or Budget()

    def render(source: str) -> str:
        if "{" not in source:
            return source
        return template.compile(source).render(dictionary, left, around)

    evaluator = Generic(Environment(values=dictionary, render=render))
    for name, (key, line, tree) in entries(text).items():
        if only is not None and name not in only:
            continue
        disabling = _disabling(tree, evaluator, key)
        if disabling:
            yield BindingCandidate(key, line, reason=f"its `{disabling}` is true", is_off=True)
            continue
        own = evaluator.map({part: value for part, value in tree.items() if plain(part) in ("uri", "inputs")}, key)
        uri = own.get("uri") if isinstance(own, dict) else None
        automation = host.automation(automation_name(str(uri))) if uri else None
        if automation is None:
            yield BindingCandidate(key, line, str(uri or ""), reason="the automation does not exist")
            continue
        if automation.trigger != trigger:
            yield BindingCandidate(key, line, str(uri), reason=f"the automation is started by {automation.trigger}")
            continue
        inputs = own.get("inputs") if isinstance(own, dict) else None
        handler = Handler(name, automation, inputs if isinstance(inputs, dict) else {}, line)
        yield BindingCandidate(key, line, str(uri), handler)


def entries(text: str) -> dict[str, tuple[str, int, Tree]]:
    """Returns the entries of a binding: {name: (key as written, line from 1, subtree)}. Raises KataSyntax."""
    return _kept(text) if len(text) <= MAX_KEPT_CHARS else _entries(text)


def _entries(text: str) -> dict[str, tuple[str, int, Tree]]:
    document = parse(text)
    entries: dict[str, tuple[str, int, Tree]] = {}
    for key, value in document.tree.items():
        kind, _, name = plain(key).partition("/")
        line = document.lines.get(plain(key), 0) + 1
        if kind == "automation" and isinstance(value, dict):
            entries[name] = (plain(key), line, value)
        elif isinstance(value, str):
            raise KataSyntax(f"'{plain(key)[:80]}' takes `uri:` below it (line {line})", code="BAD_BINDING", line=line)
    return entries


_kept = functools.lru_cache(maxsize=MAX_KEPT)(_entries)


def _disabling(tree: Tree, evaluator: Generic, path: str) -> str:
    """Returns the key that disables an entry, "" if it is enabled: the first of `disabled` and `enabled` that is true
    decides."""
    for key, value in tree.items():
        kind = plain(key).partition("/")[0]
        if kind not in ("disabled", "enabled") or not isinstance(value, str):
            continue
        entry = evaluator.leaf(key, value, f"{path}:{plain(key)}")
        if entry is not None and as_bool(entry[1]):
            return key if kind == "disabled" else ""
    return ""
