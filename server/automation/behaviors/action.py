"""Declares the actions of behaviors. Each action is declared in a file of actions/."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from server.dataclass import dataclass
from server.digits import is_whole
from server.errors import BudgetSpent, Invalid, TimedOut, Unavailable
from server.template.values import printed

if TYPE_CHECKING:
    from server.automation.behaviors.behavior_run import BehaviorRun

MAX_KEY_CHARS = 255  # characters of the name of a placeholder
OFF = ("", "0", "False", "false", "no")
RISING = (BudgetSpent, TimedOut, Unavailable)  # limits and unavailable services end the run, not only the action


@dataclass(frozen=True)
class ActionCall:
    """A call of an action: the run, and its parameters as stored."""

    run: "BehaviorRun"
    params: dict[str, Any]

    def text(self, name: str, default: str = "") -> str:
        """Renders a parameter as a template. Raises TemplateFailed."""
        value = self.params.get(name)
        return default if value is None else self.run.render(printed(value))

    def raw(self, name: str) -> str:
        """Returns a parameter as stored."""
        return printed(self.params.get(name))

    def flag(self, name: str) -> bool:
        """Returns a parameter as a boolean."""
        return printed(self.params.get(name)) not in OFF

    def id(self, name: str) -> int:
        """Returns a rendered parameter as the id of a record. Raises Invalid."""
        text = self.text(name).strip()
        if not is_whole(text):
            raise Invalid(f"{name}: '{text[:50]}' is not an id", field=name)
        return int(text)

    def ids(self, name: str) -> list[int]:
        """Returns the ids in a list of templates, or in one comma-separated text. Raises Invalid."""
        value = self.params.get(name)
        templates = value if isinstance(value, list) else [value] if value is not None else []
        texts = [
            text.strip() for each in templates for text in self.run.render(printed(each)).split(",") if text.strip()
        ]
        if not all(is_whole(text) for text in texts):
            raise Invalid(f"{name}: must be record ids", field=name)
        return [int(text) for text in texts]

    def map(self, name: str) -> dict[str, Any]:
        """Returns a rendered parameter as a JSON object. Raises Invalid."""
        decoded = self.run.decoded(self.text(name))
        if decoded == [] or not isinstance(decoded, dict):
            raise Invalid(f"{name}: must be a JSON object that is not empty", field=name)
        return decoded


@dataclass(frozen=True)
class Action:
    """An action. placeholder: the parameter that names the key of the result, with `default` if it is blank; "" for an
    action without a result. otherwise: creates the result of a failed action. effects: whether it reaches beyond the
    run, so that a simulated run executes it only with `run_in_simulator`."""

    name: str
    call: Callable[[ActionCall], Any]
    note: str
    placeholder: str = ""
    default: str = ""
    otherwise: Callable[[], Any] = lambda: None
    effects: bool = False

    def place(self, call: ActionCall) -> str:
        """Returns the dictionary key of the result, "" for none."""
        return (call.raw(self.placeholder) or self.default)[:MAX_KEY_CHARS] if self.placeholder else ""


ACTIONS: dict[str, Action] = {}
OBJECT = "object_placeholder"


def action(
    name: str,
    note: str,
    *,
    placeholder: str = "",
    default: str = "",
    otherwise: Callable[[], Any] = lambda: None,
    effects: bool = False,
) -> Callable[[Callable[[ActionCall], Any]], Callable[[ActionCall], Any]]:
    """Registers the decorated function as an action; its return value is the result."""

    def declare(call: Callable[[ActionCall], Any]) -> Callable[[ActionCall], Any]:
        ACTIONS[name] = Action(name, call, note, placeholder, default, otherwise, effects)
        return call

    return declare
