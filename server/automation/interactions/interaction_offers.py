"""Reads what a widget or a column of a board offers: `interaction/<name>:` with `label`, `uri`, `inputs`, `tooltip`
and `hidden`, and `menu/<name>:` with `items`."""

import time
from collections.abc import Iterator, Mapping
from typing import Any

from server import template
from server.automation import policy
from server.automation.automation_service import ServiceHost
from server.automation.commands.functions import automation_name
from server.automation.host import Script
from server.automation.run_dictionary import Dictionary
from server.context import Context
from server.contexts import PROJECT_BOARD, PROJECT_BOARD_COLUMN, WORKER, WORKSPACE_WIDGET
from server.dataclass import dataclass
from server.errors import HelpdeskError
from server.kata import Environment, Generic, parse
from server.kata.annotations import as_bool
from server.record_types.boards.board_columns import COLUMN
from server.record_types.shared.triggers import PREFIX
from server.records import records
from server.records.event_publishing import record_values
from server.template import Budget, Surroundings
from server.translation import Words, _

TRIGGER = PREFIX + "interaction.worker"
WIDGET = "workspace_widget"
KATA = "interactions_kata"  # the parameter of the widget
COLUMN_KATA = "toolbar_kata"  # the field of the column
MAX_OFFERS = 50
MAX_LABEL_CHARS = 80
TEMPLATE_STEPS, TEMPLATE_SECONDS = 20_000, 0.5  # for all settings of a widget
BOARD_STEPS, BOARD_SECONDS = 100_000, 1.0  # for the buttons of all columns of a board


@dataclass(frozen=True)
class InteractionPlace:
    """A widget or a column of a board that offers interactions. uri, id: of its record. text: the interactions, in
    KATA. caller_name, caller_params, records: what an automation learns about the place."""

    uri: str
    id: int
    text: str
    caller_name: str
    caller_params: Mapping[str, Any]
    records: Mapping[str, Any]

    def values(self, ctx: Context) -> dict[str, Any]:
        """Returns the initial dictionary of an interaction, without its inputs."""
        caller = {"caller_name": self.caller_name, "caller_params": dict(self.caller_params)}
        return {**caller, **record_values("worker", WORKER, ctx.actor.worker_id), **self.records}


def widget_place(widget: Mapping[str, Any]) -> InteractionPlace:
    """Returns the place of a widget, with `id` and `params`."""
    params, id = widget.get("params"), widget["id"]
    text = params.get(KATA) if isinstance(params, dict) else ""
    own = record_values("widget", WORKSPACE_WIDGET, id)
    return InteractionPlace(
        WIDGET, id, text if isinstance(text, str) else "", "workspace.widget", {"widget_id": id}, own
    )


def column_place(column: Mapping[str, Any]) -> InteractionPlace:
    """Returns the place of a column of a board."""
    id, board_id = column["id"], column["board_id"]
    own = {
        **record_values("board", PROJECT_BOARD, board_id),
        **record_values("column", PROJECT_BOARD_COLUMN, id),
    }
    params = {"board_id": board_id, "column_id": id}
    return InteractionPlace(COLUMN, id, str(column[COLUMN_KATA]), "project_board.column", params, own)


def place_of(ctx: Context, uri: str, id: int) -> InteractionPlace:
    """Returns a place by its record. Raises NotFound, Forbidden."""
    record = records.retrieve(ctx, uri, id)
    return column_place(record) if uri == COLUMN else widget_place(record)


@dataclass(frozen=True)
class InteractionOffer:
    """An interaction that a place offers. name: with those of its menus, such as `orders.return`. automation: None if
    it cannot be started; problem: why."""

    name: str
    label: str
    tooltip: str
    uri: str
    inputs: Mapping[str, Any]
    automation: Script | None
    problem: Words = ""


def offers(ctx: Context, place: InteractionPlace, budget: Budget | None = None) -> list[InteractionOffer]:
    """Returns the interactions of a place that are not hidden, for the caller. budget: None for that of a widget.

    Raises KataSyntax, TemplateFailed, BudgetSpent."""
    if not place.text.strip():
        return []
    host = ServiceHost(ctx, dry=True, is_caller=True)
    values = Dictionary(place.values(ctx), host.load)
    budget = budget or Budget(TEMPLATE_STEPS, ends_at=time.monotonic() + TEMPLATE_SECONDS)
    # Whoever wrote the page may not call functions with the rights of its reader; an administrator wrote the policy.
    plain, around = Surroundings(zone=host.zone), Surroundings(zone=host.zone, host=host.functions())

    def render(source: str) -> str:
        return template.compile(source).render(values, budget, plain) if "{" in source else source

    tree = Generic(Environment(values=values, render=render)).value(parse(place.text).tree)
    listed = []
    for name, settings in _entries(tree):
        uri = automation_name(str(settings.get("uri") or ""))
        automation = host.automation(uri) if uri else None
        problem = _problem(automation, values, budget, around)
        inputs = settings.get("inputs")
        label = str(settings.get("label") or name or uri)[:MAX_LABEL_CHARS]
        more = (str(settings.get("tooltip") or ""), uri, inputs if isinstance(inputs, dict) else {})
        listed.append(InteractionOffer(name, label, *more, None if problem else automation, problem))
        if len(listed) == MAX_OFFERS:
            break
    return listed


def about(ctx: Context, automation: Script) -> str:
    """Returns the description of an automation, for workers who may start it."""
    automations = ctx.service.registry.type("automation")
    row = ctx.service.store.read(lambda tx: tx.get(automations.table, automation.id))
    return str(automations.record(row)["description"]) if row is not None else ""


def _entries(tree: object, menu: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yields the names and settings of the interactions of a toolbar and its menus, except hidden ones."""
    for key, settings in tree.items() if isinstance(tree, dict) else ():
        kind, _slash, name = str(key).partition("/")
        if not isinstance(settings, dict) or as_bool(settings.get("hidden", False)):
            continue
        if kind == "menu":
            yield from _entries(settings.get("items"), f"{menu}{name}.")
        elif kind == "interaction":
            yield f"{menu}{name}", settings


def _problem(automation: Script | None, values: Dictionary, budget: Budget, around: Surroundings) -> Words:
    """Returns why an automation cannot be started, "" if it can."""
    if automation is None:
        return _("The automation does not exist.")
    if automation.trigger != TRIGGER:
        return _("The automation is not one that workers start: its trigger is {trigger}.", trigger=automation.trigger)
    try:
        is_allowed = policy.read(automation.policy).lets(TRIGGER, values, budget, around)
    except HelpdeskError:
        is_allowed = False
    return "" if is_allowed else _("The policy of the automation does not allow you to start it.")
