"""Actions on the links of records. The action names are prescribed; their parameters are our own."""

from collections.abc import Mapping
from typing import Any

from server.automation.behaviors.action import ActionCall, action
from server.automation.run_dictionary import plain
from server.contexts import WORKER
from server.errors import Invalid
from server.records import records, references, relations
from server.template.values import items, printed


@action(
    "_get_links",
    "Get the ids of the records that a record is linked with.",
    placeholder="var",
    default="_links",
    otherwise=dict,
)
def get_links(call: ActionCall) -> Any:
    """Returns {record type: [id]}. `on`: as for set_links; only the first record counts."""
    target = references.read(call.run.ctx.service.registry, _targets(call)[0], "on")
    return plain(records.retrieve(call.run.ctx, target.type.uri, target.id, "links")["links"])


@action("set_links", "Add or remove links between records.", effects=True)
def set_links(call: ActionCall) -> None:
    """on: `<type>:<id>`, or the dictionary key of a record, its id or a list. links: `<type>:<id>`, one or a list.
    is_remove: 1 removes them. Raises Invalid."""
    value = call.params.get("links")
    links = [call.run.render(printed(each)) for each in (value if isinstance(value, list) else [value])]
    _change(call, links, adds=not call.flag("is_remove"))


@action("add_watchers", "Add or remove watchers of records.", effects=True)
def add_watchers(call: ActionCall) -> None:
    """on: as for set_links. worker_id: the workers. Raises Invalid."""
    _change(call, [f"{WORKER}:{id}" for id in call.ids("worker_id")], adds=True)


def _change(call: ActionCall, others: list[str], *, adds: bool) -> None:
    for each in _targets(call):
        call.run.step()
        relations.change(call.run.ctx, each, others, adds=adds)


def _targets(call: ActionCall) -> list[str]:
    """Returns the records that `on` refers to, at least one, as `<type>:<id>`. Raises Invalid."""
    on, values = call.text("on"), call.run.values
    if ":" in on:
        return [on]
    target = values.get(on)
    if on.endswith("_id") and not isinstance(target, (list, dict)):
        target = {"_context": values.get(f"{on.removesuffix('id')}_context"), "id": target}
    several = [target] if isinstance(target, Mapping) and "_context" in target else items(target)
    if not several or not all(isinstance(each, Mapping) and each.get("_context") for each in several):
        raise Invalid(
            f"on: '{on[:80]}' is neither <type>:<id> nor the key of a record or of a list of records", field="on"
        )
    return [f"{each['_context']}:{printed(each.get('id'))}" for each in several]
