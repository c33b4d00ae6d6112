"""Declares commands: their inputs, and the function that runs them. Each command is declared in a file of commands/."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

from server.automation import input_values
from server.dataclass import dataclass
from server.errors import Invalid, Required, ScriptError, nearest

if TYPE_CHECKING:
    from server.automation.engine import Run
    from server.automation.program import CommandNode

Kind = Literal["text", "number", "flag", "list", "map", "text or map", "text or list", "id", "any"]
MAX_TEXT = 255  # characters of a text without a limit of its own


@dataclass(frozen=True)
class Input:
    """An input of a command. kind: its type of value. max: characters of a text. default: of an optional input."""

    name: str
    kind: Kind
    note: str
    required: bool = False
    max: int = MAX_TEXT
    default: Any = None


@dataclass
class CommandCall:
    """A call of a command: the run, its node and its checked inputs. given: the names of the inputs in the script.
    output: the key for its result, "" for none."""

    run: "Run"
    node: "CommandNode"
    inputs: dict[str, Any]
    given: frozenset[str]
    output: str = ""


class CommandFailed(ScriptError):
    """A command failed. `output`: further values that are stored next to `error` under its output key."""

    def __init__(self, message: str, output: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.output = output or {}


@dataclass(frozen=True)
class Command:
    """A command. governed: whether the policy must allow it. needs_output: whether `output` is required. effects:
    whether it reaches beyond the program's own data, so that a simulated run must not execute it. reads: whether it
    changes nothing, so that a run that only reads may execute it."""

    name: str
    call: Callable[[CommandCall], Any]
    inputs: tuple[Input, ...]
    note: str
    governed: bool = True
    needs_output: bool = False
    effects: bool = False
    reads: bool = False
    own_keys: tuple[str, ...] = ()  # keys outside `inputs` that are inputs too, such as the uri of a function
    policy_values: Callable[[dict[str, Any]], dict[str, Any]] | None = None  # adds values for policies to the inputs


COMMANDS: dict[str, Command] = {}


def command(
    name: str,
    note: str,
    *inputs: Input,
    governed: bool = True,
    needs_output: bool = False,
    effects: bool = False,
    reads: bool = False,
    own_keys: tuple[str, ...] = (),
    policy_values: Callable[[dict[str, Any]], dict[str, Any]] | None = None,
) -> Callable[[Callable[[CommandCall], Any]], Callable[[CommandCall], Any]]:
    """Registers the decorated function as a command."""

    def declare(call: Callable[[CommandCall], Any]) -> Callable[[CommandCall], Any]:
        COMMANDS[name] = Command(
            name,
            call,
            inputs,
            note,
            governed=governed,
            needs_output=needs_output,
            effects=effects,
            reads=reads,
            own_keys=own_keys,
            policy_values=policy_values,
        )
        return call

    return declare


def check_inputs(declared: Command, values: dict[str, Any]) -> dict[str, Any]:
    """Validates and converts the inputs of a command. Raises Invalid, Required."""
    inputs = {each.name: each for each in declared.inputs}
    for name in values:
        if name not in inputs:
            raise Invalid(f"{declared.name} has no input '{name[:80]}'{nearest(name, inputs)}", field=name)
    checked = {}
    for name, each in inputs.items():
        value = values.get(name)
        if value is None or (value == "" and each.kind != "any" and "text" not in each.kind):
            if each.required and name not in values:
                raise Required(f"{declared.name} needs the input '{name}'", field=name)
            if each.required and each.kind != "any":
                raise Required(f"{declared.name}: the input '{name}' must not be empty", field=name)
            checked[name] = each.default if name not in values or each.kind != "any" else value
        else:
            checked[name] = input_values.read(declared.name, each, value)
    return checked
