"""Runs a report for those who lead: administrators see all tickets, managers those of their groups."""

from collections.abc import Mapping
from datetime import datetime, tzinfo
from typing import Any

from server import times
from server.access.actor import Actor
from server.context import Context
from server.dataclass import dataclass
from server.errors import BadDataQuery, Forbidden, Invalid, NotFound, TimedOut, nearest
from server.queries.reports.figures import Figures
from server.queries.reports.ranges import DEFAULT, DayRange, find_range
from server.queries.reports.tables import REPORTS, ReportCell, ReportKind, ReportRow, ReportTable
from server.records.reading import RecordReader
from server.search.query_parser import parse
from server.search.select import search
from server.store.database import OutOfSteps
from server.store.transaction import Transaction
from server.translation import _, shown

MAX_SECONDS = 20  # of a report


@dataclass(frozen=True)
class ReportRequest:
    """Which report. range: a preset, or `custom` with the days from first to last (2026-03-01). timezone: blank for the
    one of the caller. q: restricts the tickets."""

    name: str
    range: str = DEFAULT
    first: str = ""
    last: str = ""
    timezone: str = ""
    q: str = ""
    is_compared: bool = True


@dataclass(frozen=True)
class Report:
    """A report with its figures. before: the range that it is compared with, None for none."""

    kind: ReportKind
    range: DayRange
    before: DayRange | None
    timezone: str
    tables: list[ReportTable]


def may_see(actor: Actor) -> bool:
    """Returns whether reports are open to somebody."""
    return actor.is_admin or bool(actor.manages)


def run(ctx: Context, request: ReportRequest) -> Report:
    """Returns a report. Raises Forbidden for workers who lead nobody, NotFound for an unknown report, Invalid for an
    invalid range, BadQuery for an invalid search, and BadDataQuery if counting takes too long."""
    if not may_see(ctx.actor):
        raise Forbidden(_("only administrators and managers of groups can see reports"))
    kind = REPORTS.get(request.name)
    if kind is None:
        name = request.name[:40]
        raise NotFound(_("'{name}' is not a report{nearest}", name=name, nearest=nearest(name, REPORTS)))
    tz = _zone(request.timezone) if request.timezone else ctx.tz
    today = datetime.fromtimestamp(ctx.now, tz).date()
    days, preceding = find_range(today, request.range, request.first, request.last)
    before = preceding if request.is_compared and kind.compares else None
    if ctx.steps is not None:
        raise OutOfSteps  # counting would block the event loop

    def read(tx: Transaction) -> list[ReportTable]:
        reader = RecordReader(ctx, tx)
        scope = reader.scope().in_zone(tz)
        search(
            reader.registry.type("ticket"), parse(request.q), scope
        )  # raises BadQuery with the position of a mistake
        figures = Figures(reader, scope, _terms(ctx.actor, request.q))
        return kind.run(figures, days, before)

    try:
        tables = ctx.service.store.read(read, seconds=MAX_SECONDS)
    except TimedOut as error:
        raise BadDataQuery(_("There is too much to count. Choose a shorter range, or a narrower search.")) from error
    return Report(kind, days, before, str(tz), tables)


def _zone(name: str) -> tzinfo:
    try:
        return times.zone(name)
    except Invalid as error:
        raise Invalid(error.message, field="timezone") from error


def _terms(actor: Actor, q: str) -> str:
    """Returns the search that restricts the tickets of a report."""
    groups = ",".join(map(str, sorted(actor.manages)))
    own = "" if actor.is_admin else f"group.id:[{groups}]"
    return f"{f'({q.strip()})' if q.strip() else ''} {own}".strip()


def as_dictionary(report: Report) -> dict[str, Any]:
    """Returns a report as the API shows it."""
    return {
        "report": report.kind.name,
        "timezone": report.timezone,
        "range": _range(report.range),
        "before": _range(report.before) if report.before else None,
        "tables": {each.name: _table(each) for each in report.tables},
    }


def _range(days: DayRange) -> dict[str, Any]:
    return {"from": days.first.isoformat(), "to": days.last.isoformat(), "step": days.step}


def _table(table: ReportTable) -> dict[str, Any]:
    return {
        "columns": [{"key": each.key, "label": shown(each.label), "kind": each.kind} for each in table.columns],
        "rows": [_row(table, each) for each in table.rows],
        "has_more": table.has_more,
    }


def _row(table: ReportTable, row: ReportRow) -> dict[str, Any]:
    figures = {column.key: _cell(cell) for column, cell in zip(table.columns, row.cells, strict=True)}
    return {"key": row.key, "label": shown(row.label), "figures": figures}


def _cell(cell: ReportCell) -> Mapping[str, Any]:
    return {"value": cell.value, "before": cell.before, "of": cell.uri, "query": cell.query}
