"""Summarizes automations: last run with its state, and number of runs and failures."""

import json
from collections.abc import Collection, Mapping
from typing import Any

import peewee

from server.context import Context
from server.dataclass import dataclass
from server.digits import is_whole
from server.record_types.metrics.metric_samples import DAY, HOUR, METRIC_SAMPLE
from server.record_types.shared.usage_buffer import usage_buffer
from server.records.metrics.builtin import AUTOMATION_INVOCATIONS
from server.store.statements import in_list, slot
from server.store.tables import table_named
from server.store.transaction import Transaction

FAILED = ("error", "failure")  # states of failed runs


@dataclass
class Overview:
    """The recent runs of an automation. last_run_at: Unix seconds, 0 for never. last_run_state: its final state. runs,
    failed: in the last day, by whole hours."""

    last_run_at: int = 0
    last_run_state: str = ""
    runs: int = 0
    failed: int = 0

    def add(self, state: str, count: int) -> None:
        """Counts runs with the same final state."""
        self.runs += count
        self.failed += count if state in FAILED else 0


def overviews(ctx: Context, ids: Collection[int]) -> dict[int, Overview]:
    """Returns {id: overview} of automations, with counts that are still buffered in memory. Runs three statements for
    any number of automations."""
    notes, since = usage_buffer(ctx.service.store), ctx.now - DAY
    by_id = {id: Overview() for id in ids}
    # Memory first: counts that are flushed between the two reads are counted twice, which is better than never.
    for start, dimensions, totals in notes.of_metric(AUTOMATION_INVOCATIONS):
        if start >= since:
            _count(by_id, dict(dimensions), totals.count)
    recent = dict(notes.runs)

    def read(tx: Transaction) -> None:
        for id, at, state in _last_runs(tx, ids):
            by_id[id].last_run_at, by_id[id].last_run_state = at, state
        for text, count in _runs(tx, since):
            _count(by_id, json.loads(text), count)

    ctx.service.store.read(read)
    for id, (at, state) in recent.items():
        if id in by_id:
            by_id[id].last_run_at, by_id[id].last_run_state = at, state
    return by_id


def _count(by_id: Mapping[int, Overview], dimensions: Mapping[str, str], count: int) -> None:
    id = dimensions.get("automation_id", "")
    if is_whole(id) and int(id) in by_id:
        by_id[int(id)].add(dimensions.get("exit_state", ""), count)


def _last_runs(tx: Transaction, ids: Collection[int]) -> list[tuple[Any, ...]]:
    table: Any = table_named("automation")
    return tx.rows(
        lambda: table.select(table.c.id, table.c.last_run_at, table.c.last_run_state).where(
            in_list(table.c.id, slot(0))
        ),
        (json.dumps(list(ids)),),
    )


def _runs(tx: Transaction, since: int) -> list[tuple[Any, ...]]:
    """Returns [(dimensions as JSON, runs)] since an instant."""
    table: Any = METRIC_SAMPLE.sql
    metric: Any = table_named("metric")
    metric_id = tx.value(lambda: metric.select(metric.c.id).where(metric.c.name == slot(0)), (AUTOMATION_INVOCATIONS,))
    return tx.rows(
        lambda: (
            table.select(table.dimensions, peewee.fn.SUM(table.count))
            .where(table.metric_id == slot(0), table.seconds == HOUR, table.bin >= slot(1))
            .group_by(table.dimensions)
        ),
        (metric_id, since),
    )
