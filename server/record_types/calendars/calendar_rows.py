"""Reads the events of calendars: two statements for any number of calendars.

Callers pass calendars that the caller may read; access is not checked here."""

import json
from collections.abc import Iterable
from datetime import tzinfo
from typing import Any

from server import contexts, times
from server.record_types.calendars import day_patterns
from server.record_types.calendars.occurrences import (
    MAX_OCCURRENCES,
    Occurrence,
    RecurringEvent,
    between,
    check_range,
    too_many,
)
from server.record_types.calendars.times_of_day import DAY_SECONDS, MAX_LENGTH_DAYS
from server.record_types.parts import Record
from server.store.statements import in_list, slot
from server.store.tables import table_named
from server.store.transaction import Transaction

MAX_RECURRING = 1000  # recurring events in one search or query
EVENT, RECURRING = contexts.CALENDAR_EVENT, contexts.CALENDAR_EVENT_RECURRING


def occurrences(
    tx: Transaction, calendars: Iterable[Record], start: int, end: int, tz: tzinfo
) -> dict[int, list[Occurrence]]:
    """{calendar id: occurrences from `start` until before `end`}, with a list for each calendar.

    tz: the zone of recurring events if neither they nor their calendars name one. A calendar whose events are
    disabled has an empty list. Raises Invalid for a range that is too long, or too many events."""
    records = list(calendars)
    check_range(start, end)
    tx.store.require_thread()  # patterns are slow, and SQLite steps do not measure them
    zones = {
        each["id"]: times.zone(each["timezone"]) if each["timezone"] else tz
        for each in records
        if str(_params(each).get("manual_disabled", "0")) not in ("1", "True")
    }
    events, recurring = _events(tx, zones, start, end), _recurring(tx, zones, start, end)
    by_calendar: dict[int, list[Occurrence]] = {each["id"]: [] for each in records}
    for one in between(events, recurring, start, end):
        by_calendar[one.calendar_id].append(one)
    return by_calendar


def _params(record: Record) -> dict[str, Any]:
    return record["params"] if isinstance(record["params"], dict) else {}


def _events(tx: Transaction, zones: dict[int, tzinfo], start: int, end: int) -> list[Occurrence]:
    event: Any = table_named("calendar_event")
    rows = tx.rows(
        lambda: (
            event.select(
                event.c.date_start,
                event.c.date_end,
                event.c.is_available,
                event.c.name,
                event.c.calendar_id,
                event.c.id,
            )
            .where(
                in_list(event.c.calendar_id, slot(0)),
                event.c.date_start < slot(1),
                (event.c.date_end >= slot(2)) | (event.c.date_start >= slot(2)),
            )
            .limit(MAX_OCCURRENCES + 1)
        ),
        (json.dumps(sorted(zones)), end, start),
    )
    if len(rows) > MAX_OCCURRENCES:
        raise too_many()
    return [
        Occurrence(first, _after(first, last), bool(is_available), name, calendar_id, EVENT, id)
        for first, last, is_available, name, calendar_id, id in rows
    ]


def _after(start: int, last: int) -> int:
    """The second after the last one: an end of 16:59:59 and one of 17:00:00 are the same."""
    if last <= start:
        return start
    return last + 1 if last % 60 == 59 else last


def _recurring(tx: Transaction, zones: dict[int, tzinfo], start: int, end: int) -> list[RecurringEvent]:
    names = (
        "id",
        "calendar_id",
        "name",
        "is_available",
        "patterns",
        "event_start",
        "event_end",
        "tz",
        "recur_start",
        "recur_end",
    )
    event: Any = table_named("calendar_event_recurring")
    rows = tx.rows(
        lambda: (
            event.select(*(getattr(event.c, name) for name in names))
            .where(
                in_list(event.c.calendar_id, slot(0)),
                event.c.recur_start < slot(1),
                (event.c.recur_end == 0) | (event.c.recur_end >= slot(2)),
            )
            .limit(MAX_RECURRING + 1)
        ),
        (json.dumps(sorted(zones)), end, start - MAX_LENGTH_DAYS * DAY_SECONDS),
    )
    if len(rows) > MAX_RECURRING:
        raise too_many(MAX_RECURRING, "recurring events")
    return [_as_recurring(dict(zip(names, row, strict=True)), zones) for row in rows]


def _as_recurring(row: Record, zones: dict[int, tzinfo]) -> RecurringEvent:
    model = Occurrence(0, 0, bool(row["is_available"]), row["name"], row["calendar_id"], RECURRING, row["id"])
    return RecurringEvent(
        tuple(day_patterns.lines(row["patterns"])),
        row["event_start"],
        row["event_end"],
        times.zone(row["tz"]) if row["tz"] else zones[row["calendar_id"]],
        row["recur_start"],
        row["recur_end"],
        model,
    )
