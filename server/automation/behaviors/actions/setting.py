"""Actions that set values of the dictionary: placeholders, variables, and the text of the response."""

import random
from typing import Any

from server.automation.behaviors import variables
from server.automation.behaviors.action import MAX_KEY_CHARS, ActionCall, action
from server.automation.behaviors.tree import LIST_PREFIX, Variable
from server.automation.behaviors.variables import MAX_RECORDS
from server.errors import Invalid, TemplateFailed
from server.records import records
from server.template.values import printed, whole

RESPONSE = "_response"
MODES, LIMITS = ("replace", "add", "subtract"), ("", "first", "last", "random")


@action("_set_custom_var", "Set a placeholder: the text of a template, or the value of its JSON.")
def set_placeholder(call: ActionCall) -> None:
    """A template that is empty or 0 is ignored; one that renders to nothing is stored; an invalid one gives false."""
    run, name, source = call.run, call.raw("var")[:MAX_KEY_CHARS], call.raw("value")
    if not name or source in ("", "0") or (call.flag("is_simulator_only") and not run.simulates):
        return
    try:
        text = run.render(source)
    except TemplateFailed:
        run.values[name] = False
        raise
    run.values[name] = run.decoded(text) if call.raw("format") == "json" else text


@action("add_api_response", "Add a line to the response text.")
def add_response(call: ActionCall) -> None:
    values = call.run.values
    text = f"{printed(values.get(RESPONSE))}{call.text('value')}\n"
    call.run.spent.budget.text(len(text))
    values[RESPONSE] = text


def set_variable(call: ActionCall, variable: Variable) -> None:
    """Sets the variable that the action is named after, by its type. Raises Invalid, TemplateFailed."""
    run = call.run
    if variable.type.startswith(LIST_PREFIX):
        run.values[variable.key] = _list(call, variable)
    elif variable.type == "W":
        run.values[variable.key] = _worker(call, variable)
    else:
        for key, value in variables.read(run.ctx, variable, _value(call)).items():
            run.values[key] = value


def _value(call: ActionCall) -> Any:
    param = call.params.get("values", call.params.get("value"))
    if isinstance(param, list):
        return [call.run.render(printed(each)) for each in param]
    return call.text("value")


def _worker(call: ActionCall, variable: Variable) -> int:
    """Returns the first worker that exists; a random one in the mode `random`."""
    name = "worker_id" if "worker_id" in call.params else "value"
    worker_ids = list(variables.loaded(call.run.ctx, call.run.ctx.service.registry.type("worker"), call.ids(name)))
    if not worker_ids:
        raise Invalid(f"{variable.key}: none of these workers exists", field=variable.key)
    return int(random.choice(worker_ids) if call.raw("mode") == "random" else worker_ids[0])


def _list(call: ActionCall, variable: Variable) -> dict[str, Any]:
    """Replaces, extends or reduces a list by the results of a search, then cuts it to the limit."""
    run, mode, limit = call.run, call.raw("mode") or "replace", call.raw("limit")
    if mode not in MODES or limit not in LIMITS:
        raise Invalid(f"{variable.key}: there are the modes {', '.join(MODES)} and the limits first, last, random")
    request = records.SearchRequest(call.text("quick_search"), limit=MAX_RECORDS)
    rows = records.search(run.ctx, variables.list_type(run.ctx, variable).uri, request)["results"]
    results = {str(each["id"]): each for each in rows}
    present = run.values.get(variable.key)
    before = dict(present) if isinstance(present, dict) else {}
    if mode == "subtract":
        results = {id: each for id, each in before.items() if id not in results}
    elif mode == "add":
        results = before | results
    return _limited(results, limit, max(whole(call.raw("limit_count")), 0))


def _limited(records: dict[str, Any], limit: str, count: int) -> dict[str, Any]:
    ids = list(records)
    if not limit or count >= len(ids):
        return records
    if limit == "random":
        chosen = set(random.sample(ids, count))
    else:
        chosen = set(ids[:count] if limit == "first" else ids[len(ids) - count :])
    return {id: each for id, each in records.items() if id in chosen}
