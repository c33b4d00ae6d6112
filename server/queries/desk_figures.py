"""How the desk and a worker perform: today beside a normal day, tickets and messages by day, open tickets by age and
owner, response times. Counted by data queries and searches that anybody can send as well, so limited to what the caller
may read."""

import statistics
from collections.abc import Callable, Iterator
from datetime import date, datetime, timedelta
from functools import partial
from typing import TypeVar

from server.context import Context
from server.dataclass import dataclass
from server.errors import BadDataQuery, TimedOut
from server.queries import query_run
from server.records import records
from server.records.records import SearchRequest
from server.store.store_local import TooSlow
from server.translation import N_, Words, _, shown

DAYS = 30
WEEKS, MIN_WEEKS = 8, 3  # compared days of the same weekday, and how many of them show what is normal
MAX_OWNERS = 12  # owners whose open tickets are shown
_PER_DAY = (
    'type:worklist.subtotals of:{of} by:[{field}@day] query:({field}:"{since} to now"{more}) '
    "format:timeseries timeout:300"
)
# What is counted: label, record type, field with the time, and further terms of the search.
Counted = tuple[Words, str, str, str]
_OWN = " actor.worker:(id:{me}) activity:ticket."
TODAY: tuple[Counted, ...] = (
    (N_("New today"), "ticket", "created", ""),
    (N_("Closed today"), "ticket", "closed", ""),
)
OWN_TODAY: tuple[Counted, ...] = (
    (N_("Replies today"), "activity_log", "created", _OWN + "message.outbound"),
    (N_("Closed today"), "activity_log", "created", _OWN + "status.closed"),
)
# Charts: title and series.
OWN_DAILY: tuple[tuple[Words, tuple[Counted, ...]], ...] = (
    (
        N_("Your work per day"),
        ((N_("Replies"), *OWN_TODAY[0][1:]), (N_("Closed"), *OWN_TODAY[1][1:])),
    ),
)
DAILY: tuple[tuple[Words, tuple[Counted, ...]], ...] = (
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
Result = TypeVar("Result")


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


@dataclass(frozen=True)
class DayFigure:
    """A count of today. usual: that of a normal day until the same time, None if it is not known. query: the search
    that finds the records of today."""

    label: Words
    value: int
    usual: int | None
    query: str


def queries(ctx: Context) -> list[str]:
    """Returns the data queries of all daily counts of the desk."""
    since = _days(ctx)[0]
    return [_query(ctx, since, *terms) for _title, series in DAILY for _label, *terms in series]


def today(ctx: Context, counted: tuple[Counted, ...]) -> list[DayFigure]:
    """Returns the counts of today, each with the median of the same weekday in the last WEEKS, until the same time of
    day. One that takes too long is left out, and not tried again soon."""
    days = [(_today(ctx) - timedelta(weeks=back)).isoformat() for back in range(WEEKS, -1, -1)]
    time = f"{datetime.fromtimestamp(ctx.now, ctx.tz):%H:%M:%S}"
    spans = [f'"{day} to {day} {time}"' for day in days]
    figures = []
    for label, uri, field, more in counted:
        within = f" {field}:[{','.join(spans)}]{more}"
        counts = _unless_slow(ctx, f"{label} {uri}", partial(_per_day, ctx, days, uri, field, within))
        if counts is not None:
            query = f"{field}:{spans[-1]}{more.format(me=ctx.actor.worker_id)}"
            figures.append(DayFigure(label, counts[-1], _normal(counts[:-1]), query))
    return figures


def _normal(counts: list[int]) -> int | None:
    """Returns the median, without the days before the first record; None of too few days."""
    began = next((place for place, count in enumerate(counts) if count), len(counts))
    return round(statistics.median(counts[began:])) if len(counts) - began >= MIN_WEEKS else None


def daily(ctx: Context, charts: tuple[tuple[Words, tuple[Counted, ...]], ...] = DAILY) -> Iterator[DailyCounts]:
    """Yields the daily counts of the last DAYS. One that takes too long is left out, and not tried again soon."""
    days = _days(ctx)
    for title, series in charts:
        counts = _unless_slow(ctx, title, partial(_series, ctx, days, series))
        if counts is not None:
            yield DailyCounts(title, days, counts)


def _series(ctx: Context, days: list[str], series: tuple[Counted, ...]) -> list[tuple[Words, list[int]]]:
    return [(label, _per_day(ctx, days, *terms)) for label, *terms in series]


def owners(ctx: Context) -> list[TicketFigure]:
    """Returns the number of open tickets of each worker, of those with the most."""
    q = "status:open owner.id:any"
    counted = records.search(ctx, "ticket", SearchRequest(q, 1, subtotals=("owner.id",)))["subtotals"]["owner.id"]
    rows = [(str(each["label"]), each["hits"], each["key"]) for each in counted[:MAX_OWNERS]]
    return [TicketFigure(label, hits, f"status:open owner.id:{key}") for label, hits, key in rows]


def first_response(ctx: Context) -> TicketFigure | None:
    """Returns the median time of the first responses that were sent today; None without one."""
    since = f'"{_today(ctx).isoformat()} to now"'
    q = f"updated:{since} messages.firstOutgoing:(created:{since})"  # a response is the newest activity of its ticket
    found = _unless_slow(ctx, _TIMES[0][1], lambda: list(_quantiles(ctx, _TIMES[0], q, _SHARES[:1])))
    return found[0] if found else None


def ages(ctx: Context) -> list[TicketFigure]:
    """Returns how many tickets are open for how long."""
    searches = [(name, f'status:open created:"{_span(ctx, first, last)}"') for name, first, last in _AGES]
    return [TicketFigure(name, records.count(ctx, "ticket", q), q) for name, q in searches]


def times(ctx: Context) -> list[TicketFigure]:
    """Returns the seconds until the first response and the resolution of the tickets of the last DAYS; none if there
    are no such tickets, or if counting them took too long."""
    q = f'created:"{_days(ctx)[0]} to now"'
    figures = _unless_slow(
        ctx, TIMES_TITLE, lambda: [figure for each in _TIMES for figure in _quantiles(ctx, each, q, _SHARES)]
    )
    return figures or []


def _quantiles(
    ctx: Context, time: tuple[Words, str, str], q: str, shares: tuple[tuple[float, Words], ...]
) -> Iterator[TicketFigure]:
    """Yields a time of the tickets that a search finds, at some shares of them."""
    name, key, sort = time
    q += f" {sort}:>0 sort:{sort}"
    total = records.count(ctx, "ticket", q)
    for share, label in shares if total else ():
        tickets = records.search(ctx, "ticket", SearchRequest(q, 1, max(1, round(total * share))))["results"]
        if tickets:
            text = _("{what}, {share}", what=shown(name), share=shown(label))
            yield TicketFigure(text, int(tickets[0][key]), q)


def _unless_slow(ctx: Context, title: str, count: Callable[[], Result]) -> Result | None:
    """Returns the result of counting; None if it takes too long, or did a short time ago."""
    store = ctx.service.store
    if _TOO_SLOW.has(store, title, ctx.now):
        return None
    try:
        return count()
    except (BadDataQuery, TimedOut):  # there are too many to be counted in passing
        _TOO_SLOW.add(store, title, ctx.now)
        return None


def _days(ctx: Context) -> list[str]:
    """The last DAYS as they are written in responses of the API: 2026-03-01."""
    return [(_today(ctx) - timedelta(days=back)).isoformat() for back in range(DAYS - 1, -1, -1)]


def _today(ctx: Context) -> date:
    return datetime.fromtimestamp(ctx.now, ctx.tz).date()


def _query(ctx: Context, since: str, of: str, field: str, more: str) -> str:
    return _PER_DAY.format(of=of, field=field, since=since, more=more.format(me=ctx.actor.worker_id))


def _per_day(ctx: Context, days: list[str], of: str, field: str, more: str) -> list[int]:
    data = query_run.evaluate(ctx, _query(ctx, days[0], of, field, more))["data"]
    counts = dict(zip(data.get("ts", ()), data.get("count", ()), strict=False))
    return [int(counts.get(each) or 0) for each in days]


def _span(ctx: Context, first: int, last: int) -> str:
    begins, ends = (_today(ctx) - timedelta(days=back) for back in (first, last))
    return f"{begins.isoformat()} to {ends.isoformat()} 23:59:59"
