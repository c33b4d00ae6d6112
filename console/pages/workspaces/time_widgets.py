"""Draws clocks, countdowns and calendars."""

import re
from collections.abc import Mapping
from datetime import date, datetime, timedelta, tzinfo
from typing import Any

from markupsafe import Markup

from console.html import ui
from console.html.templates import fragment
from console.http.visit import Visit
from console.lists.lookup import found_at
from console.pages.start_figures import Tile
from console.pages.workspaces.drawing import Drawing, address_with, listed_type, rendered, rendered_search, text_param
from console.pages.workspaces.widget_kinds import WidgetKind
from server import locales, times
from server.dataclass import dataclass
from server.digits import is_whole
from server.errors import Invalid, nearest
from server.fields import Timestamp
from server.locales import MONTHS, WEEKDAYS
from server.queries.query_run import evaluate
from server.record_types.calendars.month import month_of
from server.record_types.record_type import RecordType
from server.record_types.shared import paths
from server.records import records
from server.records.records import LABEL, SearchRequest
from server.search.query_texts import sorted_query
from server.translation import _, shown

MAX_SHOWN = 4  # events of a day; a summary has the others
MAX_RECORDS = 500  # in a month
MONTH = "month"  # the parameter of the address with the shown month, followed by the id of the widget
_MONTH = re.compile(r"(20[0-9]{2}|19[7-9][0-9])-(0[1-9]|1[0-2])")
_TWELVE_HOURS, _24_HOURS = "0", "1"  # values of the parameter `format` of a clock

Widget = Mapping[str, Any]


# -- clocks ------------------------------------------------------------------------------------------------------------


def clock(visit: Visit, kind: WidgetKind, widget: Widget, drawing: Drawing) -> tuple[Markup, bool]:
    """The time of the server in the zone of the widget, else in that of the worker. Scripts keep it current.
    Raises Invalid for an unknown zone."""
    name = rendered(visit, text_param(widget, "timezone"), drawing)
    try:
        zone = times.zone(name) if name else visit.ctx.tz
    except Invalid as error:
        raise Invalid(error.message, field="timezone") from error
    at = datetime.fromtimestamp(visit.now, zone)
    usual = _24_HOURS if not locales.of(visit.language).has_noon else _TWELVE_HOURS
    has_noon = (text_param(widget, "format") or usual) == _TWELVE_HOURS
    html = fragment(
        "parts/widget_clock.html",
        visit=visit,
        at=visit.now,
        zone=str(zone),
        has_noon=has_noon,
        time=locales.of(visit.language).clock(at, has_noon),
        day=ui.day(visit, at.date())[0],
    )
    return Markup(html), False


def countdown(visit: Visit, kind: WidgetKind, widget: Widget, drawing: Drawing) -> tuple[Markup, bool]:
    """How long it is until a time. Raises Invalid for one that cannot be read."""
    text = text_param(widget, "target_timestamp")
    if not text:
        raise Invalid(_("the widget has no time to count down to"), field="target")
    try:
        at = times.instant(text, visit.now, visit.ctx.tz)
    except Invalid as error:
        raise Invalid(error.message, field="target") from error
    seconds = at - visit.now
    value = ui.short_duration(seconds) if seconds > 0 else _("Over")
    return ui.tiles([Tile(str(widget["label"]), "clock", value, "", ui.moment(visit, at))]), True


# -- calendars ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CalendarEntry:
    """An event on a day. time: when it begins, "" for the whole day or for one that began earlier."""

    label: str
    time: str
    path: str
    is_free: bool = False


@dataclass(frozen=True)
class CalendarDay:
    """A day. label: with its weekday and month."""

    number: int
    label: str
    is_today: bool
    is_other: bool
    entries: list[CalendarEntry]

    @property
    def first(self) -> list[CalendarEntry]:
        """Those that are shown at once: all of them rather than all but one."""
        return self.entries if len(self.entries) <= MAX_SHOWN + 1 else self.entries[:MAX_SHOWN]


def calendar(visit: Visit, kind: WidgetKind, widget: Widget, drawing: Drawing) -> tuple[Markup, bool]:
    """A month of a calendar, or of records by one of their dates. Raises NotFound, Forbidden, Invalid, BadQuery."""
    id, context = rendered(visit, text_param(widget, "calendar_id"), drawing).strip(), text_param(widget, "context")
    has_calendar = is_whole(id, 12) and int(id) > 0  # 0 is what a worker without one has
    zone, begins_monday, path = visit.ctx.tz, locales.of(visit.language).order != "mdy", ""
    if has_calendar:
        record = records.retrieve(visit.ctx, "calendar", int(id), "scope")
        zone = times.zone(record["scope"]["timezone"])
        begins_monday |= datetime.fromtimestamp(record["scope"]["date_range_from"], zone).weekday() == 0
        path = paths.record("calendar", int(id))
    elif not context:
        raise Invalid(_("the widget has no calendar"), field="calendar")
    name = f"{MONTH}{widget['id']}"
    today = datetime.fromtimestamp(visit.now, zone).date()
    match = _MONTH.fullmatch(visit.query.text(name, ""))
    first = date(int(match[1]), int(match[2]), 1) if match else today.replace(day=1)
    month = month_of(int(datetime(first.year, first.month, 2, tzinfo=zone).timestamp()), zone, begins_monday)
    weeks = [[datetime.fromtimestamp(at, zone).date() for at, _day, _is_other in week] for week in month.weeks]
    edges = (weeks[0][0], weeks[-1][-1])
    if has_calendar:
        entries = _events(visit, int(id), edges, zone, drawing)
    else:
        entries, path = _dated_records(visit, widget, context, edges, zone, drawing)
    days = [
        CalendarDay(day.day, ui.day(visit, day)[0], day == today, day.month != first.month, entries.get(day, []))
        for week in weeks
        for day in week
    ]
    before, after = first - timedelta(days=1), (first + timedelta(days=31)).replace(day=1)
    html = fragment(
        "parts/widget_calendar.html",
        visit=visit,
        id=widget["id"],
        label=str(widget["label"]),
        title=_month_name(first),
        weekdays=[shown(WEEKDAYS[day.weekday()]) for day in weeks[0]],
        days=days,
        zone=str(zone) if zone != visit.ctx.tz else "",
        path=path,
        is_calendar=has_calendar,
        steps=[
            (_address(visit, name, each, widget), _month_name(each), sign)
            for each, sign in ((before, "←"), (after, "→"))
        ],
        current="" if first == today.replace(day=1) else _address(visit, name, None, widget),
        has_entries=any(each.entries for each in days),
        most=MAX_SHOWN,
    )
    return Markup(html), False


def _month_name(day: date) -> str:
    return f"{shown(MONTHS[day.month - 1])} {day.year}"


def _address(visit: Visit, name: str, day: date | None, widget: Widget) -> str:
    return f"{address_with(visit, name, f'{day:%Y-%m}' if day else '')}#widget{widget['id']}"


def _events(
    visit: Visit, id: int, edges: tuple[date, date], zone: tzinfo, drawing: Drawing
) -> dict[date, list[CalendarEntry]]:
    """The events of a calendar by day."""
    q = f'type:calendar.events calendar:(id:{id}) from:"{edges[0]}" to:"{edges[1]}" timezone:"{zone}"'
    days = evaluate(visit.ctx, q, {}, drawing.left)["data"]["events"]
    return {
        datetime.fromtimestamp(int(midnight), zone).date(): [
            _event(visit, each, int(midnight), zone) for each in events
        ]
        for midnight, events in days.items()
    }


def _event(visit: Visit, event: Mapping[str, Any], midnight: int, zone: tzinfo) -> CalendarEntry:
    record_type = visit.service.registry.find(str(event["record__context"]))
    path = paths.record(record_type.uri, int(event["record_id"])) if record_type is not None else ""
    begins = "" if event["ts"] == midnight else _clock(visit, event["ts"], zone)
    return CalendarEntry(str(event["label"]), begins, path, bool(event["is_available"]))


def _clock(visit: Visit, at: int, zone: tzinfo) -> str:
    return locales.of(visit.language).clock(datetime.fromtimestamp(at, zone))


def _dated_records(
    visit: Visit, widget: Widget, context: str, edges: tuple[date, date], zone: tzinfo, drawing: Drawing
) -> tuple[dict[date, list[CalendarEntry]], str]:
    """The records that a search finds, by the day of one of their dates, and the path of their list."""
    record_type = listed_type(visit, context)
    key, filter = _date_field(record_type, text_param(widget, "date_field"))
    query = rendered_search(visit, widget, drawing)
    q = sorted_query(
        "", filter, f"({query})" if " OR " in query else query, f'{filter}:"{edges[0]} to {edges[1]} 23:59:59"'
    )
    found = records.search(visit.ctx, record_type.uri, SearchRequest(q, MAX_RECORDS, 1, LABEL, seconds=drawing.left))
    entries: dict[date, list[CalendarEntry]] = {}
    is_tickets = record_type.uri == "ticket"
    for row in found["results"]:
        at = datetime.fromtimestamp(int(row[key]), zone)
        path = paths.ticket(row["mask"]) if is_tickets else paths.record(record_type.uri, row["id"])
        label = str(row["subject"] if is_tickets else row[LABEL])
        entries.setdefault(at.date(), []).append(CalendarEntry(label, _clock(visit, int(row[key]), zone), path))
    return entries, found_at(record_type.uri, query)


def _date_field(record_type: RecordType, name: str) -> tuple[str, str]:
    """The key and the filter of a date of records, by either. Raises Invalid."""
    dates = {key: each.filter or key for key, each in record_type.fields.items() if isinstance(each, Timestamp)}
    for key, filter in dates.items():
        if name in (key, filter):
            return key, filter
    raise Invalid(
        _("{name} is not a date{nearest}", name=f"'{name[:60]}'", nearest=nearest(name, [*dates.values()])),
        field="date",
    )
