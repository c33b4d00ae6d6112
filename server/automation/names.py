"""Record types and fields that a script names and that this service does not have: told while somebody types. A script
is saved with them anyway, since a package or another administrator may make them afterwards."""

from collections.abc import Iterator

from server.automation import commands
from server.automation.checker import Mistake, check, check_trigger, nodes, placed
from server.automation.command import COMMANDS
from server.automation.program import CommandNode, compiled
from server.context import Context
from server.errors import KataSyntax, NotFound
from server.kata import Tree
from server.kata.parser import plain
from server.records.base import RecordType
from server.records.registry import Registry
from server.records.shared.custom import definitions
from server.records.shared.custom.definitions import Definitions

TYPE, FIELDS = "record_type", "fields"


def flagged(script: str, registry: Registry, customs: Definitions) -> list[Mistake]:
    """All that is told of a script while somebody writes it: its mistakes, and the names that are unknown here."""
    return placed([*check(script), *unknown(script, registry, customs)])


def unknown(script: str, registry: Registry, customs: Definitions) -> list[Mistake]:
    """Names of record types, and of fields below `fields:`, that there are not, in the order of their lines. What a
    template makes of them is known when it is reached. customs: the custom fields. [] for a script that cannot be read,
    which the checker tells. Source: ours."""
    try:
        program = compiled(script, commands.load())
    except KataSyntax:
        return []
    lines = program.document.lines

    def found() -> Iterator[Mistake]:
        for key, options in program.inputs.items():
            if isinstance(options, dict):
                yield from _names(options, f"inputs:{plain(key)}", registry, customs, lines)
        for node in nodes(program.start):
            yield from _command(node, registry, customs, lines)

    return placed(found())


def _command(node: CommandNode, registry: Registry, customs: Definitions, lines: dict[str, int]) -> Iterator[Mistake]:
    command = COMMANDS.get(node.type)
    inputs = _map(node.body, "inputs")
    if command is not None and any(each.name == TYPE for each in command.inputs):
        yield from _names(inputs, f"{node.path}:inputs", registry, customs, lines)


def _names(
    given: Tree, path: str, registry: Registry, customs: Definitions, lines: dict[str, int]
) -> Iterator[Mistake]:
    name = given.get(TYPE)
    if not isinstance(name, str) or not name or "{" in name:
        return
    try:
        record_type = registry.type(name)
    except NotFound as error:
        yield _at(f"{path}:{TYPE}", error.message, lines)
        return
    for key in _map(given, FIELDS):
        if "{" not in key and not _is_field(record_type, plain(key), customs):
            yield _at(f"{path}:{FIELDS}:{plain(key)}", record_type.unknown_field(plain(key)), lines)


def _is_field(record_type: RecordType, name: str, customs: Definitions) -> bool:
    own = record_type.alternatives.get(name, name)
    return own in record_type.fields or customs.named(record_type.context, name) is not None


def _map(tree: "str | Tree", name: str) -> Tree:
    found = tree.get(name) if isinstance(tree, dict) else None
    return found if isinstance(found, dict) else {}


def _at(path: str, message: str, lines: dict[str, int]) -> Mistake:
    return Mistake(lines.get(path, 0) + 1, path, message)


def flagged_in(ctx: Context, script: str, trigger: str = "") -> list[Mistake]:
    """As flagged, with the custom fields that there are, and with what is wrong where `trigger` starts the script, ""
    for any. Raises AdminOnly: it names those fields."""
    ctx.require_admin("check scripts")
    found = flagged(script, ctx.service.registry, ctx.service.store.read(definitions))
    return placed([*found, *check_trigger(script, trigger)])
