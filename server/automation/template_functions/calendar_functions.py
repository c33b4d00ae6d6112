"""The template function for available time in calendars."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from server import times
from server.automation.template_functions import template_function
from server.errors import NotFound
from server.record_types.calendars.availability import free, seconds
from server.record_types.calendars.calendar_rows import occurrences
from server.store.transaction import Transaction
from server.template.values import whole

if TYPE_CHECKING:
    from server.automation.automation_service import ServiceHost


@template_function("svc_calendar_time_elapsed")
def svc_calendar_time_elapsed(host: "ServiceHost") -> Callable[..., int]:
    """Returns the available seconds of a calendar between two Unix times, 0 if the second is not later. Raises
    NotFound, Invalid for a range that is too long."""
    registry = host.ctx.service.registry

    def elapsed(calendar_id: Any, start: int, end: int) -> int:
        record_type = registry.type("calendar")

        def read(tx: Transaction) -> int:
            row = tx.get(record_type.table, whole(calendar_id))
            if row is None:
                raise NotFound(f"there is no calendar {whole(calendar_id)}", type="calendar", id=whole(calendar_id))
            calendar = record_type.record(row)
            times_by_id = occurrences(tx, [calendar], start, end, times.zone(host.zone))
            return seconds(free(times_by_id[calendar["id"]]), start, end)

        return host.ctx.service.store.read(read) if end > start else 0

    return elapsed
