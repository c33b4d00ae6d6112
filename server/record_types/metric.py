"""Metrics: values counted or measured over time. metrics/ has their samples, which are read through data queries."""

from typing import Any

from server.errors import Invalid
from server.fields import CreatedAt, Name, Text, UpdatedAt
from server.record_types.metrics import dimensions
from server.record_types.metrics.metric_samples import METRIC_SAMPLE
from server.record_types.record_type import (
    Access,
    Change,
    DictionaryContext,
    Expand,
    Record,
    RecordType,
    Subtotals,
    Writing,
)
from server.record_types.traits import CustomFields, Links, Search, Watchers
from server.store.tables import Index

COUNTER, GAUGE = "counter", "gauge"


def load_dimensions(view: DictionaryContext, records: list[Record], form: str) -> dict[int, dict[str, Any]]:
    """`dimensions`: {name: {type, and its settings}}."""
    return {record["id"]: {"dimensions": dimensions.parse(record["dimensions_kata"])} for record in records}


class Metric(RecordType):
    """A value that is counted (counter) or measured from time to time (gauge), by dimensions such as the worker."""

    uri = "metric"
    is_silent = True
    tier = 3
    lookup = "name"
    traits = (CustomFields(), Links(), Watchers(), Search())
    access = Access(read="any worker", write=("admins",))
    fields = {
        "created_at": CreatedAt(),
        "description": Text("What it measures."),
        "dimensions_kata": Text(
            f"Its dimensions, at most {dimensions.MAX_DIMENSIONS}, each as type/name: with settings below; the types "
            f"are {', '.join(dimensions.TYPES)}.",
            65536,
            form="kata",
            filter=None,
        ),
        "name": Name("Unique name; also the label.", 128, unique=True, pattern=r"[A-Za-z0-9._]*"),
        "type": Text("counter or gauge; blank is a counter.", 128, allowed=(COUNTER, GAUGE)),
        "updated_at": UpdatedAt(),
    }
    indexes = (Index(("name",), "the metric of a name"),)
    tables = (METRIC_SAMPLE,)
    expands = (Expand("dimensions", "map", "Its dimensions: {name: {type, settings}}.", load_dimensions),)
    subtotals = Subtotals(search=("fieldset", "links", "watchers"))

    def prepare(self, change: Change, writing: Writing) -> None:
        if "dimensions_kata" in change.new:
            try:
                dimensions.parse(change.new["dimensions_kata"])
            except Invalid as error:
                raise Invalid(f"dimensions_kata: {error.message}", field="dimensions_kata") from error

    def after_delete(self, record: Record, writing: Writing) -> None:
        writing.tx.delete(METRIC_SAMPLE, metric_id=record["id"])
