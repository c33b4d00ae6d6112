"""Draws numbers, charts and tables of data queries."""

import contextlib
import re
from collections.abc import Callable, Mapping
from datetime import date
from typing import Any

from markupsafe import Markup

from console.html import charts, ui
from console.html.charts import AREA, COLUMNS, LINES, STACKED, Series
from console.html.templates import fragment
from console.http.visit import Visit
from console.pages.start_figures import Tile
from console.pages.workspaces.drawing import (
    Drawing,
    muted,
    params_of,
    queried_table,
    query_result,
    text_param,
)
from console.pages.workspaces.query_table import QueryTable, TableCell, TableColumn, points_of, table_of
from console.pages.workspaces.widget_kinds import BARS, PIE, WidgetKind
from server.errors import BadDataQuery
from server.kata.kata_parser import parse, plain
from server.translation import _

MAX_MARK_CHARS = 12  # length of a label on an axis
MAX_BARS = 12
MAX_TILES = 12
MAX_DATASETS = 4  # datasets in one chart of KATA
MAX_AFFIX_CHARS = 40  # length of the text beside a number
MANUAL = "widget.datasource.manual"
_DAY = re.compile(r"[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])")
_NUMBER = re.compile(r"-?[0-9]{1,15}(?:\.[0-9]{1,6})?")
# How charts are drawn, by the parameter `chart_as` of a widget and by the type of a chart in KATA.
_LOOKS = {
    "line": LINES,
    "spline": LINES,
    "step": LINES,
    "area": AREA,
    "area-spline": AREA,
    "area-step": AREA,
    "bar": COLUMNS,
    "bar_stacked": STACKED,
    "area_stacked": STACKED,
}
_PIES = ("pie", "donut")

Widget = Mapping[str, Any]


# -- numbers -----------------------------------------------------------------------------------------------------------


def number(visit: Visit, kind: WidgetKind, widget: Widget, drawing: Drawing) -> tuple[Markup, bool]:
    """Returns the parts of one number or several, each with a link to its list."""
    is_manual = text_param(widget, "datasource").endswith(MANUAL)
    if is_manual and not text_param(widget, "data_query"):
        value = _typed_number(visit, widget)
        return ui.tiles([Tile(str(widget["label"]), "chart", _number_text(visit, widget, value), "")]), True
    table = queried_table(visit, widget, drawing)
    found = [(row[0].text, row[place], table.columns[place]) for row in table.rows for place in table.numbers[:1]]
    tiles = [
        Tile(
            str(widget["label"]) if len(found) == 1 else name,
            "chart",
            cell_text(visit, cell, column)
            if column.is_time or cell.number is None
            else _number_text(visit, widget, cell.number),
            cell.path,
            _threshold(widget, cell.number),
        )
        for name, cell, column in found[:MAX_TILES]
    ]
    return (ui.tiles(tiles), len(found) == 1) if tiles else (muted(_("Nothing was found.")), False)


def _typed_number(visit: Visit, widget: Widget) -> float:
    """The number that was typed into the widget. Raises BadDataQuery for one that is not a number."""
    text = text_param(widget, "metric_value")
    if not _NUMBER.fullmatch(text):
        raise BadDataQuery(_("'{text}' is not a number", text=text[:80]))
    return float(text)


def _number_text(visit: Visit, widget: Widget, value: float) -> str:
    """A number in the format of the widget, with the texts around it."""
    before, after = (text_param(widget, f"metric_{name}")[:MAX_AFFIX_CHARS] for name in ("prefix", "suffix"))
    return " ".join(filter(None, (before, _formatter(visit, text_param(widget, "metric_type"))(value), after)))


def _threshold(widget: Widget, value: float | None) -> str:
    """The label of the part of a gauge that a number is in, "" for none."""
    labels, ends = (params_of(widget).get(f"threshold_{name}") for name in ("labels", "values"))
    if value is None or not isinstance(labels, list) or not isinstance(ends, list):
        return ""
    for label, end in zip(labels, ends, strict=False):
        with contextlib.suppress(TypeError, ValueError):
            if value <= float(end):
                return str(label)[:MAX_AFFIX_CHARS]
    return ""


def _formatter(visit: Visit, format: str) -> Callable[[Any], str]:
    """What writes numbers in a format of the parameters of charts."""
    if format in ("seconds", "number.seconds", "number_seconds"):
        return lambda value: ui.short_duration(int(value))
    if format in ("minutes", "number.minutes", "number_minutes"):
        return lambda value: ui.short_duration(int(value * 60))
    if format in ("bytes", "number.bytes", "number_bytes"):
        return lambda value: ui.bytes_text(int(value))
    if format in ("percent", "number.percent"):
        return lambda value: f"{ui.number(visit, value)} %"
    return lambda value: ui.number(visit, value)


# -- charts ------------------------------------------------------------------------------------------------------------


def over_axis(visit: Visit, kind: WidgetKind, widget: Widget, drawing: Drawing) -> tuple[Markup, bool]:
    """Lines or columns, as the widget says; lines over time and columns for other things if it says nothing."""
    result = query_result(visit, widget, drawing)
    usual = LINES if kind.draws == "lines" else STACKED if result["_"].get("stacked") else COLUMNS
    return _over_axis(visit, widget, table_of(visit, result), _look(widget, usual))


def _look(widget: Widget, usual: str) -> str:
    return _LOOKS.get(text_param(widget, "chart_as"), usual)


def _over_axis(visit: Visit, widget: Widget, table: QueryTable, look: str) -> tuple[Markup, bool]:
    if not table.rows or not table.numbers:
        return muted(_("Nothing was found.")), False
    if table.is_negative:
        return table_html(visit, widget, table), False
    series = [
        Series(
            table.columns[place].label,
            [row[place].number or 0 for row in table.rows],
            paths=[row[place].path for row in table.rows],
        )
        for place in table.numbers
    ]
    if len(series) > charts.COLORS:
        series.sort(key=lambda each: -sum(each.values))
        if look == STACKED:
            series = [*series[: charts.COLORS - 1], _sum(series[charts.COLORS - 1 :])]
    names = [_place(visit, row[0].text) for row in table.rows]
    is_time = any(table.columns[place].is_time for place in table.numbers)
    html = charts.columns(
        str(widget["label"]),
        [name for name, _short in names],
        series,
        text_param(widget, "xaxis_label")[:MAX_AFFIX_CHARS] or table.columns[0].label,
        marks=[short for _name, short in names],
        look=look,
        most=charts.COLORS,
        measure=text_param(widget, "yaxis_label")[:MAX_AFFIX_CHARS],
        format_value=_formatter(visit, "seconds" if is_time else text_param(widget, "yaxis_format")),
    )
    return html, True


def _sum(series: list[Series]) -> Series:
    values = [sum(each.values[at] for each in series) for at in range(len(series[0].values))]
    return Series(_("Others ({count})", count=len(series)), values)


def _place(visit: Visit, text: str) -> tuple[str, str]:
    """The name of a place on the axis, and a short one: days in words."""
    if _DAY.fullmatch(text):
        with contextlib.suppress(ValueError):  # no such day: a value that only looks like one
            return ui.day(visit, date.fromisoformat(text))
    return text, text if len(text) <= MAX_MARK_CHARS else f"{text[: MAX_MARK_CHARS - 1]}…"


def shares(visit: Visit, kind: WidgetKind, widget: Widget, drawing: Drawing) -> tuple[Markup, bool]:
    """A ring, a pie or bars, as the widget says; a ring if it says nothing."""
    look = text_param(widget, "chart_as") or text_param(widget, "style")
    return _shares(visit, widget, queried_table(visit, widget, drawing), look or kind.looks[0][0])


def _shares(visit: Visit, widget: Widget, table: QueryTable, look: str) -> tuple[Markup, bool]:
    if not table.rows or not table.numbers:
        return muted(_("Nothing was found.")), False
    if table.is_negative:
        return table_html(visit, widget, table), False
    place = table.numbers[0]
    parts = [(row[0].text, row[place].number or 0, row[place].path) for row in table.rows]
    format_value = _formatter(visit, "seconds" if table.columns[place].is_time else text_param(widget, "metric_type"))
    title = str(widget["label"])
    if look in _PIES and any(value for _name, value, _path in parts):
        parts.sort(key=lambda each: -each[1])
        html = charts.pie(
            title,
            parts,
            f"shares{widget['id']}",
            is_donut=look != PIE,
            format_value=format_value,
            has_more=table.has_more,
        )
        return html, True
    if len(parts) > MAX_BARS:
        rest = sum(value for _name, value, _path in parts[MAX_BARS - 1 :])
        parts = [*parts[: MAX_BARS - 1], (_("Others"), rest, "")]
    return charts.rows(title, parts, format_value), True


def points(visit: Visit, kind: WidgetKind, widget: Widget, drawing: Drawing) -> tuple[Markup, bool]:
    """A scatter chart."""
    return _points(widget, query_result(visit, widget, drawing))


def _points(widget: Widget, result: Mapping[str, Any]) -> tuple[Markup, bool]:
    series = [each for each in points_of(result) if each[1]][: charts.COLORS]
    return (charts.points(str(widget["label"]), series), True) if series else (muted(_("Nothing was found.")), False)


def kata(visit: Visit, kind: WidgetKind, widget: Widget, drawing: Drawing) -> tuple[Markup, bool]:
    """A chart in KATA: each data query of its datasets, drawn by its format and by the type of the chart."""
    queries = _kata_queries(str(params_of(widget).get("datasets_kata") or ""))
    if not queries:
        raise BadDataQuery(_("the widget has no data query"))
    look = _kata_type(str(params_of(widget).get("chart_kata") or ""))
    parts = []
    for place, (name, query) in enumerate(queries):
        label = str(widget["label"]) if len(queries) == 1 else f"{widget['label']}: {name}"
        params = {"data_query": query, "chart_as": look}
        one = {**widget, "id": f"{widget['id']}-{place}", "label": label, "params": params}
        parts.append(_by_format(visit, one, query_result(visit, one, drawing)))
    return Markup("\n").join(html for html, _is_whole in parts), all(is_whole for _html, is_whole in parts)


def _kata_queries(text: str) -> list[tuple[str, str]]:
    """The data queries of datasets in KATA, by their names. Raises KataSyntax."""
    queries = []
    for key, dataset in parse(text).tree.items():
        kind, _slash, name = plain(key).partition("/")
        if kind == "dataQuery" and isinstance(dataset, dict):
            queries += [
                (name, text) for key, text in dataset.items() if plain(key) == "query" and isinstance(text, str)
            ]
    return queries[:MAX_DATASETS]


def _kata_type(text: str) -> str:
    """The type of a chart in KATA, "" for none: `type` of its `data`; stacked if it has `stacks`. Raises KataSyntax."""
    data = next((each for key, each in parse(text).tree.items() if plain(key) == "data"), None)
    if not isinstance(data, dict):
        return ""
    keys = {plain(key): each for key, each in data.items()}
    type = keys.get("type")
    return f"{type}_stacked" if type in ("bar", "area") and keys.get("stacks") else str(type or "")


def _by_format(visit: Visit, widget: Widget, result: Mapping[str, Any]) -> tuple[Markup, bool]:
    format = result["_"]["format"]
    if format == "scatterplot":
        return _points(widget, result)
    table = table_of(visit, result)
    if format in ("timeseries", "categories"):
        usual = LINES if format == "timeseries" else STACKED if result["_"].get("stacked") else COLUMNS
        return _over_axis(visit, widget, table, _look(widget, usual))
    if format == "pie":
        return _shares(visit, widget, table, text_param(widget, "chart_as") or BARS)
    return (table_html(visit, widget, table) if table.rows else muted(_("Nothing was found."))), False


def blocks(visit: Visit, kind: WidgetKind, widget: Widget, drawing: Drawing) -> tuple[Markup, bool]:
    """The free hours of calendars by day. Raises BadDataQuery for another query than of availability."""
    result = query_result(visit, widget, drawing)
    if result["_"]["type"] != "calendar.availability":
        raise BadDataQuery(_("free time needs type:calendar.availability"))
    minutes: dict[str, float] = {}
    for row in result["data"]:
        day = str(row["date"])[:10]
        minutes[day] = minutes.get(day, 0) + row["value"]
    rows = [[TableCell(day), TableCell("", round(free / 60, 2))] for day, free in minutes.items()]
    columns = [TableColumn(_("Day")), TableColumn(_("Free hours"), is_number=True)]
    return _over_axis(visit, widget, QueryTable(columns, rows), COLUMNS)


def old(visit: Visit, kind: WidgetKind, widget: Widget, drawing: Drawing) -> tuple[Markup, bool]:
    """A chart of a former version, by its data query. Raises BadDataQuery for one with another source."""
    source = text_param(widget, "datasource").rpartition(".datasource.")[2]
    if source and not text_param(widget, "data_query"):
        text = _("the source '{source}' of a former version cannot be read; write a data query", source=source[:60])
        raise BadDataQuery(text)
    look = text_param(widget, "chart_as") or {"bar": "bar", "line": "line"}.get(text_param(widget, "chart_type"), "")
    return _by_format(
        visit, {**widget, "params": {**params_of(widget), "chart_as": look}}, query_result(visit, widget, drawing)
    )


# -- tables ------------------------------------------------------------------------------------------------------------


def table(visit: Visit, kind: WidgetKind, widget: Widget, drawing: Drawing) -> tuple[Markup, bool]:
    """Rows and columns."""
    found = queried_table(visit, widget, drawing)
    return (table_html(visit, widget, found) if found.rows else muted(_("Nothing was found."))), False


def cell_text(visit: Visit, cell: TableCell, column: TableColumn) -> str:
    """A value as text."""
    if cell.number is None:
        return cell.text or "–"
    return ui.short_duration(int(cell.number)) if column.is_time else ui.number(visit, cell.number)


def table_html(visit: Visit, widget: Widget, table: QueryTable) -> Markup:
    """A table."""

    def value(cell: TableCell, column: TableColumn) -> str:
        return cell_text(visit, cell, column)

    return Markup(fragment("parts/widget_table.html", label=str(widget["label"]), table=table, value=value))
