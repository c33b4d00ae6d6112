"""Runs an automation command by command and handles its errors. flow.py decides which command is next."""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import field
from typing import Any

from server import clock, log, template, times
from server.automation import commands, flow, inputs, policy, run_log
from server.automation.command import COMMANDS, Command, CommandCall, CommandFailed, check_inputs
from server.automation.flow import MAX_NODES, Frame, RunEnded
from server.automation.host import Host, LogEntry, Script
from server.automation.program import CommandNode, Program, compiled
from server.automation.run_dictionary import Dictionary, require_bounded
from server.automation.trace import Trace, TraceStep, visible_values
from server.dataclass import dataclass
from server.errors import BudgetSpent, HelpdeskError, KataSyntax, PolicyDenied, ScriptError, TemplateFailed
from server.kata import Environment, Parameters, entry_at
from server.kata.annotations import parts_of
from server.kata.kata_parser import Tree, parts
from server.kata.kata_parser import plain as plain_key
from server.template import Budget, Surroundings
from server.template.values import printed, truthy

MAX_MEMORY = 256 * 1024 * 1024  # bytes that one run may create in total; stored values have limits of their own
LIMIT_REACHED = "the automation takes longer than its time limit"
ENDED = ("return", "await", "exit")  # the states of a run that did not fail
STOPPED = "the run was stopped by the worker who started it"
LOG = log.get("automation")
_KEY = ("key",)


@dataclass
class RunResult:
    """The result of a run. state: return, await, exit, error (time limit exceeded) or failure. message: the cause of an
    error or failure."""

    state: str
    returned: Any = None
    values: dict[str, Any] = field(default_factory=dict)
    log: list[LogEntry] = field(default_factory=list)
    message: str = ""
    trace: list[TraceStep] = field(default_factory=list)
    at_step: dict[str, Any] | None = None  # the dictionary after command number `state_at`, if it was reached
    failed_templates: frozenset[str] = frozenset()  # types of the commands with a failed template

    @property
    def variables(self) -> dict[str, Any]:
        """Returns the dictionary without the engine's own keys."""
        return visible_values(self.values)


class Run:
    """One run. values: the dictionary that commands change. at_end: callbacks of commands for the end of the run,
    called with True if it succeeded."""

    def __init__(
        self,
        automation: Script,
        values: dict[str, Any],
        host: Host,
        *,
        traced: int = 0,
        state_at: int = 0,
        calls: int = 0,
        latest: float | None = None,
    ) -> None:
        """Prepares a run. state_at: number of the command, from 1, after which the dictionary is recorded; 0 for none.
        calls: the enclosing runs. latest: when those must be over, on the monotonic clock."""
        self.automation = automation
        self.host = host
        self.calls = calls
        self.load = host.load
        self.values = Dictionary(values, host.load)
        self.simulates = truthy(values.get("__simulate"))
        self.log: list[LogEntry] = []
        self.at_end: list[Callable[[bool], None]] = []
        self.around = Surroundings(zone=host.zone, host=host.functions())
        self.budget = Budget()
        self.environment = Environment(self.values, self.render, self.read_date, charge=self._charge)
        self._program: Program | None = None
        self.frames: list[Frame] = []
        self._trace = Trace(traced, state_at) if traced else None
        self._nodes = 0
        self._latest = time.monotonic() + policy.MAX_SECONDS if latest is None else latest
        self.ends_at = 0.0
        self._node: CommandNode | None = None
        self._inner: Run | None = None  # the automation that is being called
        self._is_stopped = False
        self._failed_templates: set[str] = set()

    # -- the whole --------------------------------------------------------------------------------------------------

    def result(self) -> RunResult:
        """Runs to the end, or to an await."""
        try:
            program = self._program = compiled(self.automation.script, commands.load())
            self._policy = policy.read(self.automation.policy)
            self.ends_at = min(time.monotonic() + self._policy.seconds, self._latest)
            if self._is_stopped:  # before it began
                return self._over()
            self.budget = Budget(steps=MAX_NODES * 10, memory=MAX_MEMORY, ends_at=self.ends_at)
            if not self._resume(program):
                self._take_inputs(program)
                self.frames = [Frame(program.start)]
            return self._ended("exit", None) if self._go() else self._over()
        except RunEnded as ended:
            return self._ended(ended.state, ended.returned)
        except BudgetSpent as error:
            return self._over() if time.monotonic() > self.ends_at > 0 else self._failed(self._placed(error))
        except HelpdeskError as error:
            return self._failed(error.message)
        except RecursionError:
            return self._failed(self._placed(BudgetSpent("the values of the automation are nested too deeply")))
        except Exception:
            LOG.exception("automation.failed", name=self.automation.name, node=self._node and self._node.path)
            return self._failed(self._placed(ScriptError("a command failed unexpectedly; see the log")))

    def stop(self) -> None:
        """Ends the run after its current command. Called from another thread."""
        self._is_stopped = True
        self.ends_at = self._latest = time.monotonic()
        self.budget.end()
        if self._inner is not None:
            self._inner.stop()

    def _placed(self, error: ScriptError) -> str:
        """Prefixes the message of an error with the current command."""
        node = self._node
        return f"{node.path}: {error.message} (line {node.line})" if node is not None else error.message

    def _ended(self, state: str, returned: Any) -> RunResult:
        try:
            require_bounded([self.values, returned, *(frame.memory for frame in self.frames)])
        except BudgetSpent as error:
            return self._failed(self._placed(error))
        self.values["__exit"] = state
        if state in ("return", "await"):
            self.values["__return"] = returned
        if state == "await":
            self.values["__state"] = {"frames": [flow.dump_frame(frame) for frame in self.frames]}
        return self._result(state, returned=returned)

    def _left_behind(self) -> None:
        """Empties the dictionary of a failed run if it is too large to store."""
        try:
            require_bounded(self.values)
        except BudgetSpent:
            self.values.clear()

    def _over(self) -> RunResult:
        return self._failed(STOPPED) if self._is_stopped else self._timed_out()

    def _timed_out(self) -> RunResult:
        self._left_behind()
        self.values["__exit"], self.values["__error"] = "error", LIMIT_REACHED
        self.note(3, LIMIT_REACHED, LIMIT_REACHED)
        return self._result("error", LIMIT_REACHED)

    def _failed(self, message: str) -> RunResult:
        if not self.simulates:
            self.note(3, "", message)
        self._left_behind()
        return self._result("failure", message)

    def _result(self, state: str, message: str = "", returned: Any = None) -> RunResult:
        steps, at_step = (self._trace.steps, self._trace.at_step) if self._trace is not None else ([], None)
        failed = frozenset(self._failed_templates)
        return RunResult(state, returned, self.values, self.log, message, steps, at_step, failed)

    def _take_inputs(self, program: Program) -> None:
        values = self.values.get("inputs")
        if program.inputs or values:
            checked = inputs.check_inputs(program.inputs, values or {}, self, self._given(""))
            if checked or values is not None:
                self.values["inputs"] = checked

    def _resume(self, program: Program) -> bool:
        """Resumes a run at its await; returns whether there was one."""
        state = self.values.pop("__state", None)
        if not isinstance(state, dict):
            return False
        for key in ("__exit", "__return"):
            self.values.pop(key, None)
        frames = state.get("frames", [])
        for saved in frames if isinstance(frames, list) else [None]:
            self.frames.append(flow.load_frame(program, saved))
        return True

    def _go(self) -> bool:
        """Runs commands until none is left; returns False if the time limit is exceeded."""
        frames, now = self.frames, time.monotonic
        while frames:
            frame = frames[-1]
            if frame.kind == "while" and not flow.goes_on(self, frame):
                frames.pop()
                if now() > self.ends_at:
                    return False
                continue
            nodes, place = frame.block.nodes, frame.place
            if place >= len(nodes):
                flow.block_done(self, frame)
                continue
            node = nodes[place]
            frame.place = place + 1
            self._nodes += 1
            self._node = node
            if self._nodes > MAX_NODES:
                raise BudgetSpent(f"the automation takes more than {MAX_NODES:,} commands")
            if self._trace is None or self._trace.is_full:
                self._do(node)
            else:
                self._trace.begin(node.path, self.values)
                try:
                    self._do(node)
                finally:
                    self._trace.end(self.values)
            if now() > self.ends_at:
                return False
        return True

    # -- one command ------------------------------------------------------------------------------------------------

    def _do(self, node: CommandNode) -> None:
        if node.annotations and not (node.type == "return" and node.annotations == ("key",)):
            raise KataSyntax(
                f"{node.path}: '@{','.join(node.annotations)}' cannot be used on a command (line {node.line})",
                code="ANNOTATED",
                line=node.line,
            )
        control = flow.CONTROL.get(node.type)
        if control is not None:
            control(self, node)
        else:
            self._command(node, COMMANDS[node.type])

    def _command(self, node: CommandNode, command: Command) -> None:
        body = node.body if isinstance(node.body, dict) else {}
        if self.simulates and "on_simulate" in node.blocks:
            self.frames.append(Frame(node.blocks["on_simulate"], kind="simulate", memory=node.path))
            return
        output = ""
        try:
            output = self.output_of(node, body)
            result = self._called(node, command, body, output)
        except (RunEnded, BudgetSpent):
            raise
        except HelpdeskError as error:
            self._command_failed(node, output, error)
            return
        if output:
            self.values[output] = result
        if "on_success" in node.blocks:
            self.frames.append(Frame(node.blocks["on_success"]))

    def output_of(self, node: CommandNode, body: Tree) -> str:
        key = next((key for key in body if plain_key(key) == "output"), None)
        return printed(self.evaluated(key, body[key], node.path)) if key is not None else ""

    def _called(self, node: CommandNode, command: Command, body: Tree, output: str) -> Any:
        allowed = {"inputs", "output", "on_simulate", "on_success", "on_error", *command.own_keys}
        for key in body:
            if plain_key(key) not in allowed:
                raise CommandFailed(f"{node.path}: '{plain_key(key)[:80]}' does not belong in {command.name}")
        if not isinstance(node.body, dict):
            raise CommandFailed(f"{node.path}: {command.name} takes `inputs:` below it")
        if command.needs_output and not output:
            raise CommandFailed(f"{node.path}: {command.name} needs an `output:`")
        values: dict[str, Any] = {}
        for key, value in body.items():
            if plain_key(key) in command.own_keys:
                values[plain_key(key)] = self.evaluated(key, value, node.path)
            elif plain_key(key) == "inputs":
                entries = self.evaluated(key, value, node.path)
                values |= entries if isinstance(entries, dict) else {}
        self.budget.step(require_bounded(values))
        checked = check_inputs(command, values)
        if command.governed:
            self.ask_policy(node, command, checked, output)
        if self.host.reads_only and command.governed and not command.reads:
            raise CommandFailed(f"{command.name} is not run here: an automation of a widget only reads")
        if command.effects and self.host.dry:
            raise CommandFailed(f"{command.name} is not run in a simulation; write its result in on_simulate")
        return command.call(CommandCall(self, node, checked, frozenset(values), output))

    def ask_policy(self, node: CommandNode, command: Command, checked: dict[str, Any], output: str) -> None:
        """Checks that the policy allows a node to run a command with these inputs. Raises PolicyDenied."""
        variables: dict[str, Any] = {
            "node": {"id": node.path, "type": command.name},
            "inputs": checked,
            "output": output,
        }
        if command.policy_values is not None:
            variables |= command.policy_values(checked)
        rule = ""
        try:
            rule = self._policy.require(command.name, node.path, variables, self.budget, self.around)
        except PolicyDenied as error:
            rule = str(error.details.get("rule") or "")
            raise
        finally:
            if self._trace is not None:
                self._trace.rule(rule)

    def _command_failed(self, node: CommandNode, output: str, error: HelpdeskError) -> None:
        if self._trace is not None:
            self._trace.failed(error.message)
        if "on_error" not in node.blocks:
            raise ScriptError(error.message) from error
        if output:
            more = error.output if isinstance(error, CommandFailed) else {}
            self.values[output] = {**more, "error": error.message}
        self.frames.append(Frame(node.blocks["on_error"]))

    # -- what commands and their inputs need ------------------------------------------------------------------------

    def note(self, level: int, node: str, message: str, is_own: bool = True) -> None:
        """Adds an entry to the log. is_own: False for an entry of a called automation."""
        run_log.note(self.log, level, node, message, is_own=is_own)

    def read_date(self, text: str) -> int | None:
        """Parses a time in words, in the time zone of the run; returns Unix seconds."""
        try:
            return times.instant(text, clock.now(), times.zone(self.around.zone))
        except HelpdeskError:
            return None

    def render(self, text: str) -> str:
        """Renders a template with the dictionary. Raises TemplateFailed."""
        if "{" not in text:
            return text
        self.budget.step()
        return template.compile(text).render(self.values, self.budget, self.around)

    def evaluated(self, key: str, value: "str | Tree", path: str) -> Any:
        """Returns the value of one parameter; a map is evaluated entry by entry."""
        entry = self.parameter(key, value, path)
        return None if entry is None else entry[1]

    def called(self, automation: Script, values: dict[str, Any]) -> RunResult:
        """Runs another automation inside this run; its entries are added to this log."""
        values = values | ({"__simulate": True} if self.simulates else {})
        inner = self._inner = Run(automation, values, self.host, calls=self.calls + 1, latest=self._latest)
        if self._is_stopped:  # stop() ran before `_inner` was set
            inner.stop()
        result = inner.result()
        for entry in inner.log:
            self.note(entry.level, entry.node, entry.message, is_own=False)
        self.at_end += inner.at_end
        if result.failed_templates:
            self._failed_templates.add("function")
        return result

    def _given(self, path: str) -> Environment:
        """Returns the values for the templates below a path."""

        def log(here: str, error: TemplateFailed) -> None:
            self.template_failed(error, path, here, "")

        return Environment(self.values, self.render, self.read_date, log, self._charge)

    def template_failed(self, error: TemplateFailed, path: str, here: str, key: str) -> None:
        """Logs the error of a template. path: of its command. here: of the text, or of its parent, with `key`."""
        self._failed_templates.add(self._node.type if self._node is not None else "inputs")
        self.note(3, path, self._program.located(error, here, key) if self._program else error.message)

    def _charge(self, annotation: str, text: str) -> None:
        """Charges the budget before a text is expanded to many values. Raises BudgetSpent."""
        parts = parts_of(annotation, text)
        if annotation in ("csv", "list"):
            self.budget.elements(parts)
        else:
            self.budget.entries(parts)

    def plain_leaf(self, key: str, text: str) -> tuple[str, Any] | None:
        """Returns name and value of a literal text or a variable reference, the most frequent kinds of parameter; None
        for others."""
        if "{" in text:
            return None
        name, annotations = parts(key)
        if not annotations:
            return name, text
        if annotations != _KEY:
            return None
        self.budget.entries(1)
        return name, entry_at(self.values, text)

    def parameter(self, key: str, value: "str | Tree", path: str, *, is_below: bool = False) -> tuple[str, Any] | None:
        """Returns name and value of a parameter; None for an omitted one. path: of its command. is_below: errors name
        the key below the path."""
        plain = self.plain_leaf(key, value) if isinstance(value, str) else None
        if plain is not None:
            return plain
        name, annotations = parts(key)
        at = f"{path}:{name}" if is_below else path
        evaluator = _CommandParameters(self, at, name)
        if isinstance(value, str):
            return evaluator.leaf(key, value, at)
        return name, (value if "raw" in annotations else evaluator.map(value, at))


class _CommandParameters(Parameters):
    """The parameters of a command in a run. path: named in error messages."""

    __slots__ = ("key", "path", "run")

    def __init__(self, run: Run, path: str, key: str) -> None:
        super().__init__(run.environment)
        self.run = run
        self.path = path
        self.key = key

    def leaf(self, key: str, text: str, path: str) -> tuple[str, Any] | None:
        plain = self.run.plain_leaf(key, text)
        return super().leaf(key, text, path) if plain is None else plain

    def failed(self, error: TemplateFailed, path: str) -> Any:
        self.run.template_failed(error, self.path, path, self.key)
        return False


def run(
    automation: Script,
    values: dict[str, Any],
    host: Host,
    *,
    traced: int = 0,
    state_at: int = 0,
    seconds: float | None = None,
    within: Callable[[Run], AbstractContextManager[None]] | None = None,
) -> RunResult:
    """Runs an automation with a dictionary, to its end or to an await. Errors of the script do not raise.

    state_at: number of the command, from 1, after which the dictionary is recorded; it must be traced. seconds: limit
    for the run, in addition to that of its policy. within(run): the context manager around the run."""
    latest = None if seconds is None else time.monotonic() + seconds
    running = Run(automation, values, host, traced=traced, state_at=state_at, latest=latest)
    with within(running) if within is not None else nullcontext():
        result = running.result()
    for finish in running.at_end:
        try:
            finish(result.state not in ("error", "failure"))
        except HelpdeskError as error:
            running.note(3, "", error.message)
    return result
