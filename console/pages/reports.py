"""The charts of the start page: how the desk performs."""

from collections.abc import Iterable

from markupsafe import Markup

from console.html import charts
from console.html.charts import Series
from console.html.ui import duration
from console.http.visit import Visit
from console.lists import lookup
from server.queries import desk_figures
from server.queries.desk_figures import TIMES_TITLE, TicketFigure
from server.translation import N_, Words


def queries(visit: Visit) -> list[str]:
    """The data queries of all daily counts, to be shown."""
    return desk_figures.queries(visit.ctx)


def pictures(visit: Visit) -> list[Markup]:
    """The charts, limited to what the caller may read. Charts that take too long are omitted."""
    daily = [
        charts.columns(each.title, each.days, [Series(label, counts) for label, counts in each.series])
        for each in desk_figures.daily(visit.ctx)
    ]
    ages = charts.rows(N_("Open tickets by age"), _bars(desk_figures.ages(visit.ctx)))
    times = _bars(desk_figures.times(visit.ctx))
    return [*daily, ages, *([charts.rows(TIMES_TITLE, times, duration)] if times else [])]


def _bars(figures: Iterable[TicketFigure]) -> list[tuple[Words, int, str]]:
    return [(each.label, each.value, lookup.found_at("ticket", each.query)) for each in figures]
