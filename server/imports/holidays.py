"""Adds and removes the holidays of a calendar, as its recurring events."""

from collections.abc import Iterable, Sequence

from server.context import Context
from server.dataclass import dataclass
from server.record_types.calendars import holidays
from server.record_types.calendars.holidays import Holiday
from server.records import records
from server.records.records import SearchRequest
from server.records.writing import RecordWriter
from server.store.transaction import Transaction

CALENDAR, EVENT = "calendar", "calendar_event_recurring"
MAX_LISTED = 250
PORTION = 50  # events in one transaction, for which other writes wait


@dataclass(frozen=True, slots=True)
class AddedHolidays:
    """ids: of the new events. known: number of days that the calendar had already."""

    ids: tuple[int, ...]
    known: int


def of_calendar(ctx: Context, calendar_id: int) -> dict[int, Holiday]:
    """Returns {id of the event: holiday} in order, of a calendar that the caller may read; the first ones of many."""
    found = records.search(ctx, EVENT, SearchRequest(f"calendar.id:{calendar_id} status:busy sort:id", MAX_LISTED))
    by_id = {each["id"]: holidays.of_event(each) for each in found["results"]}
    return dict(sorted(((id, one) for id, one in by_id.items() if one is not None), key=lambda pair: pair[1].place))


def add(ctx: Context, calendar_id: int, text: str, *, is_yearly: bool = False) -> AddedHolidays:
    """Adds the days of a list or an iCalendar file that the calendar does not have yet. is_yearly: whether days with a
    year repeat as well. Raises Invalid, Forbidden, NotFound."""
    records.require(ctx, CALENDAR, "update", calendar_id)
    sent = holidays.read(text, is_yearly=is_yearly)
    ids: list[int] = []
    for start in range(0, len(sent), PORTION):
        ids += _add(ctx, calendar_id, sent[start : start + PORTION])
    return AddedHolidays(tuple(ids), len(sent) - len(ids))


def remove(ctx: Context, calendar_id: int, ids: Iterable[int]) -> list[Holiday]:
    """Deletes holidays, and returns them. Raises Forbidden."""
    listed = of_calendar(ctx, calendar_id)
    removed = {id: listed[id] for id in ids if id in listed}

    def write(tx: Transaction) -> None:
        writing = RecordWriter(ctx, tx)
        for id in removed:
            writing.delete_sent(writing.registry.type(EVENT), id)

    ctx.service.store.write(write)
    return list(removed.values())


def _add(ctx: Context, calendar_id: int, portion: Sequence[Holiday]) -> list[int]:
    def write(tx: Transaction) -> list[int]:
        writing = RecordWriter(ctx, tx)
        record_type = writing.registry.type(EVENT)
        events = map(record_type.record, tx.find(record_type.table, calendar_id=calendar_id))
        known = {one.days for each in events if (one := holidays.of_event(each)) is not None}
        return [
            writing.create_sent(record_type, {name: str(value) for name, value in each.event(calendar_id).items()})
            for each in portion
            if each.days not in known
        ]

    return ctx.service.store.write(write)
