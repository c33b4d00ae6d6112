"""Writes buffered usage data: samples of metrics, last activity of workers, use of tokens, open workspace pages,
results of automations."""

from typing import Any

from server import log
from server.access import tokens
from server.context import Service
from server.jobs.scheduler import periodic
from server.record_types.shared.usage_buffer import UsageBuffer, usage_buffer
from server.record_types.workspaces.visits import VISIT, VISIT_SECONDS
from server.records.metrics import metric_bins
from server.store.statements import slot
from server.store.tables import table_named
from server.store.transaction import Transaction
from server.translation import N_

_log = log.get("metrics")


@periodic(N_("notes"), N_("Records when workers and tokens were last seen."), everywhere=True)
def write_notes(service: Service, now: int) -> None:
    """Writes everything buffered since the last call in one transaction; none if there is nothing to write."""
    buffer = usage_buffer(service.store).take()
    if buffer.dropped:
        _log.warning("samples.dropped", count=buffer.dropped)
    if (
        buffer.samples
        or buffer.active
        or buffer.visits
        or buffer.runs
        or service.store.read(lambda tx: _has_old(tx, now))
    ):
        service.store.write(lambda tx: _write(tx, buffer, now))


def _write(tx: Transaction, buffer: UsageBuffer, now: int) -> None:
    metric_bins.store(tx, buffer.samples)
    metric_bins.forget_old(tx, now)
    _write_activity(tx, buffer.active)
    _write_runs(tx, buffer.runs)
    tokens.record_use(tx, buffer.tokens)
    tx.put_many(VISIT, VISIT.names, [(worker, page, at) for worker, (page, at) in buffer.visits.items()])
    tx.run(lambda: VISIT.sql.delete().where(VISIT.sql.at < slot(0)), (now - VISIT_SECONDS,))


def _write_activity(tx: Transaction, active: dict[int, int]) -> None:
    worker: Any = table_named("worker")
    tx.run_many(
        lambda: worker.update({worker.c.last_activity_at: slot(0)}).where(worker.c.id == slot(1)),
        [(at, id) for id, at in active.items()],
    )


def _write_runs(tx: Transaction, runs: dict[int, tuple[int, str]]) -> None:
    automation: Any = table_named("automation")
    tx.run_many(
        lambda: automation.update({automation.c.last_run_at: slot(0), automation.c.last_run_state: slot(1)}).where(
            automation.c.id == slot(2)
        ),
        [(at, state, id) for id, (at, state) in runs.items()],
    )


def _has_old(tx: Transaction, now: int) -> bool:
    """Whether a visit of a workspace page has expired."""
    visit = VISIT.sql
    worker_id = tx.value(
        lambda: visit.select(visit.worker_id).where(visit.at < slot(0)).limit(1),
        (now - VISIT_SECONDS,),
    )
    return worker_id is not None
