"""Trials of automations: the script and the values that people typed, saved or not, and the run with them.

The values are texts: a JSON map under `values`, and a text under `input:NAME` for each input of the script."""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from server.automation import automation_service, examples, inputs
from server.automation.engine import RunResult
from server.automation.examples import Example
from server.automation.host import FUNCTION, Script
from server.automation.inputs import InputDeclaration
from server.automation.run_dictionary import plain
from server.context import Context
from server.dataclass import dataclass
from server.errors import Invalid
from server.translation import _
from server.web.json_text import as_json, loads

INPUT = "input:"
VALUES = "values"
MAX_STEPS = 200  # commands of a trace
MAX_CONTINUATION_CHARS = 200_000


@dataclass
class Trial:
    """A run. given: the dictionary that it began with. example: the example that was run, if it was one. at: the step
    after which its state is shown, 0 for none."""

    result: RunResult
    given: dict[str, Any]
    is_dry: bool = True
    example: Example | None = None
    at: int = 0

    @property
    def outcome(self) -> str:
        return examples.outcome(self.result)

    @property
    def waits(self) -> bool:
        """Whether it can go on later."""
        return self.result.state == "await" and self.result.values.get("__state") is not None

    @property
    def continuation(self) -> str:
        """The state with which a waiting run goes on, as JSON; "" for none, or if it is too long."""
        text = as_json(plain(self.result.values)) if self.waits else ""
        return text if len(text) <= MAX_CONTINUATION_CHARS else ""

    def input_mistakes(self, declarations: Iterable[InputDeclaration]) -> dict[str, str]:
        """{name of the input: message} of the input that the run refused."""
        beginnings = {each.name: f"inputs: '{each.name}' " for each in declarations}
        message = self.result.message if self.result.state == "failure" else ""
        return {name: message.removeprefix(start) for name, start in beginnings.items() if message.startswith(start)}


def run(ctx: Context, script: Script, given: dict[str, Any], *, is_dry: bool, at: int = 0, stop_code: str) -> Trial:
    """Runs an automation for real, or simulates it. at: the step whose state is recorded. Raises AdminOnly."""
    ctx.require_admin("run automations")
    if is_dry:
        result = examples.simulate(ctx, script, given, traced=MAX_STEPS, state_at=at, stop_code=stop_code)
    else:
        automation_service.log_run(ctx, script)
        result = automation_service.perform(ctx, script, given, traced=MAX_STEPS, stop_code=stop_code)
    return Trial(result, given, is_dry, at=at)


def script_of(texts: Mapping[str, str], saved: Mapping[str, Any] | None) -> Script:
    """Returns the automation of typed texts; the saved one if nothing has changed, so that the log can name its
    version."""
    name, trigger = texts.get("name", "").strip(), texts.get("extension_id") or FUNCTION
    typed = Script(texts.get("script", ""), texts.get("policy_kata", ""), name, trigger)
    if saved is None:
        return typed
    stored = automation_service.of_record(saved)
    is_same = all(getattr(typed, each) == getattr(stored, each) for each in ("script", "policy", "name", "trigger"))
    return stored if is_same else typed


# -- values ------------------------------------------------------------------------------------------------------------


def typed_inputs(script: str) -> list[InputDeclaration]:
    """Returns the inputs of a script that accept a text."""
    return [each for each in inputs.of_script(script) if "[" not in each.name and "]" not in each.name]


def texts_of(values: Mapping[str, Any], declarations: Iterable[InputDeclaration]) -> dict[str, str]:
    """Returns the dictionary of a run as texts: inputs under their names, all else under `values`."""
    given = dict(values["inputs"]) if isinstance(values.get("inputs"), dict) else {}
    texts = {INPUT + each.name: as_text(given.pop(each.name)) for each in declarations if each.name in given}
    return texts | {VALUES: as_json({**values, "inputs": given})}


def values_of(
    texts: Mapping[str, str],
    declarations: Iterable[InputDeclaration],
    read_record: Callable[[InputDeclaration, str], str],
) -> dict[str, Any]:
    """Returns the dictionary that a run begins with. read_record: returns the id of a record from its text. Raises
    Invalid, Malformed with the name of the text."""
    values = loads(texts.get(VALUES) or "{}", "'values'", field=VALUES)
    if not isinstance(values, dict) or not isinstance(values.get("inputs") or {}, dict):
        raise Invalid(_('Enter the values as a map, such as {"inputs": {}}.'), field=VALUES)
    given = dict(values.get("inputs") or {})
    for each in declarations:
        text = texts.get(INPUT + each.name, "")
        if text.strip():
            given[each.name] = text.split("\n") if each.kind == "array" else read_record(each, text)
        elif each.is_required and not given.get(each.name) and "default" not in each.options:
            raise Invalid(_("The script requires this input."), field=INPUT + each.name)
    return values | {"inputs": given}


def continued(text: str) -> dict[str, Any]:
    """Returns the dictionary with which a waiting run goes on, from its `continuation`. Raises Malformed, Invalid."""
    values = loads(text, "'continuation'", field=VALUES)
    if not isinstance(values, dict):
        raise Invalid(_("Enter the values to continue with as a map."), field=VALUES)
    return values


def as_text(value: Any) -> str:
    """Returns the text of an input's value: a list has one item per line."""
    if isinstance(value, list):
        return "\n".join(map(as_text, value))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
