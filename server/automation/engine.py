"""Runs an automation: its commands in order, the flow between them, and what becomes of errors.

The place of a run is a list of plain values, so that one that awaits something can go on later, in another process."""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from server import clock, log, template, times
from server.automation import commands, inputs, policy
from server.automation.command import COMMANDS, Call, Command, CommandFailed, checked
from server.automation.dictionary import Dictionary, lazy, plain, require_bounded
from server.automation.host import Automation, Entry, Host
from server.automation.program import Block, Node, Program, compiled
from server.errors import BudgetSpent, HelpdeskError, KataSyntax, PolicyDenied, ScriptError, TemplateFailed
from server.kata import Given, Parameters
from server.kata.annotations import as_bool, parts_of
from server.kata.parser import Tree, annotations
from server.kata.parser import plain as plain_key
from server.template import Budget, Surroundings
from server.template.values import pairs, printed, truthy

MAX_NODES = 1_000_000  # commands that one run may take
MAX_MEMORY = 256 * 1024 * 1024  # bytes of all that one run makes on its way; what it keeps is limited apart
MAX_MESSAGE = 1024  # characters of an entry of the log
MAX_ENTRIES = 1000  # of one run; one more says that the rest is left out
MAX_TRACED = 10_000  # commands of one trace at most; one more line says that the rest is left out
LEVELS = {"log": 7, "log.warn": 4, "log.error": 3, "log.alert": 1}
LIMIT_REACHED = "the automation takes longer than its time limit"
STOPPED = "the run was stopped by who let it run"
LOG = log.get("automation")


@dataclass
class Step:
    """One command of a trace. ms: its time, without that of commands inside it. changed: the keys that it set.
    verdict: the rule of the policy that let it run, or did not; "" where none is asked, or none fits."""

    path: str
    ms: float = 0.0
    changed: list[str] = field(default_factory=list)
    verdict: str = ""
    error: str = ""


@dataclass
class Result:
    """state: return, await, exit, error (the time limit) or failure. message: why, for the last two."""

    state: str
    returned: Any = None
    values: dict[str, Any] = field(default_factory=dict)
    log: list[Entry] = field(default_factory=list)
    message: str = ""
    trace: list[Step] = field(default_factory=list)
    at_step: dict[str, Any] | None = None  # the dictionary after the command that was asked for, if it was reached

    @property
    def variables(self) -> dict[str, Any]:
        """The dictionary without what the engine keeps in it."""
        return shown(self.values)


@dataclass
class _Frame:
    """A block that is being run. place: the next command. kind: plain, repeat, while, simulate. memory: what is left of
    a loop, or the path of the command that a branch belongs to."""

    block: Block
    place: int = 0
    kind: str = "plain"
    memory: Any = None


class _Ended(Exception):
    """The run is over."""

    def __init__(self, state: str, returned: Any) -> None:
        super().__init__(state)
        self.state = state
        self.returned = returned


class Run:
    """One run. values: the dictionary, which commands change. at_end: what commands want done when all is over, called
    with whether it ended well."""

    def __init__(
        self,
        automation: Automation,
        values: dict[str, Any],
        host: Host,
        *,
        traced: int = 0,
        state_at: int = 0,
        calls: int = 0,
        latest: float | None = None,
    ) -> None:
        """state_at: the command of the trace, from 1, whose dictionary is kept; 0 for none. calls: the runs that this
        one is inside of. latest: when those must be over, on the monotonic clock."""
        self.automation = automation
        self.host = host
        self.calls = calls
        self.load = host.load
        self.values = Dictionary(values, host.load)
        self.simulates = truthy(values.get("__simulate"))
        self.log: list[Entry] = []
        self.at_end: list[Callable[[bool], None]] = []
        self.around = Surroundings(zone=host.zone, host=host.functions())
        self.budget = Budget()
        self._program: Program | None = None
        self._frames: list[_Frame] = []
        self._trace: list[Step] | None = [] if traced else None
        self._step: Step | None = None  # of the trace, for the command that is run; None beyond what is traced
        self._traced = min(traced, MAX_TRACED)
        self._state_at = state_at
        self._at_step: dict[str, Any] | None = None
        self._nodes = 0
        self._latest = time.monotonic() + policy.MAX_SECONDS if latest is None else latest
        self._ends_at = 0.0
        self._node: Node | None = None
        self._inner: Run | None = None  # of an automation that this one has called
        self._is_stopped = False

    # -- the whole --------------------------------------------------------------------------------------------------

    def result(self) -> Result:
        """Run to the end, or to an await."""
        try:
            program = self._program = compiled(self.automation.script, commands.load())
            self._policy = policy.read(self.automation.policy)
            self._ends_at = min(time.monotonic() + self._policy.seconds, self._latest)
            if self._is_stopped:  # before it began
                return self._over()
            self.budget = Budget(steps=MAX_NODES * 10, memory=MAX_MEMORY, ends_at=self._ends_at)
            if not self._resume(program):
                self._take_inputs(program)
                self._frames = [_Frame(program.start)]
            return self._ended("exit", None) if self._go() else self._over()
        except _Ended as ended:
            return self._ended(ended.state, ended.returned)
        except BudgetSpent as error:
            return self._over() if time.monotonic() > self._ends_at > 0 else self._failed(self._placed(error))
        except HelpdeskError as error:
            return self._failed(error.message)
        except RecursionError:
            return self._failed(self._placed(BudgetSpent("the values of the automation are nested too deeply")))
        except Exception:
            LOG.exception("automation.failed", name=self.automation.name, node=self._node and self._node.path)
            return self._failed(self._placed(ScriptError("a command failed in a way that it should not; see the log")))

    def stop(self) -> None:
        """End the run after the command that it is at. From another thread."""
        self._is_stopped = True
        self._ends_at = self._latest = time.monotonic()
        self.budget.end()
        if self._inner is not None:
            self._inner.stop()

    def _placed(self, error: ScriptError) -> str:
        """The message of an error with the command that was run."""
        node = self._node
        return f"{node.path}: {error.message} (line {node.line})" if node is not None else error.message

    def _ended(self, state: str, returned: Any) -> Result:
        try:
            require_bounded([self.values, returned, *(frame.memory for frame in self._frames)])
        except BudgetSpent as error:
            return self._failed(self._placed(error))
        self.values["__exit"] = state
        if state in ("return", "await"):
            self.values["__return"] = returned
        if state == "await":
            self.values["__state"] = {"frames": [_kept(frame) for frame in self._frames]}
        return self._result(state, returned=returned)

    def _left_behind(self) -> None:
        """Empty the dictionary of a run that did not end well when it is too large to be kept."""
        try:
            require_bounded(self.values)
        except BudgetSpent:
            self.values.clear()

    def _over(self) -> Result:
        return self._failed(STOPPED) if self._is_stopped else self._timed_out()

    def _timed_out(self) -> Result:
        self._left_behind()
        self.values["__exit"], self.values["__error"] = "error", LIMIT_REACHED
        self.note(3, LIMIT_REACHED, LIMIT_REACHED)
        return self._result("error", LIMIT_REACHED)

    def _failed(self, message: str) -> Result:
        if not self.simulates:
            self.note(3, "", message)
        self._left_behind()
        return self._result("failure", message)

    def _result(self, state: str, message: str = "", returned: Any = None) -> Result:
        return Result(state, returned, self.values, self.log, message, self._trace or [], self._at_step)

    def _take_inputs(self, program: Program) -> None:
        given = self.values.get("inputs")
        if program.inputs or given:
            taken = inputs.checked(program.inputs, given or {}, self, self._given(""))
            if taken or given is not None:
                self.values["inputs"] = taken

    def _resume(self, program: Program) -> bool:
        """Go on where an await stopped; whether there was one."""
        state = self.values.pop("__state", None)
        if not isinstance(state, dict):
            return False
        for key in ("__exit", "__return"):
            self.values.pop(key, None)
        frames = state.get("frames", [])
        for kept in frames if isinstance(frames, list) else [None]:
            self._frames.append(_restored(program, kept))
        return True

    def _go(self) -> bool:
        """Run commands until there are none; False when the time is over."""
        while self._frames:
            frame = self._frames[-1]
            if frame.kind == "while" and not self._still(frame):
                self._frames.pop()
                if time.monotonic() > self._ends_at:
                    return False
                continue
            if frame.place >= len(frame.block.nodes):
                self._block_done(frame)
                continue
            node = frame.block.nodes[frame.place]
            frame.place += 1
            self._nodes += 1
            self._node = node
            if self._nodes > MAX_NODES:
                raise BudgetSpent(f"the automation takes more than {MAX_NODES:,} commands")
            self._run(node)
            if time.monotonic() > self._ends_at:
                return False
        return True

    # -- one command ------------------------------------------------------------------------------------------------

    def _run(self, node: Node) -> None:
        self._step = None
        if self._trace is None or len(self._trace) > self._traced:
            self._do(node)
            return
        if len(self._trace) == self._traced:
            self._trace.append(Step("", error=f"only the first {self._traced:,} commands of the run are listed"))
            self._do(node)
            return
        step, began = Step(node.path), time.perf_counter()
        self._step, before = step, dict(self.values)
        self._trace.append(step)
        place = len(self._trace)
        try:
            self._do(node)
        finally:
            step.ms = round((time.perf_counter() - began) * 1000, 3)
            step.changed = [key for key, value in self.values.items() if before.get(key, _run_marker) is not value]
            if place == self._state_at:
                require_bounded(self.values)
                self._at_step = shown(self.values)

    def _do(self, node: Node) -> None:
        if node.annotations and not (node.type == "return" and node.annotations == ("key",)):
            raise KataSyntax(
                f"{node.path}: '@{','.join(node.annotations)}' cannot stand on a command (line {node.line})",
                code="ANNOTATED",
                line=node.line,
            )
        control = _CONTROL.get(node.type)
        if control is not None:
            control(self, node)
        else:
            self._command(node, COMMANDS[node.type])

    def _command(self, node: Node, command: Command) -> None:
        body = node.body if isinstance(node.body, dict) else {}
        if self.simulates and "on_simulate" in node.blocks:
            self._frames.append(_Frame(node.blocks["on_simulate"], kind="simulate", memory=node.path))
            return
        output = ""
        try:
            output = self._output(node, body)
            found = self._called(node, command, body, output)
        except (_Ended, BudgetSpent):
            raise
        except HelpdeskError as error:
            self._command_failed(node, output, error)
            return
        if output:
            self.values[output] = found
        if "on_success" in node.blocks:
            self._frames.append(_Frame(node.blocks["on_success"]))

    def _output(self, node: Node, body: Tree) -> str:
        key = next((key for key in body if plain_key(key) == "output"), None)
        return printed(self.evaluated(key, body[key], node.path)) if key is not None else ""

    def _called(self, node: Node, command: Command, body: Tree, output: str) -> Any:
        allowed = {"inputs", "output", "on_simulate", "on_success", "on_error", *command.own_keys}
        for key in body:
            if plain_key(key) not in allowed:
                raise CommandFailed(f"{node.path}: '{plain_key(key)[:80]}' does not belong in {command.name}")
        if not isinstance(node.body, dict):
            raise CommandFailed(f"{node.path}: {command.name} takes `inputs:` below it")
        if command.needs_output and not output:
            raise CommandFailed(f"{node.path}: {command.name} needs an `output:`")
        given: dict[str, Any] = {}
        for key, value in body.items():
            if plain_key(key) in command.own_keys:
                given[plain_key(key)] = self.evaluated(key, value, node.path)
            elif plain_key(key) == "inputs":
                found = self.evaluated(key, value, node.path)
                given |= found if isinstance(found, dict) else {}
        self.budget.step(require_bounded(given))
        taken = checked(command, given)
        if command.governed:
            self.ask_policy(node, command, taken, output)
        if command.effects and self.host.dry:
            raise CommandFailed(f"{command.name} is not done in a simulation; say in on_simulate what it answers")
        return command.call(Call(self, node, taken, frozenset(given), output))

    def ask_policy(self, node: Node, command: Command, taken: dict[str, Any], output: str) -> None:
        """Whether the policy lets a node run a command with these inputs. Raises PolicyDenied."""
        variables: dict[str, Any] = {
            "node": {"id": node.path, "type": command.name}, "inputs": taken, "output": output,
        }  # fmt: skip
        if command.tells is not None:
            variables |= command.tells(taken)
        try:
            rule = self._policy.require(command.name, node.path, variables, self.budget, self.around)
        except PolicyDenied as error:
            self._told(str(error.details.get("rule") or ""))
            raise
        self._told(rule)

    def _told(self, rule: str) -> None:
        """Note the rule of the policy in the trace."""
        if self._step is not None:
            self._step.verdict = rule

    def _command_failed(self, node: Node, output: str, error: HelpdeskError) -> None:
        if self._step is not None:
            self._step.error = error.message
        if "on_error" not in node.blocks:
            raise ScriptError(error.message) from error
        if output:
            more = error.output if isinstance(error, CommandFailed) else {}
            self.values[output] = {**more, "error": error.message}
        self._frames.append(_Frame(node.blocks["on_error"]))

    # -- what commands and their inputs need ------------------------------------------------------------------------

    def note(self, level: int, node: str, message: str, is_own: bool = True) -> None:
        """Put an entry into the log. is_own: False for one of an automation that this one called."""
        if len(self.log) > MAX_ENTRIES:
            return
        if len(self.log) == MAX_ENTRIES:
            level, message = 4, f"this run has more than {MAX_ENTRIES:,} entries; the rest is left out"
        if len(message) > MAX_MESSAGE:
            message = message[: MAX_MESSAGE - 1] + "…"
        self.log.append(Entry(level, node, message, is_own))

    def read_date(self, text: str) -> int | None:
        """Unix seconds of a time in words, in the zone of the run."""
        try:
            return times.instant(text, clock.now(), times.zone(self.around.zone))
        except HelpdeskError:
            return None

    def render(self, text: str) -> str:
        """A template, filled with the dictionary. Raises TemplateFailed."""
        if "{" not in text:
            return text
        self.budget.step()
        return template.compile(text).render(self.values, self.budget, self.around)

    def evaluated(self, key: str, value: "str | Tree", path: str) -> Any:
        """The value of one parameter; a map's entries in turn."""
        found = self._parameter(key, value, path)
        return None if found is None else found[1]

    def called(self, automation: Automation, values: dict[str, Any]) -> Result:
        """Run another automation inside this run; its entries come into this log."""
        values = values | ({"__simulate": True} if self.simulates else {})
        inner = self._inner = Run(automation, values, self.host, calls=self.calls + 1, latest=self._latest)
        if self._is_stopped:  # since the line before
            inner.stop()
        found = inner.result()
        for entry in inner.log:
            self.note(entry.level, entry.node, entry.message, is_own=False)
        self.at_end += inner.at_end
        return found

    def _given(self, path: str, key: str = "") -> Given:
        """What the values below a path are evaluated with. key: of the value, where the path does not end with it."""

        def log(here: str, error: TemplateFailed) -> None:
            self.note(3, path, self._program.located(error, here, key) if self._program else error.message)

        return Given(self.values, self.render, self.read_date, log, self._charge)

    def _charge(self, annotation: str, text: str) -> None:
        """Before a text becomes many values. Raises BudgetSpent."""
        parts = parts_of(annotation, text)
        if annotation in ("csv", "list"):
            self.budget.elements(parts)
        else:
            self.budget.made(parts)

    def _parameter(self, key: str, value: "str | Tree", path: str) -> tuple[str, Any] | None:
        evaluator = Parameters(self._given(path, plain_key(key)))
        if isinstance(value, str):
            return evaluator.leaf(key, value, path)
        return plain_key(key), (value if "raw" in annotations(key) else evaluator.map(value, path))

    # -- the flow ---------------------------------------------------------------------------------------------------

    def _set(self, node: Node) -> None:
        if isinstance(node.body, str):
            self.values[""] = self.evaluated("", node.body, node.path)
            return
        for key, value in node.body.items():
            found = self._parameter(key, value, f"{node.path}:{plain_key(key)}")
            if found is not None:
                self.values[found[0]] = lazy(found[1], self.load)

    def _decision(self, node: Node) -> None:
        for outcome in node.blocks["outcomes"].nodes:
            if self._outcome(outcome):
                return

    def _outcome(self, node: Node) -> bool:
        part = node.parts.get("if")
        if part is not None and not truthy(self.evaluated(*part, node.path)):
            return False
        then = node.blocks.get("then")
        if then is not None and then.nodes:
            self._frames.append(_Frame(then))
        return True

    def _repeat(self, node: Node) -> None:
        part, names = node.parts.get("each"), self._names(node)
        listed = self.evaluated(*part, node.path) if part is not None else None
        block = node.blocks.get("do")
        count = len(listed) if isinstance(listed, (list, dict)) else 0
        if not count or block is None or not block.nodes:
            return
        if count > MAX_NODES:
            raise BudgetSpent(f"a loop over {count:,} elements is too long; a run takes {MAX_NODES:,} commands at most")
        self.budget.made(count)
        left = [[key, value] for key, value in pairs(listed)]
        frame = _Frame(block, kind="repeat", memory={"names": names, "left": left[::-1]})
        self._next(frame)
        self._frames.append(frame)

    def _names(self, node: Node) -> list[str]:
        part = node.parts.get("as")
        found = printed(self.evaluated(*part, node.path)).strip() if part is not None else ""
        if not found:
            raise ScriptError(f"{node.path}: repeat needs `as:`, the name of each element (line {node.line})")
        names = [name.strip() for name in found.split(",")]
        return [f"{names[0]}__index", names[0]] if len(names) == 1 else names if len(names) == 2 else []

    def _next(self, frame: _Frame) -> bool:
        """Give the variables of a loop their next values; False, and they are gone, when there are none."""
        names, left = frame.memory["names"], frame.memory["left"]
        if not left:
            for name in names:
                self.values.pop(name, None)
            return False
        for name, value in zip(names, left.pop(), strict=False):
            self.values[name] = lazy(value, self.load)
        frame.place = 0
        return True

    def _while(self, node: Node) -> None:
        if "if" not in node.parts:
            raise ScriptError(f"{node.path}: while needs `if:` (line {node.line})")
        block = node.blocks.get("do")
        if block is not None and block.nodes:
            key, value = node.parts["if"]
            self._frames.append(_Frame(block, kind="while", memory=[key, value, node.path]))

    def _still(self, frame: _Frame) -> bool:
        """Whether a `while` goes on; asked before every command of its body."""
        if frame.place >= len(frame.block.nodes):
            frame.place = 0
        key, value, path = frame.memory
        return time.monotonic() <= self._ends_at and as_bool(self.evaluated(key, value, path))

    def _block_done(self, frame: _Frame) -> None:
        if frame.kind == "repeat" and self._next(frame):
            return
        self._frames.pop()

    def _return(self, node: Node) -> None:
        if node.annotations:
            found = self.evaluated("_@key", node.body, node.path)
            raise _Ended("return", found if isinstance(found, (dict, list)) else {})
        raise _Ended("return", self._listed(node))

    def _await(self, node: Node) -> None:
        raise _Ended("await", self._listed(node))

    def _listed(self, node: Node) -> dict[str, Any]:
        """The children of a command as a map; a plain text stands under the empty key."""
        if isinstance(node.body, str):
            return {"": self.evaluated("", node.body, node.path)}
        found = {}
        for key, value in node.body.items():
            entry = self._parameter(key, value, node.path)
            if entry is not None:
                found[entry[0]] = entry[1]
        return found

    def _error(self, node: Node) -> None:
        if isinstance(node.body, str):
            message = printed(self.evaluated("", node.body, node.path))
        else:
            message = printed(self._listed(node).get("_message"))
        raise ScriptError(message or "the automation ended with an error")

    def _log(self, node: Node) -> None:
        if isinstance(node.body, str):
            message = printed(self.evaluated("", node.body, node.path))
            if message not in ("", "0"):
                self.note(LEVELS[node.type], node.path, message)

    def _simulated(self, node: Node) -> None:
        """simulate.success and simulate.error: the answer of the command whose on_simulate this is."""
        while self._frames and self._frames[-1].kind != "simulate":
            self._frames.pop()
        frame = self._frames.pop() if self._frames else None
        above = self._frames[-1].block.nodes if self._frames else ()
        owner = next((each for each in above if frame is not None and each.path == frame.memory), None)
        if owner is None:
            raise ScriptError(f"{node.path}: {node.type} belongs in on_simulate (line {node.line})")
        output = self._output(owner, owner.body if isinstance(owner.body, dict) else {})
        if output:
            self.values[output] = self._listed(node)
        branch = "on_success" if node.type == "simulate.success" else "on_error"
        if branch in owner.blocks:
            self._frames.append(_Frame(owner.blocks[branch]))


_run_marker = object()
_CONTROL: dict[str, Callable[[Run, Node], Any]] = {
    "set": Run._set,
    "decision": Run._decision,
    "outcome": Run._outcome,
    "repeat": Run._repeat,
    "while": Run._while,
    "return": Run._return,
    "await": Run._await,
    "error": Run._error,
    "log": Run._log,
    "log.warn": Run._log,
    "log.error": Run._log,
    "log.alert": Run._log,
    "simulate.success": Run._simulated,
    "simulate.error": Run._simulated,
}


def _kept(frame: _Frame) -> list[Any]:
    """A frame as plain values."""
    return [frame.block.path, frame.place, frame.kind, plain(frame.memory)]


def _restored(program: Program, kept: Any) -> _Frame:
    """A frame of plain values. Raises ScriptError for what no run left behind."""
    match kept:
        case [str(path), int(place), str(kind), memory] if kind in _REMEMBERED and _REMEMBERED[kind](memory):
            block = program.blocks.get(path)
            if block is None or not 0 <= place <= len(block.nodes):
                raise ScriptError(f"the automation was changed while it waited; {path[:200]} is not as it was")
            return _Frame(block, place, kind, memory)
    raise ScriptError("the automation cannot go on: its `__state` is not what an await left behind")


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


# What the frames of each kind remember.
_REMEMBERED: dict[str, Callable[[Any], bool]] = {
    "plain": lambda memory: memory is None,
    "repeat": _is_loop,
    "while": _is_condition,
    "simulate": lambda memory: isinstance(memory, str),
}


def shown(values: dict[str, Any]) -> dict[str, Any]:
    """The dictionary of a run without what the engine keeps in it."""
    return {key: plain(value) for key, value in values.items() if not key.startswith("__")}


def run(
    automation: Automation,
    values: dict[str, Any],
    host: Host,
    *,
    traced: int = 0,
    state_at: int = 0,
    seconds: float | None = None,
    within: Callable[[Run], AbstractContextManager[None]] | None = None,
) -> Result:
    """Run an automation with a dictionary, to its end or to an await. Never raises for what a script does.

    state_at: the command whose dictionary is kept, from 1; it must be traced. seconds: that the run may take at most,
    besides the limit of its policy. within(run): what it runs inside of."""
    latest = None if seconds is None else time.monotonic() + seconds
    running = Run(automation, values, host, traced=traced, state_at=state_at, latest=latest)
    with within(running) if within is not None else nullcontext():
        found = running.result()
    for finish in running.at_end:
        try:
            finish(found.state not in ("error", "failure"))
        except HelpdeskError as error:
            running.note(3, "", error.message)
    return found
