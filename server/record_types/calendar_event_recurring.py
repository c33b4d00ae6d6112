"""Recurring calendar events: they take place on the days of their patterns, such as weekdays from 9am to 5pm."""

from server import contexts
from server.errors import Invalid
from server.fields import Bit, Id, Name, Text, Timestamp
from server.record_types.calendars import day_patterns, times_of_day
from server.record_types.calendars.availability_filter import STATUS
from server.record_types.record_type import Access, Change, Event, RecordType, Subtotals, Writing
from server.record_types.traits import Comments, CustomFields, Links, Search, Watchers
from server.store.tables import Index
from server.translation import about_field, lazy_gettext

MAX_TEXT_CHARS = 16384  # characters of all patterns together


class CalendarEventRecurring(RecordType):
    """An event on each day that its patterns name, from one time of day to another."""

    uri, context = "calendar_event_recurring", contexts.CALENDAR_EVENT_RECURRING
    aliases = (
        "calendar_recurring_event",
        "calendar_recurring_events",
        "calendar_events_recurring",
        "calendar recurring event",
        "recurring event",
        "recurring events",
    )
    label_names = ("Calendar Recurring Event", "Calendar Recurring Events")
    tier = 3
    traits = (Comments(), CustomFields(), Links(), Watchers(), Search())
    access = Access(read="calendar", write=("privilege", "calendar"))
    bumps = {"service_targets": ()}  # events can be the hours of a service target
    fields = {
        "calendar_id": Id(
            "Calendar it is on.",
            "calendar",
            required=True,
            filter_note="On a calendar by id.",
            deep="On a matching calendar.",
        ),
        "event_end": Text(
            "Time of day at which it ends, or how long it takes: 5pm, 17:00, 8 hours. Not later than the start is the "
            "next day; blank the end of the day.",
            128,
            filter=None,
        ),
        "event_start": Text("Time of day at which it begins, such as 9am or 09:00; blank midnight.", 128, filter=None),
        "is_available": Bit("1 available, 0 busy.", filter=None),
        "name": Name(),
        "patterns": Text(
            f"Days on which it takes place, a pattern a line, at most {day_patterns.MAX_PATTERNS}: weekdays; mon, wed; "
            "1st, 15th; first monday of; last day of; december 25; 2026-12-25. Lines that begin with # do not count.",
            MAX_TEXT_CHARS,
            required=True,
            filter=None,
        ),
        "recur_end": Timestamp("No occurrence begins after this; 0 for no end.", filter=None),
        "recur_start": Timestamp("No occurrence begins before this; 0 for no limit.", filter=None),
        "tz": Text(
            "IANA time zone of its times; blank for the calendar's.",
            128,
            form="timezone",
            filter="timezone",
            filter_note="IANA time zone of its times; null for none.",
            match="exact",
        ),
    }
    indexes = (Index(("calendar_id",), "what is on calendars"),)
    filters = (STATUS,)
    subtotals = Subtotals(
        search=("calendar.id", "fieldset", "links", "status", "timezone", "watchers"),
        aliases={"calendar": "calendar.id"},
    )
    events = (Event("calendar_event_recurring.created", "created; the target of the entry is the calendar"),)

    def prepare(self, change: Change, writing: Writing) -> None:
        if change.is_create or change.changes("patterns"):
            try:
                day_patterns.check(change.value("patterns"))
            except Invalid as error:
                raise Invalid(f"patterns: {error.message}", field="patterns") from error
        times_of_day.seconds_between(change.value("event_start"), change.value("event_end"))
        end = change.value("recur_end")
        if end and end < change.value("recur_start"):
            raise Invalid(
                about_field("recur_end", lazy_gettext("must not be before {field}", field="recur_start")),
                field="recur_end",
            )

    def after_write(self, change: Change, writing: Writing) -> None:
        if change.is_create:
            calendar_id = change.value("calendar_id")
            names = {"event": change.value("name"), "target": writing.label("calendar", calendar_id)}
            writing.log("calendar_event_recurring.created", contexts.CALENDAR, calendar_id, names)
