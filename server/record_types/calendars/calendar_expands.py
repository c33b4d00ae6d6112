"""Expands of calendars: the current month, its weeks and their events. Two statements for any number of calendars."""

from collections.abc import Callable
from typing import Any

from server import times
from server.record_types.calendars.agenda import Days, by_day
from server.record_types.calendars.calendar_rows import occurrences
from server.record_types.calendars.month import Month, month_of
from server.record_types.calendars.occurrences import occluded
from server.record_types.parts import DictionaryContext, Expand, Loader, Record

Loaded = dict[int, dict[str, Any]]


def _load(make: Callable[[DictionaryContext, list[Record]], Loaded]) -> Loader:
    return lambda view, records, form: make(view, records)


def _months(view: DictionaryContext, records: list[Record]) -> dict[int, Month]:
    """The current month of each calendar, in its own zone or the caller's."""
    return {each["id"]: month_of(view.now, _zone(view, each), _begins_monday(each)) for each in records}


def _zone(view: DictionaryContext, record: Record) -> Any:
    return times.zone(record["timezone"] or view.actor.timezone or "UTC")


def _begins_monday(record: Record) -> bool:
    return isinstance(record["params"], dict) and str(record["params"].get("start_on_mon", "0")) in ("1", "True")


def _scope(view: DictionaryContext, records: list[Record]) -> Loaded:
    zones = {each["id"]: _zone(view, each) for each in records}
    return {id: {"scope": month.scope(zones[id])} for id, month in _months(view, records).items()}


def _weeks(view: DictionaryContext, records: list[Record]) -> Loaded:
    return {id: {"weeks": month.shown_weeks()} for id, month in _months(view, records).items()}


def _events(hides: bool) -> Callable[[DictionaryContext, list[Record]], Loaded]:
    return lambda view, records: {id: {"events": days} for id, days in _days(view, records, hides).items()}


def _weeks_events(hides: bool) -> Callable[[DictionaryContext, list[Record]], Loaded]:
    def load(view: DictionaryContext, records: list[Record]) -> Loaded:
        months, days = _months(view, records), _days(view, records, hides)
        return {id: {"weeks": months[id].shown_weeks(days[id])} for id in months}

    return load


def _days(view: DictionaryContext, records: list[Record], hides: bool) -> dict[int, Days]:
    """The events of each calendar in its month, by day. One query covers all months, which differ by zones and first
    weekdays."""
    months = _months(view, records)
    start, end = min(each.start for each in months.values()), max(each.end for each in months.values())
    by_calendar = occurrences(view.tx, records, start, end, times.zone(view.actor.timezone or "UTC"))
    return {
        each["id"]: by_day(
            occluded(by_calendar[each["id"]]) if hides else by_calendar[each["id"]],
            months[each["id"]].start,
            months[each["id"]].end,
            _zone(view, each),
            {each["id"]: each["params"]},
        )
        for each in records
    }


EXPANDS = (
    Expand("scope", "object", "The current month and the range of days shown for it.", _load(_scope)),
    Expand("weeks", "array", "The days of the current month in weeks, filled up at both ends.", _load(_weeks)),
    Expand(
        "events", "array", "What is on in the current month, by day.", _load(_events(False)), reads="calendar_event"
    ),
    Expand(
        "events_occluded",
        "array",
        "The same with busy hiding available; lands in `events`.",
        _load(_events(True)),
        reads="calendar_event",
    ),
    Expand(
        "weeks_events",
        "array",
        "The weeks with the events of each day; lands in `weeks`.",
        _load(_weeks_events(False)),
        reads="calendar_event",
    ),
    Expand(
        "weeks_events_occluded",
        "array",
        "The same with busy hiding available; lands in `weeks`.",
        _load(_weeks_events(True)),
        reads="calendar_event",
    ),
)
