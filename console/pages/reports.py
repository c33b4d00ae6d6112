"""Reports: how the desk performed in a range of days, as charts, and as tables that lead to the counted records."""

from collections.abc import Iterator
from datetime import date, datetime
from functools import cached_property
from typing import Any

from markupsafe import Markup

from console.html import charts, ui
from console.html.charts import Series
from console.html.form import Form
from console.html.rendering import render
from console.html.samples import Sample
from console.http.page_response import INVALID, PageResponse, see
from console.http.routes import page
from console.http.visit import Visit
from console.lists import exports, lookup
from console.pages.start_figures import Tile
from server.errors import BadDataQuery, BadQuery, Invalid, NotFound
from server.queries.reports import emails, report
from server.queries.reports.emails import WEEKDAYS
from server.queries.reports.ranges import CUSTOM, DEFAULT, PRESETS, DayRange, find_range
from server.queries.reports.report import Report, ReportRequest
from server.queries.reports.tables import (
    MEDIAN,
    MOST,
    REPORTS,
    ReportCell,
    ReportColumn,
    ReportKind,
    ReportRow,
    ReportTable,
)
from server.queries.reports.words import change_text, comparison_text, heading, label_text, value_text
from server.records.search_help.query_help import QueryHelp
from server.translation import _, shown

BASE = "/reports"
FIELDS = ("range", "from", "to", "timezone", "q", "compare")
BARS = 12  # values in a chart
LEVELS = 5  # shades of a heat map
_ICONS: dict[str, str] = {"count": "ticket", "seconds": "clock", "percent": "check"}
_MESSAGES = ("received", "replies")  # keys of figures about messages


class ReportPage:
    """One request of a report. report: None if the range or the search has a mistake, which `form` shows."""

    def __init__(self, visit: Visit, name: str) -> None:
        self.visit = visit
        kind = REPORTS.get(name)
        if kind is None:
            raise NotFound(_("There is no such report."))
        self.kind: ReportKind = kind
        text = visit.query.text
        values = {each: text(each, "") for each in FIELDS}
        values["range"] = values["range"] or (CUSTOM if values["from"] or values["to"] else DEFAULT)
        if values["range"] == CUSTOM and not values["from"] and not values["to"]:  # chosen before its days
            today = datetime.fromtimestamp(visit.now, visit.ctx.tz).date()
            days, _before = find_range(today, DEFAULT)
            values |= {"from": days.first.isoformat(), "to": days.last.isoformat()}
        self.is_compared = values["compare"] != "0"
        self.form = Form.from_values(values | {"compare": "1" if self.is_compared else "0"})
        self.request = ReportRequest(
            name,
            values["range"],
            values["from"],
            values["to"],
            values["timezone"],
            values["q"],
            self.is_compared,
        )
        self.report: Report | None = None
        self.is_too_slow = False
        try:
            self.report = report.run(visit.ctx, self.request)
        except BadQuery as error:
            self.form.refuse(Invalid(error.message, field="q"))
        except BadDataQuery:
            self.is_too_slow = True
        except Invalid as error:
            self.form.refuse(error)

    # -- what templates show ----------------------------------------------------------------------------------------

    @property
    def tabs(self) -> list[tuple[str, str, bool]]:
        """The reports with the same range and search: (path, label, whether it is shown)."""
        return [(self.path(each.name), shown(each.label), each is self.kind) for each in REPORTS.values()]

    def path(self, name: str = "", **changes: str) -> str:
        """The address of a report with the range and the search of this one."""
        values = {each: self.visit.query.text(each, "") for each in FIELDS} | changes
        where = name or self.kind.name
        return ui.address(BASE if where == next(iter(REPORTS)) else f"{BASE}/{where}", **values)

    @property
    def presets(self) -> list[tuple[str, str]]:
        return [*((name, shown(each.label)) for name, each in PRESETS.items()), (CUSTOM, _("Custom range"))]

    @cached_property
    def chips(self) -> list[tuple[Any, str]]:
        """The terms of the search, each with the address of the report without it."""
        q = self.request.q
        if not q or self.form.errors.get("q"):
            return []
        chips = QueryHelp(self.visit.ctx, self.visit.service.registry.type("ticket")).chips(q)
        return [(each, self.path(q=each.without)) for each in chips]

    @property
    def is_empty(self) -> bool:
        """Whether nothing was counted, now or before."""
        tables = self.report.tables if self.report is not None else []
        return not any(cell.value or cell.before for table in tables for row in table.rows for cell in row.cells)

    def days(self, shown_range: DayRange) -> str:
        """A range in words."""
        first, last = (self._day(each) for each in (shown_range.first, shown_range.last))
        return first if first == last else _("{first} to {last}", first=first, last=last)

    def _day(self, day: date) -> str:
        return f"{ui.day(self.visit, day)[1]} {day.year}"

    @property
    def sample(self) -> Sample:
        """The request that returns the same figures."""
        values = {each: self.visit.query.text(each, "") for each in FIELDS}
        fields = [(name, value) for name, value in values.items() if value]
        return Sample("GET", f"/rest/reports/{self.kind.name}.json", fields)

    def tiles(self, table: ReportTable) -> list[Tile]:
        """The figures of a table with one row; the 90 % of a time beside its median."""
        pairs = list(zip(table.columns, table.rows[0].cells, strict=True))
        tiles = []
        for place, (column, cell) in enumerate(pairs):
            if column.share == MOST:
                continue
            notes = [self.comparison(column, cell)]
            if column.share == MEDIAN:
                most = self.value(*pairs[place + 1])
                notes.insert(0, _("90 %: {time}", time=most) if cell.value is not None else "")
            icon = "mail" if column.key in _MESSAGES else _ICONS[column.kind]
            note = "; ".join(filter(None, notes))
            tiles.append(Tile(heading(column), icon, self.value(column, cell), self.link(cell), note))
        return tiles

    def chart(self, table: ReportTable) -> Markup:
        """The chart of a table."""
        if table.chart == "columns":
            places = [self.label(each) for each in table.rows]
            marks = [ui.day(self.visit, each.day)[1] if each.day else "" for each in table.rows]
            cells = [[row.cells[place] for row in table.rows] for place in range(len(table.columns))]
            series = [
                Series(column.label, [each.value or 0 for each in own], column.tone, [self.link(each) for each in own])
                for column, own in zip(table.columns, cells, strict=True)
            ]
            return charts.columns(table.title, places, series, table.of, marks=marks, file=self.file(table))
        bars = [(self.label(row), row.cells[0].value or 0, self.link(row.cells[0])) for row in table.rows[:BARS]]
        return charts.rows(table.columns[0].label, bars, lambda value: ui.number(self.visit, value))

    def label(self, row: ReportRow) -> str:
        """The name of a row: a day in words, `none` for records without a value."""
        if row.day is not None:
            name, short = ui.day(self.visit, row.day)
            return name if self.report is not None and self.report.range.step == "day" else f"{short} {row.day.year}"
        return label_text(row)

    def value(self, column: ReportColumn, cell: ReportCell) -> str:
        return value_text(column, cell.value, self.visit.language)

    def comparison(self, column: ReportColumn, cell: ReportCell) -> str:
        return comparison_text(column, cell, self.visit.language)

    def link(self, cell: ReportCell) -> str:
        """The list of the counted records, "" for none."""
        return lookup.found_at(cell.uri, cell.query) if cell.query and cell.value is not None else ""

    def file(self, table: ReportTable) -> str:
        """The address of a table as a file."""
        return self.path(format="csv", table=table.name)

    @property
    def shades(self) -> int:
        return LEVELS

    def shade(self, table: ReportTable, cell: ReportCell) -> int:
        """The shade of a cell of a heat map, from 0 to LEVELS."""
        most = self.most(table)
        return -(-LEVELS * (cell.value or 0) // most) if most else 0

    def most(self, table: ReportTable) -> int:
        """The largest count of a table."""
        return max((each.value or 0 for row in table.rows for each in row.cells), default=0)


@page("GET", BASE)
def show_overview(visit: Visit) -> PageResponse:
    """The report of all tickets."""
    return _show(visit, next(iter(REPORTS)))


@page("GET", f"{BASE}/{{name}}")
def show_report(visit: Visit) -> PageResponse:
    """One report, or one of its tables as a file."""
    return _show(visit, visit.arguments["name"])


@page("POST", f"{BASE}/{{name}}/email")
def subscribe(visit: Visit) -> PageResponse:
    """Sends the worker a report each week, or no longer."""
    name, weekday = visit.arguments["name"], visit.form.integer("weekday", 0, 0, len(WEEKDAYS))
    emails.subscribe(visit.ctx, name, weekday)
    visit.flash(
        _("You get this report each {weekday}.", weekday=shown(WEEKDAYS[weekday - 1]))
        if weekday
        else _("You no longer get this report by email.")
    )
    return see(f"{BASE}/{name}#email")


def _show(visit: Visit, name: str) -> PageResponse:
    view = ReportPage(visit, name)
    if visit.query.text("format", ""):
        return _file(visit, view)
    return render(
        visit,
        "reports.html",
        INVALID if view.report is None and not view.is_too_slow else 200,
        view=view,
        heading=heading,
        change=change_text,
        form=view.form,
        report=view.report,
        email=ui.filled(weekday=emails.weekday_of(visit.ctx, name)),
        weekdays=[("0", _("never")), *((str(day + 1), shown(each)) for day, each in enumerate(WEEKDAYS))],
    )


def _file(visit: Visit, view: ReportPage) -> PageResponse:
    """A table as a file. Raises NotFound for an unknown format or table, and the mistake of an invalid request."""
    format = visit.query.text("format", "")
    if format != "csv":
        raise exports.no_such_format(format)
    if view.report is None:
        raise Invalid(next(iter(view.form.errors.values()), _("There is too much to count.")))
    table = next((each for each in view.report.tables if each.name == visit.query.text("table", "")), None)
    if table is None:
        raise NotFound(_("The report has no such table."))
    names, rows = _written(table, view.report)
    days = view.report.range
    name = f"{view.kind.name}-{table.name}-{days.first.isoformat()}-{days.last.isoformat()}"
    return exports.file(visit, format, name, names, rows)


def _written(table: ReportTable, shown_report: Report) -> tuple[list[str], list[dict[str, Any]]]:
    """The columns and the rows of a file: the figures as in the API, and those before."""
    is_compared = shown_report.before is not None and table.chart not in ("columns", "heat")
    keys = [each.key for each in table.columns]
    names = ["label", *(name for key in keys for name in ((key, f"{key}_before") if is_compared else (key,)))]

    def values(row: ReportRow) -> Iterator[tuple[str, Any]]:
        yield "label", shown(row.label)
        for key, cell in zip(keys, row.cells, strict=True):
            yield key, cell.value
            yield f"{key}_before", cell.before

    return names, [{name: value for name, value in values(row) if name in names} for row in table.rows]
