"""Finds unknown names in a script: record types and fields that this service does not have, variables that neither the
trigger nor the script sets, and returned keys that the trigger does not read.

They are warnings: a package or another administrator may add the type or field later."""

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

from server import template
from server.automation import commands
from server.automation.checker import Mistake, check, check_trigger, nodes, placed
from server.automation.command import COMMANDS
from server.automation.program import Block, CommandNode, compiled
from server.context import Context
from server.errors import HelpdeskError, KataSyntax, NotFound, nearest
from server.kata import Tree
from server.kata.kata_parser import annotations, plain
from server.record_types import describe
from server.record_types.record_type import RecordType
from server.record_types.registry import Registry
from server.record_types.shared.custom import definitions
from server.record_types.shared.custom.definitions import Definitions
from server.record_types.shared.triggers import WEBHOOK, find_trigger

TYPE, FIELDS = "record_type", "fields"
EMPTY = "a warning: '{name}' does not exist here, so it is always empty{near}"
UNREAD = "a warning: nothing reads '{name}' of what this returns{near}"
# Keys of commands whose texts are names of variables; for other commands only `output`.
NAMING = {
    "repeat": ("as",),
    "var.set": ("key", "output"),
    "var.push": ("key", "output"),
    "var.expand": ("key", "output"),
}


def flagged(script: str, registry: Registry, customs: Definitions) -> list[Mistake]:
    """Returns mistakes and unknown names of a script for its editor."""
    return placed([*check(script), *unknown(script, registry, customs)])


def unknown(script: str, registry: Registry, customs: Definitions) -> list[Mistake]:
    """Returns the unknown names of record types, and of fields below `fields:`, in the order of their lines.

    Names that a template computes are not checked. customs: the custom fields. [] for a script that cannot be parsed,
    which the checker reports."""
    try:
        program = compiled(script, commands.load())
    except KataSyntax:
        return []
    lines = program.document.lines

    def mistakes() -> Iterator[Mistake]:
        for key, options in program.inputs.items():
            if isinstance(options, dict):
                yield from _names(options, f"inputs:{plain(key)}", registry, customs, lines)
        for node in nodes(program.start):
            yield from _command(node, registry, customs, lines)

    return placed(mistakes())


def empty_variables(script: str, trigger: str, registry: Registry) -> list[Mistake]:
    """Returns the variables that a script reads but that are always empty, in the order of their lines.

    [] for a script that cannot be parsed, for a trigger that passes arbitrary values, and for a script that computes
    the names of its variables. A variable may be set anywhere in the script, since branches and loops may run before.
    """
    contract = find_trigger(trigger)
    if contract is None or contract.is_screen or "..." in contract.keys:
        return []
    try:
        program = compiled(script, commands.load())
        own = _own_variables(program.start)
    except (KataSyntax, _ComputedName):
        return []
    names = {"inputs", *contract.keys, *own}
    prefixes = ("__", *(each for each in names if each.endswith("_")))
    lines = program.document.lines

    def mistakes() -> Iterator[Mistake]:
        for name, path, line in _read_variables(program.document.tree["start"], "start", lines):
            if name in names or (name.startswith(prefixes) and not _is_unknown_key(name, contract.keys, registry)):
                continue
            near = nearest(name, (*names, *_keys(contract.keys, registry)))
            yield Mistake(line, path, EMPTY.format(name=name[:80], near=near))

    return placed(mistakes())


def unread_answers(script: str, trigger: str) -> list[Mistake]:
    """Returns the keys below `return:` that the trigger does not read, such as `status` where a webhook reads
    `status_code`.

    For other triggers only keys that resemble one that it reads, since many scripts return something for the log.

    [] for a script that cannot be parsed, and for a trigger that ignores the result or reads any key."""
    contract = find_trigger(trigger)
    if contract is None or contract.is_screen or not contract.answer or "..." in contract.answer:
        return []
    names = {each.partition(":")[0] for each in contract.answer}
    try:
        program = compiled(script, commands.load())
    except KataSyntax:
        return []

    def mistakes() -> Iterator[Mistake]:
        for node in nodes(program.start):
            for key in map(plain, node.body if node.type == "return" and isinstance(node.body, dict) else ()):
                near = nearest(key, names)
                if key not in names and "{" not in key and (near or trigger == WEBHOOK):
                    yield _at(f"{node.path}:{key}", UNREAD.format(name=key[:80], near=near), program.document.lines)

    return placed(mistakes())


class _ComputedName(Exception):
    """Raised if a template computes the name of a variable."""


def _own_variables(start: Block) -> Iterator[str]:
    """Returns the variables that commands set; one that ends in `_` is a prefix. Raises _ComputedName."""
    names: set[str] = set()
    for node in nodes(start):
        body = node.body if isinstance(node.body, dict) else {}
        if node.type == "set":
            if not isinstance(node.body, dict):
                raise _ComputedName
            names.update(plain(key) for key in body)
        for key, value in (*body.items(), *_map(body, "inputs").items()):
            if plain(key) in NAMING.get(node.type, ("output",)) and isinstance(value, str):
                names.update(part.strip() for part in value.split(","))
    if any("{" in each for each in names):
        raise _ComputedName
    roots = {_root(each) for each in names if each}
    records = {each.removesuffix("_context") for each in roots if each.endswith("__context")}
    return iter(roots | records | {f"{each}__index" for each in roots})


def _root(path: str) -> str:
    return re.split(r"[.:\[]", path, maxsplit=1)[0]


def _read_variables(tree: Any, path: str, lines: dict[str, int]) -> Iterator[tuple[str, str, int]]:
    """Yields (name, path, line) of each variable that templates and `@key` read."""
    for key, value in tree.items() if isinstance(tree, dict) else ():
        here = f"{path}:{plain(key)}"
        if isinstance(value, dict):
            yield from _read_variables(value, here, lines)
        elif "{" in value:
            with suppress(HelpdeskError):
                used = template.compile(value).names
                for name, line in used.read.items() if not used.has_others else ():
                    if name not in used.own:
                        yield name, here, lines.get(here, 0) + line + ("\n" in value)
        elif "key" in annotations(key) and value.strip():
            yield _root(value.strip()), here, lines.get(here, 0) + 1


def _is_unknown_key(name: str, handed: Iterable[str], registry: Registry) -> bool:
    """Returns whether a name has the prefix of a record from the trigger, but is not a key of that record."""
    for prefix in handed:
        record_type = registry.find(prefix[:-1]) if prefix.endswith("_") else None
        if record_type is not None and name.startswith(prefix):
            key = name.removeprefix(prefix)
            keys = {str(each["key"]) for each in describe.keys(record_type)}
            opened = tuple(f"{each}_" for each in (*record_type.nested_by_prefix, "custom", ""))
            return bool(key) and key not in keys and not key.startswith(opened)
    return False


def _keys(handed: Iterable[str], registry: Registry) -> Iterator[str]:
    """Returns the key names of the records that a trigger passes."""
    for prefix in handed:
        record_type = registry.find(prefix[:-1]) if prefix.endswith("_") else None
        if record_type is not None:
            yield from (f"{prefix}{each['key']}" for each in describe.keys(record_type))


def _command(node: CommandNode, registry: Registry, customs: Definitions, lines: dict[str, int]) -> Iterator[Mistake]:
    command = COMMANDS.get(node.type)
    inputs = _map(node.body, "inputs")
    if command is not None and any(each.name == TYPE for each in command.inputs):
        yield from _names(inputs, f"{node.path}:inputs", registry, customs, lines)


def _names(
    fields: Tree, path: str, registry: Registry, customs: Definitions, lines: dict[str, int]
) -> Iterator[Mistake]:
    name = fields.get(TYPE)
    if not isinstance(name, str) or not name or "{" in name:
        return
    try:
        record_type = registry.type(name)
    except NotFound as error:
        yield _at(f"{path}:{TYPE}", error.message, lines)
        return
    for key in _map(fields, FIELDS):
        if "{" not in key and not _is_field(record_type, plain(key), customs):
            yield _at(f"{path}:{FIELDS}:{plain(key)}", record_type.unknown_field(plain(key)), lines)


def _is_field(record_type: RecordType, name: str, customs: Definitions) -> bool:
    own = record_type.alternatives.get(name, name)
    return own in record_type.fields or customs.named(record_type.context, name) is not None


def _map(tree: "str | Tree", name: str) -> Tree:
    subtree = tree.get(name) if isinstance(tree, dict) else None
    return subtree if isinstance(subtree, dict) else {}


def _at(path: str, message: str, lines: dict[str, int]) -> Mistake:
    return Mistake(lines.get(path, 0) + 1, path, message)


def flagged_in(ctx: Context, script: str, trigger: str = "") -> list[Mistake]:
    """Returns the same as flagged(), with the service's custom fields and the mistakes for one `trigger`, "" for any.

    Raises AdminOnly, since messages contain names of custom fields."""
    ctx.require_admin("check scripts")
    mistakes = flagged(script, ctx.service.registry, ctx.service.store.read(definitions))
    empty = empty_variables(script, trigger, ctx.service.registry)
    return placed([*mistakes, *check_trigger(script, trigger), *empty, *unread_answers(script, trigger)])
