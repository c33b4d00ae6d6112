"""Occurrences as shown in responses: by day, each split at midnight."""

from collections.abc import Iterable, Mapping
from datetime import tzinfo
from typing import Any

from server.contexts import CALENDAR
from server.record_types.calendars.availability import midnight, next_midnight
from server.record_types.calendars.occurrences import Occurrence, too_many

MAX_SHOWN = 20_000  # entries of days in one response
COLOR_AVAILABLE, COLOR_BUSY = "#A0D95B", "#C8C8C8"

Days = dict[str, list[dict[str, Any]]]


def by_day(
    occurrences: Iterable[Occurrence], start: int, end: int, tz: tzinfo, params: Mapping[int, Mapping[str, Any]]
) -> Days:
    """{midnight as text: entries of that day} for the time from `start` until before `end`, in order.

    params: the settings of each calendar, for its colours. Ends are inclusive seconds. Raises Invalid if there are
    too many."""
    days: dict[int, list[dict[str, Any]]] = {}
    count = 0
    for each in occurrences:
        piece, last = max(each.start, start), min(max(each.end, each.start + 1), end)
        while piece < last:
            after = next_midnight(piece, tz)
            entry = _shown(each, piece, min(after, last), params.get(each.calendar_id, {}))
            days.setdefault(midnight(piece, tz), []).append(entry)
            piece = after
            count += 1
            if count > MAX_SHOWN:
                raise too_many(MAX_SHOWN, "events on days")
    return {str(day): days[day] for day in sorted(days)}


def _shown(each: Occurrence, start: int, end: int, params: Mapping[str, Any]) -> dict[str, Any]:
    name, default = ("color_available", COLOR_AVAILABLE) if each.is_available else ("color_busy", COLOR_BUSY)
    return {
        "label": each.label,
        "ts": start,
        "ts_end": end - 1,
        "ts_range_start": each.start,
        "ts_range_end": max(each.end - 1, each.start),
        "is_available": int(each.is_available),
        "color": str(params.get(name) or default),
        "calendar_id": each.calendar_id,
        "calendar__context": CALENDAR,
        "record__context": each.context,
        "record_id": each.record_id,
    }
