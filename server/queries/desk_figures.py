"""How the desk performs: tickets and messages by day, open tickets by age, response times. Counted by data queries and
searches that anybody can send as well, so limited to what the caller may read."""

from collections.abc import Iterator
from datetime import date, datetime, timedelta

from server.context import Context
from server.dataclass import dataclass
from server.errors import BadDataQuery, TimedOut
from server.queries import query_run
from server.records import records
from server.records.records import SearchRequest
from server.store.store_local import TooSlow
from server.translation import N_, Words, _, shown

DAYS = 30
_PER_DAY = (
    'type:worklist.subtotals of:{of} by:[{field}@day] query:({field}:"{since} to now"{more}) '
    "format:timeseries timeout:300"
)
# Title, and its series: label, record type, field with the time, and further terms of the search.
DAILY = (
    (N_("Tickets per day"), ((N_("Created"), "ticket", "created", ""), (N_("Closed"), "ticket", "closed", ""))),
    (
        N_("Messages per day"),
        (
            (N_("Received"), "message", "created", " isOutgoing:no"),
            (N_("Sent"), "message", "created", " isOutgoing:yes"),
        ),
    ),
)
# Age of open tickets: name, the first and the last day, counted back from today.
_AGES = (
    (N_("Today"), 0, 0),
    (N_("1 to 3 days"), 3, 1),
    (N_("4 to 7 days"), 7, 4),
    (N_("1 to 4 weeks"), 28, 8),
    (N_("Older"), 36500, 29),
)
TIMES_TITLE = N_("Response times")
# Name, the key of a ticket with the seconds, and the filter that sorts by it.
_TIMES = (
    (N_("First response"), "elapsed_response_first", "response.first"),
    (N_("Resolution"), "elapsed_resolution_first", "resolution.first"),
)
_SHARES = ((0.5, N_("median")), (0.9, N_("90 %")))
_TOO_SLOW = TooSlow()  # titles


@dataclass(frozen=True)
class DailyCounts:
    """Records by day. series: (label, number of each day)."""

    title: Words
    days: list[str]
    series: list[tuple[Words, list[int]]]


@dataclass(frozen=True)
class TicketFigure:
    """A figure about tickets. query: the search that finds them."""

    label: Words
    value: int
    query: str


def queries(ctx: Context) -> list[str]:
    """Returns the data queries of all daily counts."""
    since = _days(ctx)[0]
    return [_query(since, *terms) for _title, series in DAILY for _label, *terms in series]


def daily(ctx: Context) -> Iterator[DailyCounts]:
    """Yields the daily counts of the last DAYS. One that takes too long is left out, and not tried again soon."""
    days, store = _days(ctx), ctx.service.store
    for title, series in DAILY:
        if _TOO_SLOW.has(store, title, ctx.now):
            continue
        try:
            yield DailyCounts(title, days, [(label, _per_day(ctx, days, *terms)) for label, *terms in series])
        except BadDataQuery:  # there are too many to be counted in passing
            _TOO_SLOW.add(store, title, ctx.now)


def ages(ctx: Context) -> list[TicketFigure]:
    """Returns how many tickets are open for how long."""
    searches = [(name, f'status:open created:"{_span(ctx, first, last)}"') for name, first, last in _AGES]
    return [TicketFigure(name, records.count(ctx, "ticket", q), q) for name, q in searches]


def times(ctx: Context) -> list[TicketFigure]:
    """Returns the seconds until the first response and the resolution of the tickets of the last DAYS; none if there
    are no such tickets, or if counting them took too long."""
    store = ctx.service.store
    if _TOO_SLOW.has(store, TIMES_TITLE, ctx.now):
        return []
    try:
        return list(_times(ctx))
    except TimedOut:
        _TOO_SLOW.add(store, TIMES_TITLE, ctx.now)
        return []


def _times(ctx: Context) -> Iterator[TicketFigure]:
    for name, key, sort in _TIMES:
        q = f'created:"{_days(ctx)[0]} to now" {sort}:>0 sort:{sort}'
        total = records.count(ctx, "ticket", q)
        for share, label in _SHARES if total else ():
            place = max(1, round(total * share))
            tickets = records.search(ctx, "ticket", SearchRequest(q, 1, place))["results"]
            if tickets:
                text = _("{what}, {share}", what=shown(name), share=shown(label))
                yield TicketFigure(text, int(tickets[0][key]), q)


def _days(ctx: Context) -> list[str]:
    """The last DAYS as they are written in responses of the API: 2026-03-01."""
    return [(_today(ctx) - timedelta(days=back)).isoformat() for back in range(DAYS - 1, -1, -1)]


def _today(ctx: Context) -> date:
    return datetime.fromtimestamp(ctx.now, ctx.tz).date()


def _query(since: str, of: str, field: str, more: str) -> str:
    return _PER_DAY.format(of=of, field=field, since=since, more=more)


def _per_day(ctx: Context, days: list[str], of: str, field: str, more: str) -> list[int]:
    data = query_run.evaluate(ctx, _query(days[0], of, field, more))["data"]
    counts = dict(zip(data.get("ts", ()), data.get("count", ()), strict=False))
    return [int(counts.get(each) or 0) for each in days]


def _span(ctx: Context, first: int, last: int) -> str:
    begins, ends = (_today(ctx) - timedelta(days=back) for back in (first, last))
    return f"{begins.isoformat()} to {ends.isoformat()} 23:59:59"
