"""Adds samples to bins of three sizes.

Three statements for any number of samples."""

import json
from collections.abc import Iterator
from typing import Any

from server.record_types.metrics.metric_samples import DAY, FIVE_MINUTES, HOUR, KEPT, METRIC_SAMPLE
from server.record_types.shared.usage_buffer import Samples, Totals
from server.store.statements import in_list, slot
from server.store.tables import table_named
from server.store.transaction import Transaction

Key = tuple[int, int, int, str]  # the primary key of the table
Bins = dict[Key, Totals]


def store(tx: Transaction, samples: Samples) -> None:
    """Adds samples to their bins; samples of unknown metrics are dropped."""
    added = _bins(samples, _ids(tx))
    if not added:
        return
    for key, totals in _present(tx, added):
        added[key].add(totals)
    tx.put_many(
        METRIC_SAMPLE,
        METRIC_SAMPLE.names,
        [(*key, each.count, each.sum, each.min, each.max) for key, each in added.items()],
    )


def forget_old(tx: Transaction, now: int) -> None:
    """Removes bins whose retention has ended."""
    table = METRIC_SAMPLE.sql
    for seconds, retention in KEPT.items():
        if retention:
            tx.run(
                lambda: table.delete().where(table.seconds == slot(0), table.bin < slot(1)),
                (seconds, now - retention - seconds),
            )


def _ids(tx: Transaction) -> dict[str, int]:
    metric = table_named("metric")
    return dict(tx.rows(lambda: metric.select(metric.c.name, metric.c.id)))


def _bins(samples: Samples, ids: dict[str, int]) -> Bins:
    bins: Bins = {}
    for (name, start, dimensions), totals in samples.items():
        if name not in ids:
            continue
        text = json.dumps(dict(dimensions), ensure_ascii=False)
        for seconds in (FIVE_MINUTES, HOUR, DAY):
            bins.setdefault((ids[name], seconds, start - start % seconds, text), Totals()).add(totals)
    return bins


def _present(tx: Transaction, added: Bins) -> Iterator[tuple[Key, Totals]]:
    """Yields the stored totals of these bins."""
    table = METRIC_SAMPLE.sql
    metrics, bins = {key[0] for key in added}, {key[2] for key in added}

    def build() -> Any:
        return table.select(*METRIC_SAMPLE.all_columns).where(
            in_list(table.metric_id, slot(0)), in_list(table.seconds, slot(1)), in_list(table.bin, slot(2))
        )

    values = (json.dumps(sorted(metrics)), json.dumps(list(KEPT)), json.dumps(sorted(bins)))
    for row in tx.rows(build, values):
        if row[:4] in added:
            yield row[:4], Totals(*row[4:])
