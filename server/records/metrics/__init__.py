"""What the service counts and measures about itself.

    builtin.py   the metrics that are there from the start      gauges.py   what is measured from time to time
    storing.py   samples into bins

Samples are noted in memory (record_types/shared/usage_buffer.py) and written by records/usage_flush.py."""

from collections.abc import Iterable, Mapping

from server.context import Service
from server.record_types.shared.usage_buffer import UsageBuffer, usage_buffer
from server.records.metrics import storing


def record(service: Service, name: str, value: float, dimensions: Mapping[str, object], now: int) -> None:
    """Note a sample of a metric: cheap, and without the database. One of an unknown metric is dropped when written.

    now: Unix seconds."""
    usage_buffer(service.store).sample(name, value, dimensions, now)


def store(service: Service, name: str, values: Iterable[float], dimensions: Mapping[str, object], now: int) -> None:
    """Write samples of a metric at once."""
    notes = UsageBuffer()
    for value in values:
        notes.sample(name, value, dimensions, now)
    service.store.write(lambda tx: storing.store(tx, notes.samples))
