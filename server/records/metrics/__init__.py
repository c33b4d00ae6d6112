"""Metrics about the service itself.

    builtin.py   the built-in metrics      metric_bins.py   writes samples into bins

Samples are buffered in memory (record_types/shared/usage_buffer.py) and written by records/usage_flush.py."""

from collections.abc import Iterable, Mapping

from server.context import Service
from server.record_types.shared.usage_buffer import UsageBuffer, usage_buffer
from server.records.metrics import metric_bins


def record(service: Service, name: str, value: float, dimensions: Mapping[str, object], now: int) -> None:
    """Buffers a sample of a metric in memory, without the database. Samples of unknown metrics are dropped when
    written. now: Unix seconds."""
    usage_buffer(service.store).sample(name, value, dimensions, now)


def store(service: Service, name: str, values: Iterable[float], dimensions: Mapping[str, object], now: int) -> None:
    """Writes samples of a metric at once, without the buffer."""
    notes = UsageBuffer()
    for value in values:
        notes.sample(name, value, dimensions, now)
    service.store.write(lambda tx: metric_bins.store(tx, notes.samples))
