"""Starts interactions, continues them with submitted values, and stores their state between two requests. They have
exactly the rights of the worker who started them, and only that worker sees them."""

import json
import secrets
from collections.abc import Mapping
from typing import Any

from server.automation import automation_service
from server.automation.commands.functions import automation_name
from server.automation.host import Script
from server.automation.interactions import interaction_form, interaction_offers
from server.automation.interactions.interaction_form import InteractionForm
from server.automation.interactions.interaction_offers import TRIGGER, WIDGET, InteractionOffer, InteractionPlace
from server.automation.run_dictionary import plain
from server.context import Context
from server.dataclass import dataclass
from server.errors import Conflict, HelpdeskError, Invalid, NotFound, ScriptError
from server.jobs.expiry import expire
from server.record_types.boards.board_columns import COLUMN
from server.store.tables import Column, Index, Table
from server.store.transaction import Transaction
from server.translation import N_, _

PLACES = {WIDGET: "widget_id", COLUMN: "column_id"}  # the columns of a run, by the type of its place
MAX_SECONDS = 30.0  # limit for a step, regardless of the policy: a worker waits
MAX_NESTED, MAX_STEPS = 8, 20  # interactions inside others; runs of automations in one request
MAX_STORED_CHARS = 4 * 1024 * 1024
RETENTION_SECONDS = 86_400  # counted from the last step
TOKEN_BYTES = 24
AWAITS, RUNNING, DONE, FAILED = "awaits", "running", "done", "failed"

INTERACTION_RUN = Table(
    "interaction_run",
    [
        Column("token", "TEXT"),
        Column("worker_id"),
        Column("widget_id"),
        Column("column_id"),
        Column("offer", "TEXT"),
        Column("label", "TEXT"),
        Column("state", "TEXT"),
        Column("step"),
        Column("stack", "TEXT", "[]"),
        Column("shown", "TEXT", "null"),
        Column("updated_at"),
    ],
    [Index(("token",), "the run of a page", unique=True), Index(("updated_at",), "those that nobody continued")],
)

forget_runs = expire(
    N_("interactions"),
    N_("Removes runs of interactions that nobody continued, and their results."),
    INTERACTION_RUN,
    "updated_at",
    RETENTION_SECONDS,
)
# The dictionaries of the automations that wait for each other, the first one at the beginning:
# {automation, values, output}.
Stack = list[dict[str, Any]]


@dataclass(frozen=True)
class InteractionRun:
    """A run as its page shows it. place, place_id: type and id of the record that offers it. state: AWAITS, RUNNING,
    DONE or FAILED. step: the number of steps so far. form: None unless the run awaits one. result: of a finished run.
    message: the error of a failed one."""

    token: str
    place: str
    place_id: int
    offer: str
    label: str
    state: str
    step: int
    form: InteractionForm | None = None
    result: Any = None
    message: str = ""


def offered(ctx: Context, place: InteractionPlace, name: str) -> InteractionOffer:
    """Returns an interaction of a place that the caller may start. Raises NotFound, Invalid for one that cannot be
    started, and the errors of offers()."""
    offer = next((each for each in interaction_offers.offers(ctx, place) if each.name == name), None)
    if offer is None:
        raise NotFound(_("'{name}' is not offered there any more.", name=name[:80]))
    if offer.automation is None:
        raise Invalid(offer.problem, field="automation")
    return offer


def start(ctx: Context, place: InteractionPlace, name: str) -> str:
    """Starts an interaction of a place; returns the token of its run. Raises the errors of offered()."""
    offer = offered(ctx, place, name)
    assert offer.automation is not None
    values = place.values(ctx) | {"inputs": dict(offer.inputs)}
    automation_service.log_run(ctx, offer.automation)
    token = secrets.token_urlsafe(TOKEN_BYTES)
    row = {
        "token": token,
        "worker_id": ctx.actor.worker_id,
        PLACES[place.uri]: place.id,
        "offer": offer.name,
        "label": offer.label,
        "state": RUNNING,
        "updated_at": ctx.now,
    }
    id = ctx.service.store.write(lambda tx: tx.insert(INTERACTION_RUN, row))
    _go_on(ctx, id, [{"automation": offer.automation.name, "values": values, "output": ""}])
    return token


def show(ctx: Context, token: str) -> InteractionRun:
    """Returns a run of the caller. Raises NotFound."""
    return ctx.service.store.read(lambda tx: _shown(_row(ctx, tx, token)))


def go_on(ctx: Context, token: str, step: int, texts: Mapping[str, list[str]], button: str) -> None:
    """Continues a run with a submitted form. step: the one that the form belongs to. texts, button: as for entered().

    Raises NotFound, Conflict for a form that was submitted already, and Invalid for its mistakes."""
    run = show(ctx, token)
    if run.form is None or run.step != step:
        raise Conflict(_("This form was submitted already. The page shows how it went on."))
    values = interaction_form.entered(ctx, run.form, texts, button)

    def claim(tx: Transaction) -> tuple[int, Stack]:
        row = _row(ctx, tx, token)
        if (row["state"], row["step"]) != (AWAITS, step):
            raise Conflict(_("This form was submitted already. The page shows how it went on."))
        tx.set(INTERACTION_RUN, row["id"], {"state": RUNNING, "updated_at": ctx.now})
        return row["id"], json.loads(row["stack"])

    id, stack = ctx.service.store.write(claim)
    stack[-1]["values"] |= values
    _go_on(ctx, id, stack)


def _go_on(ctx: Context, id: int, stack: Stack) -> None:
    """Runs what is on top of the stack, and stores what it awaits or returned."""
    try:
        state, shown = _run(ctx, stack)
        stored = json.dumps(stack if state == AWAITS else [])
        text = json.dumps(plain(shown))
        if len(stored) + len(text) > MAX_STORED_CHARS:
            raise ScriptError(_("the dictionary of the automation is too large to be stored"))
    except HelpdeskError as error:
        state, stored, text = FAILED, "[]", json.dumps(str(error.message))
    ctx.service.store.write(lambda tx: _store(tx, id, {"state": state, "stack": stored, "shown": text}, ctx.now))


def _store(tx: Transaction, id: int, values: dict[str, Any], now: int) -> None:
    row = tx.get(INTERACTION_RUN, id)
    if row is not None:  # else the run has expired
        step = row[INTERACTION_RUN.position["step"]] + 1
        tx.set(INTERACTION_RUN, id, values | {"step": step, "updated_at": now})


def _run(ctx: Context, stack: Stack) -> tuple[str, Any]:
    """Runs until a form is awaited or the first automation has returned; returns the state and the form or the result.
    Raises ScriptError if an automation fails."""
    for _number in range(MAX_STEPS):
        top = stack[-1]
        result = automation_service.perform(ctx, _startable(ctx, top["automation"]), top["values"], seconds=MAX_SECONDS)
        if result.state in ("error", "failure"):
            raise ScriptError(result.message)
        top["values"] = plain(result.values)
        awaited = result.returned if isinstance(result.returned, dict) else {}
        if result.state != "await":
            finished = stack.pop()
            if not stack:
                return DONE, result.returned
            if finished["output"]:
                stack[-1]["values"][finished["output"]] = plain(result.returned)
        elif "interaction" in awaited:
            stack.append(_inner(ctx, awaited["interaction"], top["values"]))
            if len(stack) > MAX_NESTED:
                raise ScriptError(_("more than {count} interactions wait for each other", count=MAX_NESTED))
        elif "form" in awaited:
            form = plain(awaited["form"])
            interaction_form.read_form(form)  # raises ScriptError for an invalid form
            return AWAITS, form
        else:
            kinds = ", ".join(map(str, awaited)) or "-"
            raise ScriptError(_("the automation awaits {kinds}; on a page it can await a form", kinds=kinds[:80]))
    raise ScriptError(_("the automation started others more than {count} times", count=MAX_STEPS))


def _startable(ctx: Context, name: str) -> Script:
    """Returns an automation by its name. Raises ScriptError for one that workers cannot start."""
    automation = ctx.service.store.read(lambda tx: automation_service.find(ctx, tx, name))
    if automation is None or automation.trigger != TRIGGER:
        raise ScriptError(_("'{name}' is not an automation that workers start", name=name))
    return automation


def _inner(ctx: Context, asked: object, values: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the interaction that another one awaits, with an empty result."""
    asked = asked if isinstance(asked, dict) else {}
    inputs = asked.get("inputs")
    own = {name: values[name] for name in ("caller_name", "caller_params", "worker__context", "worker_id")}
    return {
        "automation": automation_name(str(asked.get("uri") or "")),
        "values": own | {"inputs": plain(inputs) if isinstance(inputs, dict) else {}},
        "output": str(asked.get("output") or ""),
    }


def _row(ctx: Context, tx: Transaction, token: str) -> dict[str, Any]:
    """Returns the stored run of the caller. Raises NotFound, also for a run of another worker."""
    row = tx.first(INTERACTION_RUN, token=token)
    stored = dict(zip(INTERACTION_RUN.names, row, strict=True)) if row is not None else {}
    if not stored or stored["worker_id"] != ctx.actor.worker_id or not ctx.actor.worker_id:
        raise NotFound(_("This form was started by somebody else, or more than a day ago. Start it again."))
    return stored


def _shown(row: Mapping[str, Any]) -> InteractionRun:
    state, shown = str(row["state"]), json.loads(row["shown"])
    place = COLUMN if row["column_id"] else WIDGET
    return InteractionRun(
        row["token"],
        place,
        row[PLACES[place]],
        row["offer"],
        row["label"],
        state,
        row["step"],
        interaction_form.read_form(shown) if state == AWAITS else None,
        shown if state == DONE else None,
        str(shown) if state == FAILED else "",
    )
