"""Runs the automations bound to events, before or after the event.

types/automation_event.py declares the events; records/event_publishing.py publishes them."""

from collections.abc import Iterator, Mapping
from typing import Any

from server import log
from server.access.service_actor import own_context
from server.automation import bindings, page_runs
from server.automation.automation_service import MAX_DEPTH, ServiceHost, perform
from server.automation.bindings import BindingCandidate
from server.automation.host import LogEntry
from server.automation.input_values import holds_bytes
from server.context import Context, Service
from server.errors import HelpdeskError
from server.jobs.job_queue import job
from server.record_types.shared.triggers import PREFIX
from server.records import event_publishing
from server.store.store_local import VersionedLocal
from server.store.transaction import Transaction
from server.translation import N_

LOG = log.get("automation")
MAX_REPORTED = 200  # lost entries that are logged until bindings change


@job(event_publishing.JOB, N_("Runs automations that wait for an event"))
def run_event(service: Service, payload: dict[str, Any], now: int) -> None:
    """Runs every automation bound to an event, even if an earlier one fails."""
    zone = payload.get("zone") or "UTC"
    ctx = own_context(service, now, zone, depth=payload["depth"], is_by_machine=payload.get("is_by_machine", False))
    for _ in run(ctx, payload["event"], payload["values"]):
        pass


def run(ctx: Context, name: str, values: dict[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yields the return values of the automations bound to an event, in order; failed runs yield nothing.

    Bindings that cannot be parsed, and chains of runs that are too long, are reported in the automation log."""
    text = ctx.service.store.read(lambda tx: _binding(ctx, tx, name))
    yield from run_binding(ServiceHost(ctx), name, text, PREFIX + name, values)


def run_binding(
    host: ServiceHost, name: str, text: str, trigger: str, values: dict[str, Any], *, has_functions: bool = True
) -> Iterator[Mapping[str, Any]]:
    """Yields the return values of the automations of a binding, in order; failed runs yield nothing. name: of what they
    are bound to, for the log. has_functions: as for bindings.handlers()."""
    ctx = host.ctx
    if ctx.depth > MAX_DEPTH:
        return note(host, f"{name}: not run, after {MAX_DEPTH} automations that triggered each other")
    candidates = bindings.binding_candidates(text, trigger, values, host, has_functions=has_functions)
    while True:
        try:
            candidate = next(candidates, None)
        except HelpdeskError as error:
            return note(host, f"{name}: its binding fails: {error.message}")
        if candidate is None:
            return None
        handler = candidate.handler
        if handler is None:
            _report_lost(host, name, candidate)
            continue
        if host.is_caller and not page_runs.is_allowed(host, handler.automation, values):
            note(host, f"{name}: the policy of '{handler.automation.name}' does not let {host.caller.name} start it")
            continue
        result = perform(ctx, handler.automation, {**values, "inputs": handler.inputs}, host=host)
        if result.state != "return" or not isinstance(result.returned, Mapping):
            continue
        if holds_bytes(result.returned):
            note(host, f"{name}: '{handler.automation.name}' returns bytes that are not text; they were left out")
            continue
        yield result.returned


def _binding(ctx: Context, tx: Transaction, name: str) -> str:
    record_type = ctx.service.registry.type("automation_event")
    row = tx.first(record_type.table, name=name)
    return str(record_type.record(row)["automations_kata"]) if row is not None else ""


LOST: VersionedLocal[set[tuple[str, str, str]]] = VersionedLocal()  # entries already logged


def _report_lost(host: ServiceHost, name: str, candidate: BindingCandidate) -> None:
    """Logs an entry whose automation is missing or has another trigger, once until bindings change."""
    if candidate.is_off:
        return
    store = host.ctx.service.store
    version = store.read(lambda tx: tx.version("automations"))
    reported = LOST.get(store, version)
    if reported is None:
        LOST.set(store, version, reported := set())
    entry = (name, candidate.key, candidate.uri)
    if entry not in reported and len(reported) < MAX_REPORTED:
        reported.add(entry)
        note(host, f"{name}: {candidate.key} does not run: {candidate.reason} ({candidate.uri})")


def note(host: ServiceHost, message: str) -> None:
    """Writes a problem with a binding to the automation log."""
    LOG.warning("event.stopped", reason=message)
    if not host.dry:
        host.ctx.service.store.write(lambda tx: host.log(tx, "", [LogEntry(3, "", message)]))
