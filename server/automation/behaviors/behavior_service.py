"""Runs behaviors inside the service: permissions, the rights of the bot, results and metrics."""

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from server.access.actor import Actor
from server.access.rules import BOT, Rules
from server.automation.automation_service import ServiceHost
from server.automation.behaviors import loading, variables
from server.automation.behaviors.behavior_run import BehaviorBudget, BehaviorRun, fresh
from server.automation.behaviors.loading import BehaviorOwner, BehaviorProgram
from server.automation.behaviors.variables import RequestParameters
from server.automation.run_dictionary import Dictionary, plain
from server.context import Context, Service
from server.errors import Forbidden, HelpdeskError, NotFound, Rejected, Unavailable
from server.record_types.shared.behavior_events import API_REQUEST, event_name
from server.records import metrics, records
from server.records.dictionary import paths
from server.records.metrics.builtin import BEHAVIOR_DURATION, BEHAVIOR_INVOCATIONS
from server.store.store_local import StoreLocal
from server.store.transaction import Transaction

META = ("_loaded", "_labels", "_types")  # suffixes of keys that are returned only on request
RETRY_SECONDS = 1


def run_request(
    ctx: Context, name: str, sent: RequestParameters, expand: str = "", *, shows_meta: bool = False
) -> dict[str, Any]:
    """Runs a behavior for a worker; returns the whole dictionary at the end, with the keys of `expand` loaded.

    name: an id or a uri. sent: its public variables. Raises NotFound, Rejected for one that is disabled or handles
    another event, Forbidden for a bot that the caller may not read, Required and Invalid for variables, BudgetSpent,
    Unavailable if too many are running."""
    behavior, bot = enabled(ctx, name)
    variable_values = variables.of_request(ctx, behavior, sent)
    with _turn(ctx.service):
        values = perform(ctx, behavior, bot, variable_values)
    return _answer(ctx, values, expand, shows_meta)


@contextmanager
def _turn(service: Service) -> Iterator[None]:
    """Limits concurrent runs: behaviors may wait for other programs, so they get at most half of the request
    threads."""
    turns = turns_of(service)
    if not turns.acquire(blocking=False):
        raise Unavailable("too many behaviors are running; try again", retry_after=RETRY_SECONDS)
    try:
        yield
    finally:
        turns.release()


TURNS: StoreLocal[threading.BoundedSemaphore] = StoreLocal()


def turns_of(service: Service) -> threading.BoundedSemaphore:
    """Returns the semaphore for requests that run behaviors."""
    most = max(service.settings.worker_threads // 2, 1)
    return TURNS.made(service.store, lambda: threading.BoundedSemaphore(most))


def enabled(ctx: Context, name: str, events: tuple[str, ...] = (API_REQUEST,)) -> tuple[BehaviorProgram, BehaviorOwner]:
    """Returns the behavior of an id or uri that the caller may run now for one of these events, and its bot. Raises the
    same as run_request()."""
    return ctx.service.store.read(lambda tx: _checked(ctx, tx, name, events))


def _checked(
    ctx: Context, tx: Transaction, name: str, events: tuple[str, ...]
) -> tuple[BehaviorProgram, BehaviorOwner]:
    behavior = loading.find(ctx, tx, name)
    if behavior is None:
        raise NotFound(f"there is no behavior '{name[:80]}'; name it by its id or its uri")
    bot = loading.bot_of(ctx, tx, behavior)
    if bot is None:
        raise NotFound(f"the bot of behavior {behavior.id} no longer exists")
    if not Rules(ctx.service.registry, ctx.actor).may_read(tx, ctx.service.registry.type("bot"), bot.id):
        raise Forbidden(f"you may not use the bot of behavior {behavior.id}")
    if behavior.event not in events:  # without access, the error contains neither its name nor its event
        raise Rejected(
            f"the behavior '{behavior.name}' responds to the event '{event_name(behavior.event)}', not to "
            f"'{event_name(events[0])}'"
        )
    for what, it in (("bot", bot), ("behavior", behavior)):
        if it.is_disabled:
            raise Rejected(f"the {what} '{it.name}' is disabled; enable it first")
    if not bot.lets("events", behavior.event):
        raise Rejected(f"the bot '{bot.name}' may not respond to the event '{event_name(behavior.event)}'")
    return behavior, bot


def perform(
    ctx: Context,
    behavior: BehaviorProgram,
    bot: BehaviorOwner,
    variable_values: Mapping[str, Any],
    *,
    simulates: bool = False,
) -> Dictionary:
    """Runs a behavior with the values of its variables; returns the final dictionary. Raises BudgetSpent.

    simulates: actions that reach beyond the run are executed only where they allow it."""
    return go(behavior, variable_values, host_of(ctx, bot), fresh(ctx, bot), simulates=simulates)


def host_of(ctx: Context, bot: BehaviorOwner) -> ServiceHost:
    """Returns the host of a bot: full access, in its own name, in the caller's time zone."""
    zone = ctx.actor.timezone or "UTC"
    host = ServiceHost(ctx)
    host.ctx = replace(host.ctx, actor=Actor(BOT, bot.id, True, zone, bot.name), depth=ctx.depth + 1)
    return host


def go(
    behavior: BehaviorProgram,
    variable_values: Mapping[str, Any],
    host: ServiceHost,
    spent: BehaviorBudget,
    *,
    simulates: bool = False,
) -> Dictionary:
    """Runs a behavior inside a current run, like perform(); it is counted separately."""
    began = time.perf_counter()
    try:
        return BehaviorRun(
            behavior, {**_own(host.ctx, behavior), **variable_values}, host, spent, simulates=simulates
        ).go()
    finally:
        if not simulates:
            _count(host.ctx, behavior, (time.perf_counter() - began) * 1000)


def _own(ctx: Context, behavior: BehaviorProgram) -> dict[str, Any]:
    """Returns `behavior_*` and `va_*`: the behavior and its bot."""
    keys: dict[str, Any] = {}
    for prefix, uri, id in (("behavior_", "behavior", behavior.id), ("va_", "bot", behavior.bot_id)):
        keys |= {prefix + key: value for key, value in records.retrieve(ctx, uri, id).items()}
    return keys


def _count(ctx: Context, behavior: BehaviorProgram, milliseconds: float) -> None:
    about = {"behavior_id": behavior.id, "event": behavior.event}
    metrics.record(ctx.service, BEHAVIOR_INVOCATIONS, 1, about, ctx.now)
    metrics.record(ctx.service, BEHAVIOR_DURATION, round(milliseconds, 3), about, ctx.now)


def _answer(ctx: Context, values: Dictionary, expand: str, shows_meta: bool) -> dict[str, Any]:
    """Returns the response. Keys loaded now are limited to those that the caller may read, whatever the bot may."""
    host = ServiceHost(ctx)
    host.ctx = replace(ctx, steps=None)
    dictionary = Dictionary(plain(values), host.load)
    for path in paths(expand):
        try:
            dictionary.expand(path)
        except HelpdeskError:
            continue
    return {
        key: plain(value)
        for key, value in sorted(dictionary.items())
        if not key.startswith("__") and (shows_meta or not key.endswith(META))
    }
