"""Controls the flow of a run: its stack of blocks, and the commands that decide what runs next.

The position in a script is a list of plain values, so that a run can be resumed in another process after an await."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from server.automation.program import Block, CommandNode, Program
from server.automation.run_dictionary import lazy, plain
from server.dataclass import dataclass
from server.errors import BudgetSpent, ScriptError
from server.kata.annotations import as_bool
from server.template.values import pairs, printed, truthy

if TYPE_CHECKING:
    from server.automation.engine import Run

MAX_NODES = 1_000_000  # commands of one run
KINDS = {bool: "yes or no", int: "a number", float: "a number"}  # descriptions of value types; others are texts
LISTS = "write each@csv, each@list or each@json for a text, or each@key for a list in the dictionary"
LEVELS = {"log": 7, "log.warn": 4, "log.error": 3, "log.alert": 1}


@dataclass
class Frame:
    """A block on the stack of a run. place: index of the next command. kind: plain, repeat, while, simulate. memory:
    the remaining values of a loop, or the path of the command that a branch belongs to."""

    block: Block
    place: int = 0
    kind: str = "plain"
    memory: Any = None


class RunEnded(Exception):
    """Raised to end the run."""

    def __init__(self, state: str, returned: Any) -> None:
        super().__init__(state)
        self.state = state
        self.returned = returned


def dump_frame(frame: Frame) -> list[Any]:
    """Returns a frame as plain values."""
    return [frame.block.path, frame.place, frame.kind, plain(frame.memory)]


def load_frame(program: Program, saved: Any) -> Frame:
    """Restores a frame from plain values. Raises ScriptError for values that dump_frame() cannot have written."""
    match saved:
        case [str(path), int(place), str(kind), memory] if kind in _REMEMBERED and _REMEMBERED[kind](memory):
            block = program.blocks.get(path)
            if block is None or not 0 <= place <= len(block.nodes):
                raise ScriptError(f"the automation was changed while it waited; {path[:200]} is not as it was")
            return Frame(block, place, kind, memory)
    raise ScriptError("the automation cannot be resumed: its `__state` does not come from an await")


def _is_loop(memory: Any) -> bool:
    match memory:
        case {"names": list(names), "left": list(left)}:
            return all(isinstance(each, str) for each in names) and all(
                isinstance(each, list) and len(each) == 2 for each in left
            )
    return False


def _is_condition(memory: Any) -> bool:
    match memory:
        case [str(_), str() | dict(), str(_)]:
            return True
    return False


# The type of `memory` for each kind of frame.
_REMEMBERED: dict[str, Callable[[Any], bool]] = {
    "plain": lambda memory: memory is None,
    "repeat": _is_loop,
    "while": _is_condition,
    "simulate": lambda memory: isinstance(memory, str),
}


def _set(run: "Run", node: CommandNode) -> None:
    if isinstance(node.body, str):
        run.values[""] = run.evaluated("", node.body, node.path)
        return
    for key, value in node.body.items():
        pair = run.parameter(key, value, node.path, is_below=True)
        if pair is not None:
            name, entry = pair
            run.values[name] = lazy(entry, run.load) if isinstance(entry, dict) else entry


def _decision(run: "Run", node: CommandNode) -> None:
    for outcome in node.blocks["outcomes"].nodes:
        if _outcome(run, outcome):
            return


def _outcome(run: "Run", node: CommandNode) -> bool:
    part = node.parts.get("if")
    if part is not None and not truthy(run.evaluated(*part, node.path)):
        return False
    then = node.blocks.get("then")
    if then is not None and then.nodes:
        run.frames.append(Frame(then))
    return True


def _repeat(run: "Run", node: CommandNode) -> None:
    part, names = node.parts.get("each"), _names(run, node)
    value = run.evaluated(*part, node.path) if part is not None else None
    block = node.blocks.get("do")
    if not isinstance(value, (list, dict)) and not _is_blank(value):
        raise ScriptError(
            f"{node.path}: `each:` of repeat is {KINDS.get(type(value), 'a text')} ('{printed(value)[:40]}'), not a "
            f"list; {LISTS} (line {node.line})"
        )
    count = len(value) if isinstance(value, (list, dict)) else 0
    if not count or block is None or not block.nodes:
        return
    if count > MAX_NODES:
        raise BudgetSpent(f"a loop over {count:,} elements is too long; a run takes {MAX_NODES:,} commands at most")
    run.budget.entries(count)
    remaining = [[key, value] for key, value in pairs(value)]
    frame = Frame(block, kind="repeat", memory={"names": names, "left": remaining[::-1]})
    _next(run, frame)
    run.frames.append(frame)


def _is_blank(value: Any) -> bool:
    """Returns whether a value stands for an empty list: missing, of a failed template, or an empty text."""
    return value is None or value is False or (isinstance(value, str) and not value.strip())


def _names(run: "Run", node: CommandNode) -> list[str]:
    part = node.parts.get("as")
    text = printed(run.evaluated(*part, node.path)).strip() if part is not None else ""
    if not text:
        raise ScriptError(f"{node.path}: repeat needs `as:`, the name of each element (line {node.line})")
    names = [name.strip() for name in text.split(",")]
    return [f"{names[0]}__index", names[0]] if len(names) == 1 else names if len(names) == 2 else []


def _next(run: "Run", frame: Frame) -> bool:
    """Assigns the next values to the variables of a loop; at the end deletes them and returns False."""
    names, remaining = frame.memory["names"], frame.memory["left"]
    if not remaining:
        for name in names:
            run.values.pop(name, None)
        return False
    for name, value in zip(names, remaining.pop(), strict=False):
        run.values[name] = lazy(value, run.load) if isinstance(value, dict) else value
    frame.place = 0
    return True


def _while(run: "Run", node: CommandNode) -> None:
    if "if" not in node.parts:
        raise ScriptError(f"{node.path}: while needs `if:` (line {node.line})")
    block = node.blocks.get("do")
    if block is not None and block.nodes:
        key, value = node.parts["if"]
        run.frames.append(Frame(block, kind="while", memory=[key, value, node.path]))


def goes_on(run: "Run", frame: Frame) -> bool:
    """Returns whether a `while` continues; evaluated before every command of its body."""
    if frame.place >= len(frame.block.nodes):
        frame.place = 0
    key, value, path = frame.memory
    return time.monotonic() <= run.ends_at and as_bool(run.evaluated(key, value, path))


def block_done(run: "Run", frame: Frame) -> None:
    if frame.kind == "repeat" and _next(run, frame):
        return
    run.frames.pop()


def _return(run: "Run", node: CommandNode) -> None:
    if node.annotations:
        value = run.evaluated("_@key", node.body, node.path)
        raise RunEnded("return", value if isinstance(value, (dict, list)) else {})
    raise RunEnded("return", _listed(run, node))


def _await(run: "Run", node: CommandNode) -> None:
    raise RunEnded("await", _listed(run, node))


def _listed(run: "Run", node: CommandNode) -> dict[str, Any]:
    """Returns the children of a command as a map; a plain text has the empty key."""
    if isinstance(node.body, str):
        return {"": run.evaluated("", node.body, node.path)}
    children = {}
    for key, value in node.body.items():
        entry = run.parameter(key, value, node.path)
        if entry is not None:
            children[entry[0]] = entry[1]
    return children


def _error(run: "Run", node: CommandNode) -> None:
    if isinstance(node.body, str):
        message = printed(run.evaluated("", node.body, node.path))
    else:
        message = printed(_listed(run, node).get("_message"))
    raise ScriptError(message or "the automation ended with an error")


def _log(run: "Run", node: CommandNode) -> None:
    if isinstance(node.body, str):
        message = printed(run.evaluated("", node.body, node.path))
        if message not in ("", "0"):
            run.note(LEVELS[node.type], node.path, message)


def _simulated(run: "Run", node: CommandNode) -> None:
    """Runs simulate.success and simulate.error: sets the result of the command that this on_simulate belongs to."""
    while run.frames and run.frames[-1].kind != "simulate":
        run.frames.pop()
    frame = run.frames.pop() if run.frames else None
    above = run.frames[-1].block.nodes if run.frames else ()
    owner = next((each for each in above if frame is not None and each.path == frame.memory), None)
    if owner is None:
        raise ScriptError(f"{node.path}: {node.type} belongs in on_simulate (line {node.line})")
    output = run.output_of(owner, owner.body if isinstance(owner.body, dict) else {})
    if output:
        run.values[output] = _listed(run, node)
    branch = "on_success" if node.type == "simulate.success" else "on_error"
    if branch in owner.blocks:
        run.frames.append(Frame(owner.blocks[branch]))


CONTROL: dict[str, Callable[["Run", CommandNode], Any]] = {
    "set": _set,
    "decision": _decision,
    "outcome": _outcome,
    "repeat": _repeat,
    "while": _while,
    "return": _return,
    "await": _await,
    "error": _error,
    "log": _log,
    "log.warn": _log,
    "log.error": _log,
    "log.alert": _log,
    "simulate.success": _simulated,
    "simulate.error": _simulated,
}
