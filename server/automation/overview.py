"""How automations are doing: when each ran last and how that ended, and how many of its runs failed."""

import json
from collections.abc import Collection, Mapping
from typing import Any

import peewee

from server.context import Context
from server.dataclass import dataclass
from server.digits import is_whole
from server.record_types.metrics.samples import DAY, HOUR, METRIC_SAMPLE
from server.record_types.shared.usage_buffer import usage_buffer
from server.records.metrics.builtin import AUTOMATION_INVOCATIONS
from server.store.statements import in_list, slot
from server.store.tables import table_named
from server.store.transaction import Transaction

FAILED = ("error", "failure")  # the states of runs that did not end well


@dataclass
class Overview:
    """last_run_at: Unix seconds, 0 for never. last_run_state: how it ended. runs, failed: of the last day, by whole
    hours."""

    last_run_at: int = 0
    last_run_state: str = ""
    runs: int = 0
    failed: int = 0

    def add(self, state: str, count: int) -> None:
        """Take runs in that ended so."""
        self.runs += count
        self.failed += count if state in FAILED else 0


def of(ctx: Context, ids: Collection[int]) -> dict[int, Overview]:
    """{id: overview} of these automations. Three statements for any number of them; what is only noted in memory so far
    is counted, too."""
    notes, since = usage_buffer(ctx.service.store), ctx.now - DAY
    found = {id: Overview() for id in ids}
    # Memory first: what is written in the meantime is then counted twice, for this one look, rather than not at all.
    for start, dimensions, totals in notes.of_metric(AUTOMATION_INVOCATIONS):
        if start >= since:
            _count(found, dict(dimensions), totals.count)
    recent = dict(notes.runs)

    def read(tx: Transaction) -> None:
        for id, at, state in _last_runs(tx, ids):
            found[id].last_run_at, found[id].last_run_state = at, state
        for text, count in _runs(tx, since):
            _count(found, json.loads(text), count)

    ctx.service.store.read(read)
    for id, (at, state) in recent.items():
        if id in found:
            found[id].last_run_at, found[id].last_run_state = at, state
    return found


def _count(found: Mapping[int, Overview], dimensions: Mapping[str, str], count: int) -> None:
    id = dimensions.get("automation_id", "")
    if is_whole(id) and int(id) in found:
        found[int(id)].add(dimensions.get("exit_state", ""), count)


def _last_runs(tx: Transaction, ids: Collection[int]) -> list[tuple[Any, ...]]:
    table: Any = table_named("automation")
    return tx.rows(
        lambda: table.select(table.c.id, table.c.last_run_at, table.c.last_run_state).where(
            in_list(table.c.id, slot(0))
        ),
        (json.dumps(list(ids)),),
    )


def _runs(tx: Transaction, since: int) -> list[tuple[Any, ...]]:
    """[(dimensions as JSON, runs)] from an instant on."""
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
