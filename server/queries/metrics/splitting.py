"""`by:[worker_id]`: one series per value of some dimensions, and its name."""

from collections.abc import Mapping, Sequence
from typing import Any

from server.digits import id_in
from server.errors import nearest
from server.queries.data_query import DataQuery, KeyValues
from server.queries.metrics.choosing import Declared, find_dimension
from server.queries.metrics.tick_samples import Cell, Cells, Split
from server.queries.query_type import QueryKey
from server.translation import lazy_gettext

MAX_SPLIT = 50  # series that one is split into; those with the fewest samples are combined
NONE, OTHER = "(none)", "(other)"
BY_KEYS = (
    QueryKey("as", "text", "What the values are.", choices=("record", "text")),
    QueryKey("record_type", "text", "The record type of the values; the dimension's own when absent."),
    QueryKey("record_label", "text", "The key that a record is called by; its label when absent."),
)


def largest(by_split: Cells) -> Cells:
    """Returns the splits with the most samples, and the rest combined into one."""
    if len(by_split) <= MAX_SPLIT:
        return by_split
    order = sorted(by_split, key=lambda split: (-sum(each.count for each in by_split[split].values()), split))
    largest_splits = {split: by_split[split] for split in order[: MAX_SPLIT - 1]}
    rest: dict[int, Cell] = {}
    for split in order[MAX_SPLIT - 1 :]:
        for place, each in by_split[split].items():
            cell = rest.setdefault(place, Cell())
            cell.add(each)
            cell.seen |= each.seen
    return {**largest_splits, (OTHER,): rest}


def names(query: DataQuery, series: KeyValues, label: str, dimensions: Declared, by_split: Cells) -> dict[Split, str]:
    """Returns {split: name of its series}, sorted by name: `Label :: value`, with the id added to ambiguous names."""
    by = series.words("by")
    if not by:
        return {(): label}
    options = {each.id: each for each in series.groups("by.<id>")}
    for name, each in options.items():
        find_dimension(name, each.position, dimensions, "by")
    called = [
        _called(query, {split[place] for split in by_split if len(split) > place}, dimensions[name], options.get(name))
        for place, name in enumerate(by)
    ]
    series_names: dict[Split, str] = {}
    for split in sorted(by_split):
        is_rest = split == (OTHER,) and len(by_split) == MAX_SPLIT
        values = [OTHER] if is_rest else [called[place][value] for place, value in enumerate(split)]
        series_names[split] = " :: ".join([label, *values])
    alike = [each for each in series_names.values() if list(series_names.values()).count(each) > 1]
    distinct = {
        split: f"{name} ({', '.join(split)})" if name in alike else name for split, name in series_names.items()
    }
    return dict(sorted(distinct.items(), key=lambda pair: pair[1].casefold()))


def _called(
    query: DataQuery, values: set[str], dimension: Mapping[str, Any], options: KeyValues | None
) -> dict[str, str]:
    """Returns {value: display name}."""
    kind, uri, key = str(dimension["type"]), str(dimension.get("record_type", "")), ""
    if options is not None:
        kind = options.text("as", "record" if "record_type" in options else kind)
        uri, key = options.text("record_type", uri), options.text("record_label")
    plain_names = {value: value or NONE for value in values}
    if kind != "record":
        return plain_names
    record_type = query.ctx.service.registry.find(uri)
    if record_type is None:
        if options is None:
            return plain_names
        raise options.bad(
            "record_type",
            lazy_gettext(
                "'{value}' is not a record type{nearest}",
                value=uri[:80],
                nearest=nearest(uri, query.scope.type_names()),
            ),
        )
    return plain_names | {"0": NONE} | _labels(query, record_type.uri, values, key)


def _labels(query: DataQuery, uri: str, values: Sequence[str] | set[str], key: str) -> dict[str, str]:
    builder = query.dictionaries()
    records = builder.records(uri, {id for value in values if (id := id_in(value)) is not None})
    dictionaries = builder.dictionaries(uri, records, f"_label,{key}")
    labels = {str(each["id"]): each.get(key or "_label") for each in dictionaries}
    return {id: str(label) for id, label in labels.items() if isinstance(label, (str, int, float)) and label != ""}
