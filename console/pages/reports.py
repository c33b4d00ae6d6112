"""The charts of the start page: how the desk performs, by data queries that anybody can send as well."""

from datetime import date, datetime, timedelta

from markupsafe import Markup

from console.html import charts
from console.html.charts import Series
from console.html.ui import duration
from console.http.visit import Visit
from console.lists import lookup
from server.errors import BadDataQuery, TimedOut
from server.queries import query_run
from server.records import records
from server.records.records import SearchRequest
from server.store.store_local import StoreLocal
from server.translation import N_, _, shown

DAYS = 30
PER_DAY = (
    'type:worklist.subtotals of:{of} by:[{field}@day] query:({field}:"{since} to now"{more}) '
    "format:timeseries timeout:300"
)
# Title of a picture, and its series: label, record type, field with the time, and what else is asked.
PICTURES = (
    (N_("Tickets per day"), ((N_("Created"), "ticket", "created", ""), (N_("Closed"), "ticket", "closed", ""))),
    (
        N_("Messages per day"),
        (
            (N_("Received"), "message", "created", " isOutgoing:no"),
            (N_("Sent"), "message", "created", " isOutgoing:yes"),
        ),
    ),
)
# Since how many days tickets are open: name, the first and the last day, counted back from today.
AGES = (
    (N_("Today"), 0, 0),
    (N_("1 to 3 days"), 3, 1),
    (N_("4 to 7 days"), 7, 4),
    (N_("1 to 4 weeks"), 28, 8),
    (N_("Older"), 36500, 29),
)
TIMES_TITLE = N_("Response times")
# What took how long: its name, the key of a ticket, and the filter that sorts by it.
TIMES = (
    (N_("First response"), "elapsed_response_first", "response.first"),
    (N_("Resolution"), "elapsed_resolution_first", "resolution.first"),
)
SHARES = ((0.5, N_("median")), (0.9, N_("90 %")))
SLOW_SECONDS = 600
TOO_SLOW: StoreLocal[dict[str, int]] = StoreLocal()  # {title: until when it is not tried again, Unix seconds}


def queries(visit: Visit) -> list[str]:
    """The data queries of all series, to be shown."""
    since = _places(visit)[0]
    return [_query(since, *terms) for _, series in PICTURES for _, *terms in series]


def pictures(visit: Visit) -> list[Markup]:
    """The charts, limited to what the caller may read. A chart that takes too long is left out, and not tried again
    soon."""
    places, charts_of_page = _places(visit), []
    slow = TOO_SLOW.made(visit.service.store, dict)
    for title, series in PICTURES:
        if slow.get(title, 0) > visit.now:
            continue
        try:
            counted = [Series(label, _per_day(visit, places, *terms)) for label, *terms in series]
        except BadDataQuery:  # there are too many to be counted in passing
            slow[title] = visit.now + SLOW_SECONDS
            continue
        charts_of_page.append(charts.columns(title, places, counted))
    charts_of_page.append(_ages(visit))
    if slow.get(TIMES_TITLE, 0) <= visit.now:
        try:
            charts_of_page += _times(visit)
        except TimedOut:
            slow[TIMES_TITLE] = visit.now + SLOW_SECONDS
    return charts_of_page


def _places(visit: Visit) -> list[str]:
    return charts.days(_today(visit), DAYS)


def _today(visit: Visit) -> date:
    return datetime.fromtimestamp(visit.now, visit.ctx.tz).date()


def _query(since: str, of: str, field: str, more: str) -> str:
    return PER_DAY.format(of=of, field=field, since=since, more=more)


def _per_day(visit: Visit, places: list[str], of: str, field: str, more: str) -> list[int]:
    data = query_run.evaluate(visit.ctx, _query(places[0], of, field, more))["data"]
    counts = dict(zip(data.get("ts", ()), data.get("count", ()), strict=False))
    return [int(counts.get(each) or 0) for each in places]


def _ages(visit: Visit) -> Markup:
    queries_by_age = [(name, f'status:open created:"{_span(visit, first, last)}"') for name, first, last in AGES]
    rows = [(name, lookup.count(visit, "ticket", q), lookup.found_at("ticket", q)) for name, q in queries_by_age]
    return charts.rows(N_("Open tickets by age"), rows)


def _times(visit: Visit) -> list[Markup]:
    """The times until the first response and the resolution of tickets created in these days; none if there are no such
    tickets."""
    rows: list[tuple[str, int, str]] = []
    for name, of, sort in TIMES:
        q = f'created:"{_places(visit)[0]} to now" {sort}:>0 sort:{sort}'
        total = lookup.count(visit, "ticket", q)
        for share, label in SHARES if total else ():
            place = max(1, round(total * share))
            record = records.search(visit.ctx, "ticket", SearchRequest(q, 1, place))["results"]
            if record:
                label_text = _("{what}, {share}", what=shown(name), share=shown(label))
                rows.append((label_text, int(record[0][of]), lookup.found_at("ticket", q)))
    return [charts.rows(TIMES_TITLE, rows, duration)] if rows else []


def _span(visit: Visit, first: int, last: int) -> str:
    begins, ends = (_today(visit) - timedelta(days=back) for back in (first, last))
    return f"{begins.isoformat()} to {ends.isoformat()} 23:59:59"
