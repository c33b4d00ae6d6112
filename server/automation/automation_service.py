"""Runs automations inside the service: implements their host, and logs and counts their runs."""

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from server.access.actor import APP, system
from server.automation import log_search, run_values
from server.automation.engine import RunResult, run
from server.automation.host import LogEntry, Script
from server.automation.stopping import stoppable
from server.automation.template_functions import functions_for
from server.context import Context
from server.errors import Forbidden, NotFound
from server.record_types.shared.triggers import AS_CALLER
from server.record_types.shared.usage_buffer import usage_buffer
from server.records import metrics, records
from server.records.metrics.builtin import AUTOMATION_DURATION, AUTOMATION_INVOCATIONS
from server.records.writing import RecordWriter
from server.store.transaction import Transaction

MAX_DEPTH = 8  # length of a chain of runs, each triggered by a change of the one before


class ServiceHost:
    """Implements automation.host.Host for one context. Automations act as the service itself, whoever triggered them;
    their changes count as theirs, even those without another cause. is_caller: they act with exactly the rights of
    the caller, as macros do. reads_only: they change nothing, and their runs are neither logged nor counted.

    Runs triggered by a dry run are dry as well."""

    def __init__(self, ctx: Context, *, dry: bool = False, is_caller: bool = False, reads_only: bool = False) -> None:
        self.dry = dry or reads_only or ctx.is_dry
        self.reads_only = reads_only
        self.is_caller = is_caller
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
        """Writes the entries of one run to the automation log, inside a write; returns their ids, the first of which is
        the id of the run. name: of the automation, "" for none. version: of the automation, 0 if it is not stored."""
        writing, ids = RecordWriter(self.ctx, tx), list[int]()
        for entry in entries:
            entry_version, run_id = version if entry.is_own else 0, ids[0] if ids else 0
            ids.append(log_search.note(writing, entry.level, entry.message, name, entry.node, entry_version, run_id))
        return ids


def find(ctx: Context, tx: Transaction, name: str) -> Script | None:
    """Returns the automation of a name, as seen by this transaction."""
    record_type = ctx.service.registry.type("automation")
    row = tx.first(record_type.table, name=name)
    if row is None:
        return None
    return of_record(record_type.record(row))


def of_record(record: Mapping[str, Any]) -> Script:
    """Returns the automation stored in a record."""
    return Script(
        record["script"], record["policy_kata"], record["name"], record["extension_id"], record["id"], record["version"]
    )


def _count(ctx: Context, automation: Script, values: Mapping[str, Any], result: RunResult, ms: float) -> None:
    """Counts a run in the metrics of automations."""
    dimensions = {"automation_id": automation.id, "trigger": automation.trigger}
    metrics.record(ctx.service, AUTOMATION_INVOCATIONS, 1, dimensions | {"exit_state": result.state}, ctx.now)
    metrics.record(ctx.service, AUTOMATION_DURATION, ms, dimensions, ctx.now)
    if automation.id:
        usage_buffer(ctx.service.store).ran(automation.id, ctx.now, result.state)
        run_values.note(ctx.service, automation.id, automation.trigger, values, ctx.now)


def log_run(ctx: Context, automation: Script) -> None:
    """Writes to the activity log that someone ran an automation manually, with effects."""
    variables = {"target": automation.name or "is not saved yet"}
    context = ctx.service.registry.type("automation").context
    target = (context, automation.id) if automation.id else (APP, 0)
    ctx.service.store.write(lambda tx: RecordWriter(ctx, tx).log("automation.run", *target, variables))


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
    """Runs an automation with a dictionary and stores its log. Errors of the script do not raise; raises NotOnWriter
    inside a write.

    dry: nothing is written or sent, and the log is only returned. host: of the context, if there already is one. Other
    parameters as for run_counted()."""
    host = host or ServiceHost(ctx, dry=dry, is_caller=automation.trigger in AS_CALLER)
    result = run_counted(
        ctx, host, automation, values, traced=traced, state_at=state_at, seconds=seconds, stop_code=stop_code
    )
    if result.log and not host.dry:
        ctx.service.store.write(lambda tx: host.log(tx, automation.name, result.log, automation.version))
    return result


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
    """Runs an automation with a dictionary and counts the run; the caller stores its log together with its other
    writes. Errors of the script do not raise; raises NotOnWriter inside a write.

    traced: number of commands to trace. state_at: number of the command, from 1, after which the dictionary is
    recorded. seconds: time limit in addition to its own. stop_code: with which the actor can stop the run, see
    stopping.py."""
    ctx.service.store.require_off_writer()
    began = time.perf_counter()
    within = partial(stoppable(ctx.service.store).under, ctx.actor.worker_id, stop_code)
    result = run(
        automation,
        dict(values),
        host,
        traced=traced,
        state_at=state_at,
        seconds=seconds,
        within=within if stop_code else None,
    )
    if not host.dry:
        _count(ctx, automation, values, result, (time.perf_counter() - began) * 1000)
    return result
