"""Actions that create a file or a reminder, or compute elapsed time. The action names are prescribed; their parameters
are our own."""

from typing import Any

from server import times
from server.automation.behaviors.action import OBJECT, ActionCall, action
from server.records import records, stored_files
from server.template.shared.text_values import bytes_of


@action("core.va.action.create_attachment", "Store a file.", placeholder=OBJECT, effects=True)
def create_attachment(call: ActionCall) -> Any:
    """Returns the attachment. file_name; file_type: its media type; content; content_encoding: base64, or blank for
    text."""
    content = stored_files.decoded(bytes_of(call.text("content")), call.raw("content_encoding"))
    return stored_files.upload(call.run.ctx, call.text("file_name"), call.text("file_type"), content)


@action("core.bot.action.create_reminder", "Remind a worker at a time.", placeholder=OBJECT, effects=True)
def create_reminder(call: ActionCall) -> Any:
    """Returns the reminder. name; remind_at: a time in words; worker_id."""
    fields = {name: call.text(name) for name in ("name", "remind_at", "worker_id")}
    return records.create(call.run.ctx, "reminder", fields)


@action(
    "core.bot.action.calculate_time_elapsed",
    "Count the seconds between two times.",
    placeholder="placeholder",
    default="_elapsed",
)
def calculate_time_elapsed(call: ActionCall) -> Any:
    """date_from, date_to: times in words. calendar_id: counts only available times of this calendar."""
    ctx = call.run.ctx
    start, end = (times.instant(call.text(name), ctx.now, ctx.tz) for name in ("date_from", "date_to"))
    calendar = call.text("calendar_id").strip()
    if calendar in ("", "0"):
        return max(end - start, 0)
    return call.run.host.functions()["svc_calendar_time_elapsed"](calendar, start, end)
