"""The figures and charts of the start page: a worker's day, and how the desk performs."""

import statistics
from collections.abc import Iterable
from dataclasses import replace
from datetime import date

from markupsafe import Markup

from console.html import charts, ui
from console.html.charts import Series
from console.html.ui import duration
from console.http import navigation
from console.http.ticket_lists import FIRST, LATE, STANDARD, TicketList, TicketLists
from console.http.visit import Visit
from console.lists import lookup
from server.dataclass import dataclass
from server.queries import desk_figures
from server.queries.desk_figures import TIMES_TITLE, DailyCounts, DayFigure, TicketFigure
from server.records import records
from server.tickets import hourly_counts, passing_counts
from server.translation import N_, Words, _

# The icons of the figures of today.
_ICONS: dict[Words, str] = {"New today": "ticket", "Replies today": "mail", "Closed today": "check"}
UNTIL_TONIGHT = '"now to today 23:59:59"'


@dataclass(frozen=True)
class Tile:
    """A number with a link to the counted records. note: a comparison, "" for none."""

    label: Words
    icon: str
    value: str
    path: str
    note: str = ""


def queries(visit: Visit) -> list[str]:
    """The data queries of all daily counts, to be shown."""
    return desk_figures.queries(visit.ctx)


def own_tiles(visit: Visit, lists: TicketLists) -> list[Tile]:
    """Returns the work of the caller: what is to do, and what was done today."""
    ctx = visit.ctx
    mine, waiting = (STANDARD[each].query for each in (FIRST, "waiting"))
    standard = {each.name: each for each in lists.standard}
    late, due, back = "", "", _count(visit, f"{waiting} reopen:{UNTIL_TONIGHT}", N_("{count} back today"))
    if LATE in standard:
        late = _count(visit, f"{mine} due:<now", N_("{count} overdue"))
        due = _count(visit, f"{mine} due:{UNTIL_TONIGHT}", N_("{count} due today"))
    own_tasks = "status:open owner.id:me"
    tasks = ui.number(visit, records.count(ctx, "task", own_tasks))
    late_tasks = _count(visit, f"{own_tasks} due:<now", N_("{count} overdue"), "task")
    return [
        _list_tile(visit, standard[FIRST], ", ".join(filter(None, (late, due)))),
        _list_tile(visit, standard["waiting"], back),
        Tile(N_("Drafts"), "pencil", ui.number(visit, lists.drafts or 0), navigation.DRAFTS.path),
        Tile(N_("Open tasks"), "task", tasks, lookup.found_at("task", own_tasks), late_tasks),
        *(_day_tile(visit, each, "activity_log") for each in desk_figures.today(ctx, desk_figures.OWN_TODAY)),
    ]


def team_tiles(visit: Visit, lists: TicketLists, usual: list[TicketFigure]) -> list[Tile]:
    """The day of all tickets that the caller may read. usual: response times of the last days."""
    tiles = [_day_tile(visit, each, "ticket") for each in desk_figures.today(visit.ctx, desk_figures.TODAY)]
    first = desk_figures.first_response(visit.ctx)
    if first is not None:
        note = _("usually {time}", time=duration(usual[0].value)) if usual else ""
        tiles.append(
            Tile(
                N_("First response today"), "clock", duration(first.value), lookup.found_at("ticket", first.query), note
            )
        )
    standard = {each.name: each for each in lists.standard}
    if LATE in standard:  # the rail shows its last number
        count, _is_old = passing_counts.count(visit.ctx, STANDARD[LATE].query, lists.at, is_shared=True)
        standard[LATE] = replace(standard[LATE], count=count)
    usual_counts = hourly_counts.usual(visit.ctx)
    notes = {name: _("usually {count} at this time", count=ui.number(visit, n)) for name, n in usual_counts.items()}
    shown = (standard[name] for name in ("unassigned", "open", LATE) if name in standard)
    return [*tiles, *(_list_tile(visit, each, notes.get(each.name, "")) for each in shown)]


def own_chart(visit: Visit) -> list[Markup]:
    """The daily work of the caller; none without any."""
    daily = desk_figures.daily(visit.ctx, desk_figures.OWN_DAILY)
    return [_daily(visit, each) for each in daily if any(any(counts) for _label, counts in each.series)]


def pictures(visit: Visit, times: list[TicketFigure]) -> list[Markup]:
    """The charts, limited to what the caller may read. Charts that take too long are omitted. times: response times."""
    daily = [_daily(visit, each) for each in desk_figures.daily(visit.ctx)]
    owners = _bars(desk_figures.owners(visit.ctx))
    ages = charts.rows(N_("Open tickets by age"), _bars(desk_figures.ages(visit.ctx)))
    return [
        *daily,
        *([charts.rows(N_("Open tickets by owner"), owners)] if owners else []),
        ages,
        *([charts.rows(TIMES_TITLE, _bars(times), duration)] if times else []),
    ]


def _daily(visit: Visit, counts: DailyCounts) -> Markup:
    days = [ui.day(visit, date.fromisoformat(each)) for each in counts.days]
    series = [Series(label, values) for label, values in counts.series]
    usual = round(statistics.median(series[0].values[:-1]))
    return charts.columns(
        counts.title, [name for name, _mark in days], series, marks=[mark for _name, mark in days], usual=usual
    )


def _list_tile(visit: Visit, listed: TicketList, note: str = "") -> Tile:
    value = "–" if listed.count is None else ui.number(visit, listed.count)
    return Tile(listed.label, listed.icon, value, listed.path, note)


def _day_tile(visit: Visit, figure: DayFigure, uri: str) -> Tile:
    note = "" if figure.usual is None else _("usually {count} by now", count=ui.number(visit, figure.usual))
    return Tile(
        figure.label, _ICONS[figure.label], ui.number(visit, figure.value), lookup.found_at(uri, figure.query), note
    )


def _count(visit: Visit, q: str, text: Words, uri: str = "ticket") -> str:
    """How many records a search finds, in words; "" for none."""
    count = records.count(visit.ctx, uri, q)
    return _(text, count=ui.number(visit, count)) if count else ""


def _bars(figures: Iterable[TicketFigure]) -> list[tuple[Words, int, str]]:
    return [(each.label, each.value, lookup.found_at("ticket", each.query)) for each in figures]
