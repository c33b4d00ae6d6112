"""Calendars: events, and the availability of workers. Events are the types calendar_event and calendar_event_recurring;
calendars/ computes occurrences and availability."""

import re
from typing import Any

from server.errors import Conflict, Invalid
from server.fields import Name, Structure, Text, UpdatedAt
from server.record_types.calendars.calendar_expands import EXPANDS
from server.record_types.record_type import Access, Change, Event, Record, RecordType, Subtotals, Writing
from server.record_types.shared import record_owners
from server.record_types.shared.dangling_references import redirect
from server.record_types.traits import Comments, CustomFields, Links, Search, Watchers
from server.search.filters import DeepFilter, HasMany
from server.store.statements import slot
from server.store.tables import Index, table_named
from server.store.transaction import Transaction

MAX_EVENTS_GONE = 2000  # events deleted with a calendar; more would block the writer too long
EVENTS = ("calendar_event", "calendar_event_recurring")
COLORS = ("color_available", "color_busy")
FLAGS = ("hide_start_time", "manual_disabled", "start_on_mon", "sync_enabled")
_COLOR = re.compile(r"#[0-9A-Fa-f]{6}\Z")


class Calendar(RecordType):
    """A calendar of the service, a group, a role or a worker. Workers can name one as the calendar of their
    availability."""

    uri = "calendar"
    tier = 3
    traits = (Comments(), CustomFields(), Links(), Watchers(), Search())
    access = Access(read="owner", write=("privilege", "owner"))
    bumps = {"service_targets": ()}  # calendars can be the hours of a service target
    fields = {
        "name": Name(),
        **record_owners.fields(required=False),
        "params": Structure(
            "Settings: color_available and color_busy as #rrggbb; hide_start_time, manual_disabled (its events do not "
            "count), start_on_mon and sync_enabled as 0 or 1; series, a list. Never returned.",
            16777215,
            shown=False,
        ),
        "timezone": Text(
            "IANA time zone of its days; blank for the viewer's.",
            128,
            form="timezone",
            filter_note="IANA time zone of its days; null for none.",
        ),
        "updated_at": UpdatedAt(),
    }
    indexes = (Index(("owner__context", "owner_id"), "what somebody owns"),)
    expands = EXPANDS
    filters = (
        DeepFilter(
            "workerAvailability",
            "A matching worker's availability is read from it.",
            "worker",
            HasMany("worker", "calendar_id"),
        ),
    )
    subtotals = Subtotals(search=("fieldset", "links", "owner", "watchers"), virtual=("owner",))
    events = (
        Event("calendar_event.created", "an event was put on it"),
        Event("calendar_event_recurring.created", "a recurring event was put on it"),
    )

    def privileged(self, change: Change, writing: Writing) -> None:
        record_owners.require(change, writing)

    def prepare(self, change: Change, writing: Writing) -> None:
        record_owners.check(change, writing)
        if "params" in change.new:
            change.new["params"] = _settings(change.new["params"])

    def check_delete(self, record: Record, writing: Writing) -> None:
        count = sum(len(_event_ids(writing.tx, uri, record["id"])) for uri in EVENTS)
        if count > MAX_EVENTS_GONE:
            raise Conflict(f"more than {MAX_EVENTS_GONE} events are on this calendar; delete the older ones first")

    def after_delete(self, record: Record, writing: Writing) -> None:
        for uri in EVENTS:
            for id in _event_ids(writing.tx, uri, record["id"]):
                writing.delete(uri, id)
        redirect(writing, "worker", "calendar_id", record["id"])


def _event_ids(tx: Transaction, uri: str, calendar_id: int) -> list[int]:
    event: Any = table_named(uri)
    rows = tx.rows(
        lambda: event.select(event.c.id).where(event.c.calendar_id == slot(0)).limit(slot(1)),
        (calendar_id, MAX_EVENTS_GONE + 1),
    )
    return [row[0] for row in rows]


def _settings(params: Any) -> dict[str, Any]:
    """Returns the checked settings; numeric texts of forms become numbers. Raises Invalid naming the setting."""
    if not isinstance(params, dict):
        if params == []:
            return {}
        raise Invalid("params: must be a map", field="params")
    settings = dict(params)
    for name in COLORS:
        if name in settings and not (isinstance(settings[name], str) and _COLOR.match(settings[name])):
            raise Invalid(f"params: {name} must be a colour such as #A0D95B", field="params")
    for name in FLAGS:
        if name in settings:
            if str(settings[name]) not in ("0", "1", "True", "False"):
                raise Invalid(f"params: {name} must be 0 or 1", field="params")
            settings[name] = int(str(settings[name]) in ("1", "True"))
    if "series" in settings and not isinstance(settings["series"], (list, dict)):
        raise Invalid("params: series must be a list", field="params")
    return settings
