"""`format:categories`, `pie` and `timeseries`: names with numbers.

Different values with the same name get their values added, because charts distinguish only names."""

from collections import Counter
from collections.abc import Hashable, Iterable
from typing import Any

from server.counting.bins import MAX_AXIS_BINS, Bin
from server.counting.dimensions.date_bins import DateDimension
from server.counting.dimensions.dimension import Member
from server.counting.measures import Tally
from server.errors import BadDataQuery
from server.queries.subtotals.result import Members, Number, SubtotalsResult, SubtotalsRow

JOINED = " / "  # separates the names of several fields
AXIS = "ts"


def categories(result: SubtotalsResult) -> tuple[list[list[Any]], dict[str, Any]]:
    """Returns [["label", names of the first field], [name of a further value, numbers]]; 0 where there are no
    records."""
    firsts = _merged(result, lambda row: row.members[:1])
    extra: dict[str, Any] = {"stacked": len(result.dimensions) > 1, "format_params": {"xaxis_key": "label"}}
    names = _names([members for members, _ in firsts])
    heads = [names[_key(members)] for members, _ in firsts]
    if len(result.dimensions) < 2:
        series = {
            names[_key(members)]: {"key": _value(members), "query": result.query(members)} for members, _ in firsts
        }
        return [["label", *(heads or [result.title])], ["hits", *(value for _, value in firsts)]], extra | {
            "series": {"hits": series}
        }
    rests = _merged(result, lambda row: row.members[1:])
    rest_names = _names([members for members, _ in rests])
    cells = {(_key(row.members[:1]), _key(row.members[1:])): row for row in result.rows}
    rows: list[list[Any]] = [["label", *heads]]
    by_head: dict[str, dict[str, Any]] = {
        names[_key(members)]: {"_key": _value(members), "_query": result.query(members)} for members, _ in firsts
    }
    for rest, _ in rests:
        line: list[Any] = [rest_names[_key(rest)]]
        for first, _ in firsts:
            row = cells.get((_key(first), _key(rest)))
            line.append(row.value if row is not None else 0)
            if row is not None:
                by_head[names[_key(first)]][line[0]] = {"key": _value(rest), "query": result.query(row.members)}
        rows.append(line)
    return rows, extra | {"series": by_head}


def pie(result: SubtotalsResult) -> tuple[list[list[Any]], dict[str, Any]]:
    """Returns [[name of the first field, number]]."""
    firsts = _merged(result, lambda row: row.members[:1])
    if not result.dimensions:
        return [[result.title, value] for _, value in firsts], {"series": {}}
    names = _names([members for members, _ in firsts])
    series = {names[_key(members)]: {"key": _value(members), "query": result.query(members)} for members, _ in firsts}
    return [[names[_key(members)], value] for members, value in firsts], {"series": series}


def timeseries(result: SubtotalsResult) -> tuple[dict[str, list[Any]], dict[str, Any]]:
    """Returns {"ts": labels, name of each further value: numbers}, without gaps from the first bin to the last.

    Raises BadDataQuery if the first field is not a date, and for too many bins."""
    first = result.dimensions[0] if result.dimensions else None
    if not isinstance(first, DateDimension):
        position = first.options.position if first is not None else 0
        raise BadDataQuery(
            "by: a time series needs a date as its first field, such as created@day", position=position, field="by"
        )
    dated = [row for row in result.rows if isinstance(row.members[0].order, Bin)]
    axis = _axis(first, dated)
    rests = _merged(result, lambda row: row.members[1:], dated)
    names = _names([members for members, _ in rests], "count" if result.counts else result.function.name)
    data: dict[str, list[Any]] = {AXIS: [each.label for each in axis]}
    series: dict[str, dict[str, Any]] = {}
    cells = {(row.members[0].key, _key(row.members[1:])): row for row in dated}
    for members, _ in rests:
        name, key = names[_key(members)], _key(members)
        rows = [(entry.label, cells.get((entry.start, key))) for entry in axis]
        data[name] = [row.value if row is not None else 0 for _, row in rows]
        series[name] = {
            label: {"key": _value(members) if members else label, "query": result.query(row.members)}
            for label, row in rows
            if row is not None
        }
    unit = first.calendar.unit
    params = {"xaxis_key": AXIS, "xaxis_step": unit.step, "xaxis_format": unit.axis}
    return data, {"format_params": params, "series": series}


def _axis(first: DateDimension, rows: list[SubtotalsRow]) -> list[Bin]:
    bins = sorted({row.members[0].order for row in rows}, key=lambda each: each.start)
    if not bins or first.calendar.unit.is_cyclic or first.calendar.unit.atom == 1:
        return bins
    axis = first.calendar.axis(bins[0], bins[-1])
    if axis is None:
        raise BadDataQuery(
            f"by: the time series would have more than {MAX_AXIS_BINS} steps; use a larger unit or narrow the search",
            position=first.options.position,
            limit=MAX_AXIS_BINS,
        )
    return axis


def _merged(
    result: SubtotalsResult, part: Any, rows: Iterable[SubtotalsRow] | None = None
) -> list[tuple[Members, Number]]:
    """Combines rows by a part of their members, largest value first."""
    tallies: dict[tuple[Hashable, ...], Tally] = {}
    members: dict[tuple[Hashable, ...], Members] = {}
    for row in result.rows if rows is None else rows:
        part_members = part(row)
        members[_key(part_members)] = part_members
        tallies.setdefault(_key(part_members), Tally()).merge(row.tally)
    merged = [(members[key], result.value(tally)) for key, tally in tallies.items()]
    merged.sort(key=lambda each: (each[1] is None, -(each[1] or 0), [member.label.casefold() for member in each[0]]))
    return merged


def _names(combinations: list[Members], nameless: str = "") -> dict[tuple[Hashable, ...], str]:
    """Returns a name for each combination; a duplicate name gets its value added."""
    plain = [JOINED.join(member.label for member in members) or nameless for members in combinations]
    often = Counter(plain)
    names = {}
    for members, name in zip(combinations, plain, strict=True):
        is_clear = often[name] == 1 and name not in (AXIS, "label", "_key", "_query")
        names[_key(members)] = name if is_clear else f"{name} ({_value(members)})"
    return names


def _key(members: Members) -> tuple[Hashable, ...]:
    return tuple(member.key for member in members)


def _value(members: tuple[Member, ...]) -> Any:
    return members[0].value if len(members) == 1 else JOINED.join(str(member.value) for member in members)
