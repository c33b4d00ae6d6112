"""Finds mistakes in a script and its policy, with their lines, before they are saved."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from server import template
from server.automation import commands, inputs, policy
from server.automation.command import COMMANDS
from server.automation.flow import LISTS
from server.automation.program import CONTROL, Block, CommandNode, compiled
from server.dataclass import dataclass
from server.errors import HelpdeskError, KataSyntax, nearest, reason
from server.kata import Document, Tree, parse
from server.kata.annotations import KNOWN
from server.kata.kata_parser import annotations, plain
from server.record_types.shared.triggers import AS_CALLER, WEBHOOK

POLICY_PARTS = ("commands", "callers", "settings")
POLICY_SETTINGS = ("time_limit_ms",)
NO_CALLER = (
    "a warning: this caller has no effect, since nothing uses it; `callers` says who may start automations with the "
    f"triggers {', '.join(AS_CALLER)}"
)
NO_WAIT = "a webhook cannot wait: its caller needs the response now; write `return`, and use a timer for longer work"
NOT_SAVED = ("log.alert",)  # commands of stored scripts that still run but cannot be saved again
MAX_MISTAKES = 100  # per text; suggesting the nearest name for each is slow


@dataclass(frozen=True)
class Mistake:
    """A mistake. line: from 1. path: the keys from the top, joined by colons."""

    line: int
    path: str
    message: str


def check(script: str) -> list[Mistake]:
    """Returns the mistakes of a script, in the order of their lines."""
    try:
        program = compiled(script, commands.load())
    except KataSyntax as error:
        return [_unreadable(error)]
    lines = program.document.lines

    def mistakes() -> Iterator[Mistake]:
        for key in program.document.tree:
            if "/" in plain(key):
                yield _at(plain(key), f"'{plain(key).partition('/')[0]}' does not take a name", lines)
        yield from _texts(program.document.tree, "", lines)
        yield from _declarations(program.inputs, lines)
        for node in nodes(program.start):
            yield from _node(node, lines)

    return placed(mistakes())


def check_trigger(script: str, trigger: str) -> list[Mistake]:
    """Returns what a script does that its trigger does not allow; [] for a script that cannot be parsed."""
    if trigger != WEBHOOK or "await" not in script:
        return []
    try:
        program = compiled(script, commands.load())
    except KataSyntax:
        return []
    return placed(
        _at(each.path, NO_WAIT, program.document.lines) for each in nodes(program.start) if each.type == "await"
    )


def check_policy(text: str) -> list[Mistake]:
    """Returns the mistakes of a policy."""
    try:
        document = parse(text)
        policy.read(text)
    except KataSyntax as error:
        return [_unreadable(error)]
    return placed(_policy(document))


def warn_of_policy(text: str) -> list[Mistake]:
    """Returns warnings about parts of a valid policy that have no effect."""
    try:
        document = parse(text)
    except KataSyntax:
        return []  # check_policy reports this as a mistake
    callers = [plain(key) for key, _ in _below(document.tree, "callers")]
    unused = [name for name in callers if name not in AS_CALLER]
    return [_at(f"callers:{name}", NO_CALLER, document.lines) for name in unused][:MAX_MISTAKES]


def check_texts(document: Document) -> list[Mistake]:
    """Returns the unknown annotations and the invalid templates of a document."""
    return placed(_texts(document.tree, "", document.lines))


def placed(mistakes: Iterable[Mistake]) -> list[Mistake]:
    """Returns distinct mistakes in the order of their lines, at most MAX_MISTAKES."""
    return sorted(set(islice(mistakes, MAX_MISTAKES)), key=lambda each: (each.line, each.path))


def nodes(block: Block) -> Iterator[CommandNode]:
    """Yields every command of a block and of its nested blocks."""
    for node in block.nodes:
        yield node
        for below in node.blocks.values():
            yield from nodes(below)


def _policy(document: Document) -> Iterator[Mistake]:
    lines, names = document.lines, commands.load()
    yield from _texts(document.tree, "", lines)
    for key in document.tree:
        if plain(key) not in POLICY_PARTS:
            near = nearest(plain(key), POLICY_PARTS)
            yield _at(plain(key), f"'{plain(key)[:80]}' is not part of a policy{near}", lines)
    for key, value in _below(document.tree, "commands"):
        name, path = plain(key), f"commands:{plain(key)}"
        if name in CONTROL or (name in names and not COMMANDS[name].governed):
            yield _at(path, f"'{name[:80]}' needs no policy", lines)
        elif name != "all" and name not in names:
            yield _at(path, f"'{name[:80]}' is not a command{nearest(name, names)}", lines)
        yield from _rules(value, path, lines)
    for key, value in _below(document.tree, "callers"):
        yield from _rules(value, f"callers:{plain(key)}", lines)
    for key, _ in _below(document.tree, "settings"):
        if plain(key) not in POLICY_SETTINGS:
            near = nearest(plain(key), POLICY_SETTINGS)
            yield _at(f"settings:{plain(key)}", f"'{plain(key)[:80]}' is not a setting of a policy{near}", lines)


def _below(tree: Tree, name: str) -> Iterable[tuple[str, Any]]:
    subtree = tree.get(name)
    return subtree.items() if isinstance(subtree, dict) else ()


def _rules(value: Any, path: str, lines: dict[str, int]) -> Iterator[Mistake]:
    if isinstance(value, str):
        yield _at(path, "takes rules below it, such as `allow@bool: yes`", lines)
    for key, rule in value.items() if isinstance(value, dict) else ():
        here = f"{path}:{plain(key)}"
        if plain(key).partition("/")[0] not in ("allow", "deny"):
            near = nearest(plain(key).partition("/")[0], ("allow", "deny"))
            yield _at(here, f"a rule is `allow` or `deny`{near}", lines)
        elif isinstance(rule, dict):
            yield _at(here, "a rule is yes, no or a template that prints one of them", lines)


def _unreadable(error: KataSyntax) -> Mistake:
    return Mistake(_line(error), str(error.details.get("path", "")), reason(error))


def _line(error: HelpdeskError) -> int:
    return int(str(error.details.get("line", 1)))


def _at(path: str, message: str, lines: dict[str, int]) -> Mistake:
    return Mistake(lines.get(path, 0) + 1, path, message)


def _texts(tree: Tree, path: str, lines: dict[str, int]) -> Iterator[Mistake]:
    """Yields unknown annotations and invalid templates."""
    for key, value in tree.items():
        here = f"{path}:{plain(key)}" if path else plain(key)
        for each in annotations(key):
            if each not in KNOWN:
                yield _at(here, f"'@{each[:50]}' is not an annotation{nearest(each, KNOWN)}", lines)
        if isinstance(value, dict):
            yield from _texts(value, here, lines)
        elif "{{" in value or "{%" in value:
            try:
                template.compile(value)
            except HelpdeskError as error:
                line = lines.get(here, 0) + _line(error) + ("\n" in value)
                yield Mistake(line, here, reason(error))


def _declarations(tree: Tree, lines: dict[str, int]) -> Iterator[Mistake]:
    """Yields input declarations of unknown kinds and types."""
    for key, value in tree.items():
        kind, slash, name = plain(key).partition("/")
        path = f"inputs:{plain(key)}"
        if kind not in inputs.KINDS:
            yield _at(path, f"'{kind[:50]}' is not a kind of input{nearest(kind, inputs.KINDS)}", lines)
        elif not (slash and name):
            yield _at(path, f"an input needs a name: {kind}/name", lines)
        type: Any = value.get("type") if isinstance(value, dict) else None
        for option in value if isinstance(value, dict) else ():
            if plain(option) not in inputs.OPTIONS:
                near = nearest(plain(option), inputs.OPTIONS)
                yield _at(
                    f"{path}:{plain(option)}", f"'{plain(option)[:80]}' is not an option of an input{near}", lines
                )
        if isinstance(type, str) and kind == "text" and "{" not in type and type not in inputs.TEXTS:
            yield _at(f"{path}:type", f"'{type[:50]}' is not a type of text{nearest(type, inputs.TEXTS)}", lines)


def _node(node: CommandNode, lines: dict[str, int]) -> Iterator[Mistake]:
    """Yields the mistakes for which a command would fail with any values."""
    if node.annotations and not (node.type == "return" and node.annotations == ("key",)):
        yield _at(node.path, f"'@{','.join(node.annotations)}' cannot be used on a command", lines)
    if node.type in NOT_SAVED:
        yield _at(node.path, f"'{node.type}' cannot be saved; write log.error, the highest level that can", lines)
    if node.type == "repeat" and "as" not in node.parts:
        yield _at(node.path, "repeat needs `as:`, the name of each element", lines)
    if node.type == "repeat" and "each" in node.parts:
        key, value = node.parts["each"]
        if isinstance(value, str) and value.strip() and "{" not in value and not annotations(key):
            yield _at(f"{node.path}:each", f"a text is not a list; {LISTS}", lines)
    if node.type == "while" and "if" not in node.parts:
        yield _at(node.path, "while needs `if:`", lines)
    if node.type == "outcome":
        then = node.parts.get("then")
        names = commands.load()
        written = {f"{node.path}:then:{plain(key)}" for key in then[1]} if then and isinstance(then[1], dict) else set()
        children = {each.path for each in node.blocks["then"].nodes} if "then" in node.blocks else set()
        for path in written - children:
            name = path.rpartition(":")[2].partition("/")[0]
            yield _at(path, f"'{name[:80]}' is not a command{nearest(name, names | CONTROL)}", lines)
    command = COMMANDS.get(node.type)
    if command is None:
        return
    body = node.body if isinstance(node.body, dict) else {}
    allowed = ("inputs", "output", "on_simulate", "on_success", "on_error", *command.own_keys)
    for key in body:
        if plain(key) not in allowed:
            near = nearest(plain(key), allowed)
            message = f"'{plain(key)[:80]}' does not belong in {command.name}{near}"
            yield _at(f"{node.path}:{plain(key)}", message, lines)
    if command.needs_output and not any(plain(key) == "output" for key in body):
        yield _at(node.path, f"{command.name} needs an `output:`", lines)
    yield from _inputs(node, body, lines)


def _inputs(node: CommandNode, body: Tree, lines: dict[str, int]) -> Iterator[Mistake]:
    command = COMMANDS[node.type]
    inputs = {each.name: each for each in command.inputs}
    names = {plain(key) for key in body if plain(key) in command.own_keys and plain(key) in inputs}
    below = next((value for key, value in body.items() if plain(key) == "inputs"), {})
    if isinstance(below, str):
        return  # a template or a path: its value is not known before the run
    if "inputs" not in command.own_keys:
        for key in below:
            name = plain(key)
            names.add(name)
            if name not in inputs:
                near = nearest(name, inputs)
                yield _at(f"{node.path}:inputs:{name}", f"{command.name} has no input '{name[:80]}'{near}", lines)
    for name, each in inputs.items():
        if each.required and name not in names:
            yield _at(node.path, f"{command.name} needs the input '{name}'", lines)
