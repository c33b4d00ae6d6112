"""Calendar events with one start and one end. Recurring events are calendar_event_recurring."""

from server import contexts
from server.errors import Invalid
from server.fields import Bit, Id, Name, Timestamp
from server.record_types.calendars.availability_filter import STATUS
from server.record_types.record_type import Access, Change, Event, RecordType, Subtotals, Writing
from server.record_types.traits import Comments, CustomFields, Links, Search, Watchers
from server.store.tables import Index
from server.translation import about_field, lazy_gettext


class CalendarEvent(RecordType):
    """An event: available or busy from its start until its end; without an end it is a moment."""

    uri = "calendar_event"
    aliases = ("calendar event", "calendar events", "event", "events")
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
        "date_end": Timestamp(
            "End; 0 for a moment, else not before the start.", filter="endDate", filter_note="End; never for a moment."
        ),
        "date_start": Timestamp("Start.", required=True, filter="startDate"),
        "is_available": Bit("1 available, 0 busy.", filter=None),
        "name": Name(),
    }
    indexes = (Index(("calendar_id", "date_start", "date_end"), "what is on calendars between two instants"),)
    filters = (STATUS,)
    subtotals = Subtotals(search=("calendar.id", "fieldset", "links", "status"), aliases={"calendar": "calendar.id"})
    events = (Event("calendar_event.created", "created; the target of the entry is the calendar"),)

    def prepare(self, change: Change, writing: Writing) -> None:
        if not change.value("date_start"):
            raise Invalid("date_start: must be a date", field="date_start")
        end = change.value("date_end")
        if end and end < change.value("date_start"):
            raise Invalid(
                about_field("date_end", lazy_gettext("must not be before {field}", field="date_start")),
                field="date_end",
            )

    def after_write(self, change: Change, writing: Writing) -> None:
        if change.is_create:
            calendar_id = change.value("calendar_id")
            names = {"event": change.value("name"), "target": writing.label("calendar", calendar_id)}
            writing.log("calendar_event.created", contexts.CALENDAR, calendar_id, names)
