"""Actions that control what runs next: exit, subroutine, another behavior."""

from typing import Any

from server.automation.behaviors import delayed_runs, loading, variables
from server.automation.behaviors.action import ActionCall, action
from server.automation.behaviors.behavior_run import Exit
from server.automation.behaviors.behavior_service import go
from server.automation.behaviors.loading import BehaviorProgram
from server.automation.run_dictionary import plain
from server.errors import Invalid
from server.template.values import printed

RESULTS = "_behavior"  # default key for the dictionary of the other behavior


@action("_exit", "End the behavior at once.")
def exit_(call: ActionCall) -> None:
    """The mode `suspend`, which would allow a conversation to resume, also ends the behavior."""
    raise Exit


@action("_run_subroutine", "Run a subroutine of this behavior; the rest of this node is skipped.")
def run_subroutine(call: ActionCall) -> None:
    call.run.subroutine(call.text("subroutine"))


@action("_run_behavior", "Run another behavior of the same bot.", placeholder="var", default=RESULTS, effects=True)
def run_behavior(call: ActionCall) -> Any:
    """Returns the final dictionary of the other behavior. Its records are limited to those that the first caller may
    read, however they are passed on. Raises Invalid, also if that behavior is already running."""
    run, behavior = call.run, _other(call)
    if behavior.id in run.spent.running:
        raise Invalid(f"behavior_id: '{behavior.name}' is already running")
    values = variables.of_values(run.spent.caller, behavior, _values(call))
    return plain(go(behavior, values, run.host, run.spent, simulates=run.simulates))


@action("_schedule_behavior", "Schedule another behavior of the same bot.", effects=True)
def schedule_behavior(call: ActionCall) -> None:
    """Raises Invalid for a date that cannot be parsed, and for too many scheduled runs."""
    run, behavior = call.run, _other(call)
    values = _values(call)
    variables.of_values(run.ctx, behavior, values)
    delayed_runs.add(run.ctx, behavior.id, call.text("run_date"), values)


@action("_unschedule_behavior", "Cancel the scheduled runs of a behavior.", effects=True)
def unschedule_behavior(call: ActionCall) -> None:
    delayed_runs.remove(call.run.ctx, _other(call).id)


def _other(call: ActionCall) -> BehaviorProgram:
    """Returns the behavior that `behavior_id` names by id, uri or template. Raises Invalid if it is missing or private
    to others."""
    run, name = call.run, call.text("behavior_id")
    behavior = run.ctx.service.store.read(lambda tx: loading.find(run.ctx, tx, name))
    if behavior is None or behavior.bot_id != run.behavior.bot_id:
        raise Invalid(f"behavior_id: this bot has no behavior '{name[:80]}'", field="behavior_id")
    if behavior.is_disabled:
        raise Invalid(f"behavior_id: the behavior '{behavior.name}' is disabled", field="behavior_id")
    return behavior


def _values(call: ActionCall) -> dict[str, Any]:
    """Returns the variables among the parameters, with their templates rendered."""
    return {key: _rendered(call, value) for key, value in call.params.items() if key.startswith("var_")}


def _rendered(call: ActionCall, value: Any) -> Any:
    if isinstance(value, list):
        return [call.run.render(printed(each)) for each in value]
    text = call.run.render(printed(value))
    return call.run.decoded(text) if text.lstrip().startswith("[") else text
