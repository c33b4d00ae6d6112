"""Holidays of calendars."""

from typing import Any

from server.imports import holidays
from server.web.endpoint_call import EndpointCall
from server.web.openapi import shapes
from server.web.routes import Parameter, endpoint


@endpoint(
    "POST",
    "calendars/{id}/holidays",
    "Add days off to a calendar, as recurring events that are busy all day. Days that it has already stay as they are.",
    "write",
    Parameter(
        "days",
        "string",
        "A day a line, such as `2026-12-25 Christmas`, or `25 Dec Christmas` for every year; or an iCalendar file.",
        required=True,
    ),
    Parameter("is_yearly", "boolean", "1: days with a year repeat as well."),
    response=shapes.keys(
        calendar_id=shapes.ID, event_ids={"type": "array", "items": shapes.ID}, count=shapes.COUNT, known=shapes.COUNT
    ),
)
def add_holidays(call: EndpointCall) -> dict[str, Any]:
    added = holidays.add(
        call.ctx, call.id, call.params.text("days", required=True), is_yearly=call.params.flag("is_yearly")
    )
    return {"calendar_id": call.id, "event_ids": list(added.ids), "count": len(added.ids), "known": added.known}
