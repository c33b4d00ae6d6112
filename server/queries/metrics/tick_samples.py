"""Samples of one metric, summed by tick and by the values of some dimensions.

Samples about records that the caller may not read are left out."""

import json
from collections.abc import Mapping
from typing import Any

import peewee

from server.digits import id_in
from server.errors import BadDataQuery
from server.queries.data_query import DataQuery
from server.queries.metrics.choosing import Chooses, Declared
from server.queries.metrics.ticks import Ticks
from server.record_types.metrics.metric_samples import METRIC_SAMPLE
from server.record_types.shared.usage_buffer import Totals
from server.search.conditions import ALWAYS
from server.store.statements import slot

MAX_ROWS = 200_000  # stored bins read for one series

Split = tuple[str, ...]  # one value per dimension of `by:`
Cells = dict[Split, dict[int, "Cell"]]  # cells by split and tick


class Cell(Totals):
    """Samples of one tick. seen: the distinct combinations of dimensions."""

    __slots__ = ("seen",)

    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()


def cells(
    query: DataQuery,
    metric_id: int,
    ticks: Ticks,
    dimensions: Declared,
    by: list[str],
    chooses: Chooses | None,
    needs_all: bool,
    position: int,
) -> Cells:
    """Returns the selected samples by split and tick. needs_all: whether `seen` is needed. Raises BadDataQuery for more
    than MAX_ROWS."""
    limited = _limited(query, dimensions)
    rows = _rows(query, metric_id, ticks, bool(by or chooses or needs_all or limited))
    if len(rows) > MAX_ROWS:
        raise BadDataQuery(f"more than {MAX_ROWS} samples; choose a shorter range:", position=position, field="range")
    splits = _splits(query, {row[1] for row in rows}, by, chooses, limited)
    places = ticks.places({row[0] for row in rows})
    by_split: Cells = {} if by else {(): {}}
    for start, text, count, total, low, high in rows:
        split, place = splits[text], places.get(start)
        if split is None or place is None:
            continue
        cell = by_split.setdefault(split, {}).setdefault(place, Cell())
        cell.add(Totals(count, total, low, high))
        cell.seen.add(text)
    return by_split


def _rows(query: DataQuery, metric_id: int, ticks: Ticks, is_apart: bool) -> list[tuple[Any, ...]]:
    """Returns [(start, dimensions, count, sum, min, max)]; dimensions are "{}" if they need no distinction."""
    t: Any = METRIC_SAMPLE.sql

    def build() -> Any:
        column = dict(zip(METRIC_SAMPLE.names, METRIC_SAMPLE.all_columns, strict=True))
        measures = [
            getattr(peewee.fn, function)(column[name]) if not is_apart else column[name]
            for function, name in (("SUM", "count"), ("SUM", "sum"), ("MIN", "min"), ("MAX", "max"))
        ]
        dimensions = column["dimensions"] if is_apart else peewee.SQL("'{}'")
        query = t.select(column["bin"], dimensions, *measures).where(
            column["metric_id"] == slot(0), column["seconds"] == slot(1), column["bin"].between(slot(2), slot(3))
        )
        return (query if is_apart else query.group_by(column["bin"])).limit(MAX_ROWS + 1)

    # A UTC day may start before the local day that contains its middle.
    first = ticks.start - ticks.seconds // 2
    return query.tx.rows(build, (metric_id, ticks.seconds, first, ticks.end))


def _limited(query: DataQuery, dimensions: Declared) -> dict[str, str]:
    """Returns {dimension: record type} of the dimensions with records that the caller may not read."""
    builder, limited = query.dictionaries(), {}
    for name, each in dimensions.items():
        record_type = builder.find_type(str(each.get("record_type", ""))) if each["type"] == "record" else None
        if record_type is None:
            continue
        is_open = builder.readable(record_type.uri) is ALWAYS
        if not is_open or (record_type.uri == "group" and query.ctx.actor.reads_groups is not None):
            limited[name] = record_type.uri
    return {} if query.ctx.actor.is_admin else limited


def _splits(
    query: DataQuery, texts: set[str], by: list[str], chooses: Chooses | None, limited: Mapping[str, str]
) -> dict[str, Split | None]:
    """Returns {stored dimensions: values to split by}, None for samples that do not count."""
    samples: dict[str, dict[str, str]] = {text: json.loads(text) for text in texts}
    readable = {name: _readable(query, uri, name, samples.values()) for name, uri in limited.items()}

    def counts(sample: dict[str, str]) -> bool:
        may = all(sample.get(name, "0") in ids for name, ids in readable.items())
        return may and (chooses is None or chooses(sample))

    return {
        text: tuple(sample.get(name, "") for name in by) if counts(sample) else None for text, sample in samples.items()
    }


def _readable(query: DataQuery, uri: str, name: str, samples: Any) -> set[str]:
    """Returns the readable ids among the values of a dimension, as text; 0 means no record."""
    ids = {id for sample in samples if (id := id_in(sample.get(name, "0")))}
    groups = query.ctx.actor.reads_groups
    if uri == "group" and groups is not None:  # everybody may read groups, but not the contents of private ones
        return {"0", *(str(id) for id in ids & groups)}
    return {"0", *(str(id) for id in query.dictionaries().readable_ids(uri, ids))}
