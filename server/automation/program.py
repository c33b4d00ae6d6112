"""Compiles a script into a tree of commands before anything runs.

Does not run commands: engine.py runs those that control the flow, commands/ has the others."""

import functools
from dataclasses import field

from server.dataclass import dataclass
from server.errors import KataSyntax, TemplateFailed, nearest, reason
from server.kata import Document, Tree, parse
from server.kata.kata_parser import annotations, plain

FLOW = {
    "set": "Set values in the dictionary, one after the other; a map replaces the previous value.",
    "decision": "Run the first `outcome:` whose `if:` is true.",
    "outcome": "With `if:` and `then:`: run what is below `then:` when `if:` is true. A text is true unless it is "
    "empty or 0; `if@bool:` reads words.",
    "repeat": "With `each:`, `as:` and `do:`: run `do:` for each element, as `<as>` and `<as>__index`; "
    "`as: key, value` names both.",
    "while": "With `if:` and `do:`: run `do:` as long as it is true, asked before each of its commands.",
    "return": "End the run and return the values below. `return@key: path` returns the value at that path.",
    "await": "Pause the run until what is described below happens. Timers accept `until:`.",
    "error": "End the run as failed, with a message.",
    "log": "Write a message to the automation log, at the level debug.",
    "log.warn": "The same, at the level warning.",
    "log.error": "The same, at the level error.",
    "log.alert": "The same, at the level alert. It runs, but a script that contains it cannot be saved.",
    "simulate.success": "In `on_simulate:`: the command succeeds with the output below.",
    "simulate.error": "In `on_simulate:`: the command fails with the output below.",
}
CONTROL = frozenset(FLOW)
BRANCHES = ("on_simulate", "on_success", "on_error")
PARTS = {
    "decision": (),
    "outcome": ("if", "then"),
    "repeat": ("each", "as", "do"),
    "while": ("if", "do"),
}
MAX_KEPT = 512  # cached scripts; parsing 15 lines takes 60 microseconds, a tenth of a webhook's request
MAX_KEPT_CHARS = 128 * 1024  # longer scripts are rare and large, and are not cached


@dataclass
class CommandNode:
    """A command. path: its keys from `start`, joined by colons. blocks: the nested commands, by `then`, `do`,
    `on_error`... For a decision, `outcomes`. body: the text or map under its key."""

    path: str
    type: str
    annotations: tuple[str, ...]
    body: "str | Tree"
    line: int
    blocks: dict[str, "Block"] = field(default_factory=dict)
    parts: dict[str, tuple[str, "str | Tree"]] = field(default_factory=dict)  # {plain key: (key as written, value)}


@dataclass
class Block:
    """A sequence of commands. path: includes the key that holds them."""

    path: str
    nodes: list[CommandNode]


@dataclass
class Program:
    """A compiled script. inputs: its declarations. blocks: every block by its path. source: its text."""

    start: Block
    inputs: Tree
    document: Document
    blocks: dict[str, Block]
    source: str

    def located(self, error: TemplateFailed, path: str, key: str) -> str:
        """Adds the line of the script to the error of a template. path, key: of its text."""
        lines = self.document.lines
        line = lines.get(f"{path}:{key}", lines.get(path))
        within = error.details.get("line")
        if line is None or not isinstance(within, int):
            return error.message
        is_block = self.source.split("\n")[line].rstrip().endswith(":")  # a block text begins on the next line
        return f"{reason(error)} (line {line + within + is_block})"


def compiled(script: str, names: frozenset[str]) -> Program:
    """Compiles a script. names: those of commands. Raises KataSyntax with a `line`."""
    return _kept(script, names) if len(script) <= MAX_KEPT_CHARS else _Builder(parse(script), names).program(script)


@functools.lru_cache(maxsize=MAX_KEPT)
def _kept(script: str, names: frozenset[str]) -> Program:
    return _Builder(parse(script), names).program(script)


class _Builder:
    def __init__(self, document: Document, names: frozenset[str]) -> None:
        self._document = document
        self._known = names
        self._blocks: dict[str, Block] = {}

    def program(self, source: str) -> Program:
        inputs: Tree = {}
        start: Block | None = None
        for key, value in self._document.tree.items():
            name = plain(key)
            if name == "inputs":
                inputs = value if isinstance(value, dict) else {}
            elif name.partition("/")[0] != "start":
                near = nearest(name, ("inputs", "start"))
                raise self._error(name, f"'{name[:80]}' cannot be next to start; only inputs and start can{near}")
            elif isinstance(value, str) or annotations(key):
                raise self._error(name, "start takes commands below it")
            elif start is None:
                start = self._block(value, name)
        if start is None:
            raise KataSyntax("the script has no `start:`", code="NO_START", line=1)
        return Program(start, inputs, self._document, self._blocks, source)

    def _block(self, tree: "str | Tree", path: str, lenient: bool = False) -> Block:
        """Compiles a block. lenient: skip entries that are not commands."""
        nodes = []
        for key, value in tree.items() if isinstance(tree, dict) else ():
            type = plain(key).partition("/")[0]
            if type in CONTROL or type in self._known:
                nodes.append(self._node(key, value, f"{path}:{plain(key)}"))
            elif not lenient:
                near = nearest(type, self._known | CONTROL)
                raise self._error(f"{path}:{plain(key)}", f"'{type[:80]}' is not a command{near}")
        block = self._blocks[path] = Block(path, nodes)
        return block

    def _node(self, key: str, value: "str | Tree", path: str) -> CommandNode:
        type = plain(key).partition("/")[0]
        node = CommandNode(path, type, annotations(key), value, self._document.lines.get(path, 0) + 1)
        if type == "decision":
            self._decision(node)
        elif type in PARTS:
            self._parts(node, PARTS[type])
        elif type not in CONTROL and isinstance(value, dict):
            for name, branch in value.items():
                if plain(name) in BRANCHES:
                    node.blocks[plain(name)] = self._block(branch, f"{path}:{plain(name)}")
        return node

    def _decision(self, node: CommandNode) -> None:
        body = node.body if isinstance(node.body, dict) else {}
        for key in body:
            if plain(key).partition("/")[0] != "outcome":
                raise self._error(f"{node.path}:{plain(key)}", "a decision takes only outcomes")
        node.blocks["outcomes"] = self._block(body, node.path)

    def _parts(self, node: CommandNode, names: tuple[str, ...]) -> None:
        for key, value in node.body.items() if isinstance(node.body, dict) else ():
            name = plain(key)
            if name not in names:
                allowed = ", ".join(names)
                raise self._error(
                    f"{node.path}:{name}", f"'{name[:80]}' does not belong in {node.type}; only {allowed} do"
                )
            node.parts[name] = (key, value)
            if name in ("then", "do"):
                node.blocks[name] = self._block(value, f"{node.path}:{name}", lenient=name == "then")

    def _error(self, path: str, reason: str) -> KataSyntax:
        line = self._document.lines.get(path, 0) + 1
        return KataSyntax(f"{reason} (line {line})", code="BAD_COMMAND", line=line, path=path)
