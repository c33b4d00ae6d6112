"""Automations inside a running service: what they reach there, and what a run leaves behind in the log."""

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from server.access.actor import APP, system
from server.automation import automation_log, run_values
from server.automation.engine import RunResult, run
from server.automation.host import LogEntry, Script
from server.automation.stopping import stoppable
from server.automation.template_functions import functions_for
from server.context import Context
from server.errors import Forbidden, NotFound
from server.record_types.shared.triggers import MACRO
from server.record_types.shared.usage_buffer import usage_buffer
from server.records import metrics, records
from server.records.metrics.builtin import AUTOMATION_DURATION, AUTOMATION_INVOCATIONS
from server.records.writing import RecordWriter
from server.store.transaction import Transaction

MAX_DEPTH = 8  # runs that caused each other, each through what the one before it changed


class ServiceHost:
    """automation.host.Host for one operation. Automations act as the service itself, whoever set them off; what they do
    counts as theirs, also where no other one caused it. is_caller: they act with the rights of who set them off, and no
    more, as macros do.

    What a dry run sets off is dry as well."""

    def __init__(self, ctx: Context, *, dry: bool = False, is_caller: bool = False) -> None:
        self.dry = dry or ctx.is_dry
        actor = ctx.actor if is_caller else system(ctx.actor.timezone or "UTC")
        self.ctx: Context = replace(ctx, actor=actor, steps=None, is_dry=self.dry, depth=max(ctx.depth, 1))
        self.caller = ctx.actor
        self.depth = ctx.depth
        self.zone = ctx.actor.timezone or "UTC"
        self._functions: Mapping[str, Callable[..., Any]] | None = None

    def automation(self, name: str) -> Script | None:
        return self.ctx.service.store.read(lambda tx: find(self.ctx, tx, name))

    def load(self, context: str, id: int, key: str) -> Mapping[str, Any]:
        record_type = self.ctx.service.registry.find(context)
        if record_type is None:
            return {}
        try:
            return records.retrieve(self.ctx, record_type.uri, id, key)
        except (NotFound, Forbidden):
            return {}

    def functions(self) -> Mapping[str, Callable[..., Any]]:
        if self._functions is None:
            self._functions = functions_for(lambda: self)
        return self._functions

    def log(self, tx: Transaction, name: str, entries: list[LogEntry], version: int = 0) -> list[int]:
        """Write the entries of one run into the automation log, as a part of a write; their ids, of which the first is
        that of the run. name: the automation's, "" for none. version: of the automation, 0 for one that is not kept."""
        writing, ids = RecordWriter(self.ctx, tx), list[int]()
        for entry in entries:
            of, run_id = version if entry.is_own else 0, ids[0] if ids else 0
            ids.append(automation_log.note(writing, entry.level, entry.message, name, entry.node, of, run_id))
        return ids


def find(ctx: Context, tx: Transaction, name: str) -> Script | None:
    """The automation of a name, as this transaction sees it."""
    record_type = ctx.service.registry.type("automation")
    row = tx.first(record_type.table, name=name)
    if row is None:
        return None
    return of_record(record_type.record(row))


def of_record(record: Mapping[str, Any]) -> Script:
    """The automation that a record holds."""
    return Script(
        record["script"], record["policy_kata"], record["name"], record["extension_id"], record["id"], record["version"]
    )


def _count(ctx: Context, automation: Script, values: Mapping[str, Any], found: RunResult, ms: float) -> None:
    """For the metrics of automations."""
    of = {"automation_id": automation.id, "trigger": automation.trigger}
    metrics.record(ctx.service, AUTOMATION_INVOCATIONS, 1, of | {"exit_state": found.state}, ctx.now)
    metrics.record(ctx.service, AUTOMATION_DURATION, ms, of, ctx.now)
    if automation.id:
        usage_buffer(ctx.service.store).ran(automation.id, ctx.now, found.state)
        run_values.note(ctx.service, automation.id, automation.trigger, values, ctx.now)


def log_run(ctx: Context, automation: Script) -> None:
    """Tell in the activity log that somebody runs an automation by hand, with effects."""
    told = {"target": automation.name or "that is not saved yet"}
    context = ctx.service.registry.type("automation").context
    target = (context, automation.id) if automation.id else (APP, 0)
    ctx.service.store.write(lambda tx: RecordWriter(ctx, tx).log("automation.run", *target, told))


def perform(
    ctx: Context,
    automation: Script,
    values: Mapping[str, Any],
    *,
    dry: bool = False,
    traced: int = 0,
    state_at: int = 0,
    seconds: float | None = None,
    stop_code: str = "",
    host: ServiceHost | None = None,
) -> RunResult:
    """Run an automation with a dictionary, and keep what it logged. Never raises for what a script does; raises
    NotOnWriter inside a write.

    dry: nothing is written and nothing sent, and the log is only in the answer. host: of the operation, when there is
    one already. The others are those of run_counted."""
    host = host or ServiceHost(ctx, dry=dry, is_caller=automation.trigger == MACRO)
    found = run_counted(
        ctx, host, automation, values, traced=traced, state_at=state_at, seconds=seconds, stop_code=stop_code
    )
    if found.log and not host.dry:
        ctx.service.store.write(lambda tx: host.log(tx, automation.name, found.log, automation.version))
    return found


def run_counted(
    ctx: Context,
    host: ServiceHost,
    automation: Script,
    values: Mapping[str, Any],
    *,
    traced: int = 0,
    state_at: int = 0,
    seconds: float | None = None,
    stop_code: str = "",
) -> RunResult:
    """Run an automation with a dictionary, and count the run; who asks keeps its log, with what else there is to write.
    Never raises for what a script does; raises NotOnWriter inside a write.

    traced: how many commands are traced. state_at: the command whose dictionary is kept, from 1. seconds: that it may
    take at most, besides its own limit. stop_code: by which the actor may stop it, see stopping.py."""
    ctx.service.store.require_off_writer()
    began = time.perf_counter()
    within = partial(stoppable(ctx.service.store).under, ctx.actor.worker_id, stop_code)
    found = run(
        automation,
        dict(values),
        host,
        traced=traced,
        state_at=state_at,
        seconds=seconds,
        within=within if stop_code else None,
    )
    if not host.dry:
        _count(ctx, automation, values, found, (time.perf_counter() - began) * 1000)
    return found
