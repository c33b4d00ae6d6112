"""Draws the widgets and lists of a tab, each by itself, with the rights of the worker who looks at them. What they hold
was written by others: it is escaped, and their texts are cleaned and shown in a frame."""

import contextlib
import re
import time
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from markupsafe import Markup

from console.html import charts, ui
from console.html.charts import Series
from console.html.templates import fragment
from console.http.visit import Visit
from console.lists import lookup, worklist_columns
from console.lists.worklist_columns import ListColumn
from console.pages import worklists
from console.pages.start_figures import Tile
from console.pages.workspaces import board
from console.pages.workspaces.query_table import QueryTable, TableCell, TableColumn, points_of, table_of
from console.pages.workspaces.widget_kinds import WidgetKind, kind_of
from console.tickets import inbox
from server.dataclass import dataclass
from server.digits import is_whole
from server.errors import BadDataQuery, HelpdeskError, NotFound, TimedOut
from server.kata.kata_parser import parse, plain
from server.markup import clean_html, markdown_to_html
from server.outbox.content import Placeholders
from server.people.workspace_pages import SHOWN
from server.queries.query_run import evaluate, type_named
from server.record_types.record_type import RecordType
from server.record_types.shared import paths
from server.records import records
from server.records.records import LABEL, SearchRequest
from server.search.query_texts import sorted_query
from server.translation import N_, _, shown

PAGE_SECONDS = 1.5  # for all widgets of a page; the others are loaded one by one
TEXT_KEYS = ("content", "template", "text")  # parameters with a text; packages of several versions name it differently
MAX_MARK_CHARS = 12  # of a label on the axis of a chart
MAX_SERIES = 6  # colours of a chart
MAX_BARS = 12
MAX_TILES = 12
MAX_DATASETS = 4  # of a chart in KATA
MAX_LIST_ROWS = 25
MAX_LIST_COLUMNS = 6
# Types of data queries that only read. A widget may be somebody else's: `automation.invoke` would run an automation
# with the rights of its reader.
_READING = ("worklist.", "metrics.", "usage.", "sample.", "calendar.", "record.", "platform.", "ui.", "data.")
_DAY = re.compile(r"[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9])")
SUBJECT = ListColumn(
    LABEL, N_("Ticket"), lambda visit, row, more: ui.link(paths.ticket(row["mask"]), row["subject"]), kind="main"
)


@dataclass(frozen=True)
class Drawn:
    """A widget or a list as it is shown. id: of its element. width: in quarters of the row. html: what is inside of it.
    is_whole: whether html has a heading and a frame of its own. path: of the page of the widget alone, for one that is
    not drawn yet."""

    id: str
    label: str
    width: int
    html: Markup
    is_whole: bool = False
    path: str = ""


class DrawingTime:
    """The time that is left for the widgets of a page. None: as long as a query may take."""

    def __init__(self, seconds: float | None) -> None:
        self._end = None if seconds is None else time.monotonic() + seconds

    @property
    def left(self) -> float | None:
        return None if self._end is None else max(self._end - time.monotonic(), 0.0)

    @property
    def is_spent(self) -> bool:
        return self._end is not None and time.monotonic() >= self._end


def draw(visit: Visit, widget: Mapping[str, Any], time_left: DrawingTime) -> Drawn:
    """One widget. What is wrong with it is said in its place."""
    label = str(widget["label"])
    id, width = f"widget{widget['id']}", min(max(int(widget["width_units"] or 4), 1), 4)
    kind = kind_of(str(widget["extension_id"]))
    if kind is None:
        text = _("Widgets of the kind {kind} are not drawn here.", kind=str(widget["extension_id"]))
        return Drawn(id, label, width, _note(text))
    path = f"{SHOWN}/widgets/{widget['id']}"
    if time_left.is_spent:
        return Drawn(id, label, width, Markup(), path=path)
    try:
        html, is_whole = drawn(visit, kind, widget, time_left)
    except HelpdeskError as error:
        is_late = isinstance(error, TimedOut) and time_left.left is not None
        return Drawn(id, label, width, Markup() if is_late else _wrong(error), path=path if is_late else "")
    return Drawn(id, label, width, html, is_whole)


def drawn(visit: Visit, kind: WidgetKind, widget: Mapping[str, Any], time_left: DrawingTime) -> tuple[Markup, bool]:
    """The HTML of a widget, and whether it has a heading and a frame of its own. Raises the errors of its query."""
    return _DRAWERS[kind.draws](visit, kind, widget, time_left)


def draw_list(visit: Visit, found: Mapping[str, Any], time_left: DrawingTime) -> Drawn:
    """One list of a tab of lists."""
    id, label, path = f"list{found['id']}", str(found["name"]), f"{SHOWN}/lists/{found['id']}"
    if time_left.is_spent:
        return Drawn(id, label, 4, Markup(), path=path)
    columns = found.get("columns")
    try:
        html = _records_of(
            visit,
            str(found["context"]),
            list_query(found),
            columns if isinstance(columns, list) else [],
            found["render_limit"],
            time_left,
        )
    except HelpdeskError as error:
        is_late = isinstance(error, TimedOut) and time_left.left is not None
        return Drawn(id, label, 4, Markup() if is_late else _wrong(error), path=path if is_late else "")
    return Drawn(id, label, 4, html)


def list_query(found: Mapping[str, Any]) -> str:
    """The search of a list, with its order."""
    order = found.get("render_sort")
    sort = [f"{'' if is_rising else '-'}{name}" for name, is_rising in order.items()] if isinstance(order, dict) else []
    return sorted_query(",".join(sort), "", str(found.get("params_required_query") or ""))


def source_of(widget: Mapping[str, Any]) -> str:
    """The text of a widget as it was written, "" for none."""
    params = _params(widget)
    return next((str(params[name]) for name in TEXT_KEYS if params.get(name)), "")


def text_of(visit: Visit, widget: Mapping[str, Any]) -> str:
    """The text of a widget as clean HTML, for a frame. Raises NotFound for a widget without one."""
    kind = kind_of(str(widget["extension_id"]))
    if kind is None or kind.draws not in ("text", "html"):
        raise NotFound(_("The widget has no text."))
    source = source_of(widget)
    is_html = kind.draws == "html"
    filled = _filled(visit, source, is_html=is_html)
    return clean_html(filled) if is_html else markdown_to_html(filled)


# -- kinds -------------------------------------------------------------------------------------------------------------


def _number(visit: Visit, kind: WidgetKind, widget: Mapping[str, Any], time_left: DrawingTime) -> tuple[Markup, bool]:
    table = _queried(visit, widget, time_left)
    found = [(row[0].text, row[place], table.columns[place]) for row in table.rows for place in table.numbers[:1]][
        :MAX_TILES
    ]
    if not found:
        return _note(_("Nothing was found.")), False
    tiles = [
        Tile(str(widget["label"]) if len(found) == 1 else name, "chart", _value(visit, cell, column), cell.path)
        for name, cell, column in found
    ]
    return ui.tiles(tiles), len(found) == 1


def _columns(visit: Visit, kind: WidgetKind, widget: Mapping[str, Any], time_left: DrawingTime) -> tuple[Markup, bool]:
    return _columns_of(visit, widget, _queried(visit, widget, time_left))


def _columns_of(visit: Visit, widget: Mapping[str, Any], table: QueryTable) -> tuple[Markup, bool]:
    if not table.rows or not table.numbers:
        return _note(_("Nothing was found.")), False
    if table.is_negative or len(table.numbers) > MAX_SERIES:
        return _table_html(visit, widget, table), False
    series = [
        Series(
            table.columns[place].label,
            [row[place].number or 0 for row in table.rows],
            paths=[row[place].path for row in table.rows],
        )
        for place in table.numbers
    ]
    names = [_place(visit, row[0].text) for row in table.rows]
    places, marks = [name for name, _short in names], [short for _name, short in names]
    return charts.columns(str(widget["label"]), places, series, table.columns[0].label, marks=marks), True


def _place(visit: Visit, text: str) -> tuple[str, str]:
    """The name of a place on the axis, and a short one: days in words."""
    if _DAY.fullmatch(text):
        with contextlib.suppress(ValueError):  # no such day: a value that only looks like one
            return ui.day(visit, date.fromisoformat(text))
    return text, text if len(text) <= MAX_MARK_CHARS else f"{text[: MAX_MARK_CHARS - 1]}…"


def _bars(visit: Visit, kind: WidgetKind, widget: Mapping[str, Any], time_left: DrawingTime) -> tuple[Markup, bool]:
    return _bars_of(visit, widget, _queried(visit, widget, time_left))


def _bars_of(visit: Visit, widget: Mapping[str, Any], table: QueryTable) -> tuple[Markup, bool]:
    if not table.rows or not table.numbers:
        return _note(_("Nothing was found.")), False
    if table.is_negative:
        return _table_html(visit, widget, table), False
    place = table.numbers[0]
    bars = [(row[0].text, row[place].number or 0, row[place].path) for row in table.rows]
    if len(bars) > MAX_BARS:
        rest = sum(value for _name, value, _path in bars[MAX_BARS - 1 :])
        bars = [*bars[: MAX_BARS - 1], (_("Others"), rest, "")]
    return charts.rows(str(widget["label"]), bars, lambda value: ui.number(visit, value)), True


def _points(visit: Visit, kind: WidgetKind, widget: Mapping[str, Any], time_left: DrawingTime) -> tuple[Markup, bool]:
    return _points_of(widget, _result(visit, widget, time_left))


def _points_of(widget: Mapping[str, Any], result: Mapping[str, Any]) -> tuple[Markup, bool]:
    series = [each for each in points_of(result) if each[1]][:MAX_SERIES]
    return (charts.points(str(widget["label"]), series), True) if series else (_note(_("Nothing was found.")), False)


def _table(visit: Visit, kind: WidgetKind, widget: Mapping[str, Any], time_left: DrawingTime) -> tuple[Markup, bool]:
    table = _queried(visit, widget, time_left)
    return (_table_html(visit, widget, table) if table.rows else _note(_("Nothing was found."))), False


def _kata(visit: Visit, kind: WidgetKind, widget: Mapping[str, Any], time_left: DrawingTime) -> tuple[Markup, bool]:
    """A chart in KATA: each data query of its datasets, drawn by its format."""
    queries = _kata_queries(str(_params(widget).get("datasets_kata") or ""))
    if not queries:
        raise BadDataQuery(_("the widget has no data query"))
    parts = []
    for name, query in queries:
        label = str(widget["label"]) if len(queries) == 1 else f"{widget['label']}: {name}"
        one = {**widget, "label": label, "params": {"data_query": query}}
        parts.append(_by_format(visit, one, _result(visit, one, time_left)))
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


def _by_format(visit: Visit, widget: Mapping[str, Any], result: Mapping[str, Any]) -> tuple[Markup, bool]:
    format = result["_"]["format"]
    if format == "scatterplot":
        return _points_of(widget, result)
    table = table_of(visit, result)
    if format in ("timeseries", "categories"):
        return _columns_of(visit, widget, table)
    if format == "pie":
        return _bars_of(visit, widget, table)
    return (_table_html(visit, widget, table) if table.rows else _note(_("Nothing was found."))), False


def _list(visit: Visit, kind: WidgetKind, widget: Mapping[str, Any], time_left: DrawingTime) -> tuple[Markup, bool]:
    params = _params(widget)
    required, query = str(params.get("query_required") or ""), str(params.get("query") or "")
    columns = params.get("columns")
    limit = str(params.get("render_limit") or "")
    return _records_of(
        visit,
        str(params.get("context") or ""),
        " ".join(filter(None, (_filled(visit, required), _filled(visit, query)))),
        columns if isinstance(columns, list) else [],
        int(limit) if is_whole(limit, 3) else 10,
        time_left,
    ), False


def _board(visit: Visit, kind: WidgetKind, widget: Mapping[str, Any], time_left: DrawingTime) -> tuple[Markup, bool]:
    params = _params(widget)
    record_type = _listed_type(visit, str(params.get("context") or ""))
    query = _filled(visit, str(params.get("query_required") or ""))
    return board.board(visit, widget, record_type, query, str(params.get("field") or ""), time_left.left), False


def _framed(visit: Visit, kind: WidgetKind, widget: Mapping[str, Any], time_left: DrawingTime) -> tuple[Markup, bool]:
    if not source_of(widget).strip():
        return _note(_("There is no text yet.")), False
    source = f"{SHOWN}/texts/{widget['id']}"
    return Markup(fragment("parts/widget_text.html", label=str(widget["label"]), source=source)), False


_DRAWERS = {
    "number": _number,
    "columns": _columns,
    "bars": _bars,
    "points": _points,
    "table": _table,
    "kata": _kata,
    "list": _list,
    "board": _board,
    "text": _framed,
    "html": _framed,
}


# -- what they share ---------------------------------------------------------------------------------------------------


def _params(widget: Mapping[str, Any]) -> Mapping[str, Any]:
    params = widget.get("params")
    return params if isinstance(params, dict) else {}


def _filled(visit: Visit, text: str, *, is_html: bool = False) -> str:
    """A text with its placeholders of the worker who looks, such as {{current_worker_id}}."""
    values = {"worker": visit.actor.worker_id}
    return records.reading(
        visit.ctx,
        lambda tx: Placeholders(visit.ctx, tx, values, as_caller=True).fill(text, "" if is_html else None),
    )


def _result(visit: Visit, widget: Mapping[str, Any], time_left: DrawingTime) -> dict[str, Any]:
    q = str(_params(widget).get("data_query") or "")
    if not q.strip():
        raise BadDataQuery(_("the widget has no data query"))
    q = _filled(visit, q)
    name = type_named(q, {})
    if name and not name.startswith(_READING):
        raise BadDataQuery(_("data queries of the type {type} are not run on pages", type=name))
    return evaluate(visit.ctx, q, {}, time_left.left)


def _queried(visit: Visit, widget: Mapping[str, Any], time_left: DrawingTime) -> QueryTable:
    return table_of(visit, _result(visit, widget, time_left))


def _value(visit: Visit, cell: TableCell, column: TableColumn) -> str:
    if cell.number is None:
        return cell.text or "–"
    return ui.short_duration(int(cell.number)) if column.is_time else ui.number(visit, cell.number)


def _table_html(visit: Visit, widget: Mapping[str, Any], table: QueryTable) -> Markup:
    def value(cell: TableCell, column: TableColumn) -> str:
        return _value(visit, cell, column)

    return Markup(fragment("parts/widget_table.html", label=str(widget["label"]), table=table, value=value))


def _records_of(
    visit: Visit, context: str, query: str, names: Sequence[object], limit: int, time_left: DrawingTime
) -> Markup:
    """The first records that a search finds, with the way to all of them. Raises NotFound, BadQuery."""
    record_type = _listed_type(visit, context)
    is_tickets = record_type.uri == inbox.URI
    columns = _list_columns(visit, record_type, names, (SUBJECT,) if is_tickets else ())
    expand = ",".join(filter(None, (LABEL, *(each.expand for each in columns))))
    query = sorted_query(inbox.SORT if is_tickets else "", "", query)
    request = SearchRequest(query, min(max(limit, 1), MAX_LIST_ROWS), 1, expand, seconds=time_left.left)
    found = records.search(visit.ctx, record_type.uri, request)
    rows = found["results"][:MAX_LIST_ROWS]  # the query may name another limit
    return Markup(
        fragment(
            "parts/widget_list.html",
            visit=visit,
            columns=[(shown(each.label), each.kind) for each in columns],
            rows=[[each.cell(visit, row, None) for each in columns] for row in rows],
            total=found["total"],
            path=lookup.found_at(record_type.uri, query),
        )
    )


def _listed_type(visit: Visit, context: str) -> RecordType:
    """The type that a widget names. Raises NotFound for one without a list."""
    registry = visit.service.registry
    record_type = registry.find(context) or registry.find(context.rpartition(".contexts.")[2])
    if record_type is None or not record_type.offers("search"):
        raise NotFound(_("There is no list of {name}.", name=context[:80]))
    return record_type


def _list_columns(
    visit: Visit, record_type: RecordType, names: Sequence[object], own: tuple[ListColumn, ...]
) -> list[ListColumn]:
    """The columns of a list: its label, then those that are named and exist, by the names of keys or of filters; else
    those that lists begin with."""
    available = worklist_columns.available(visit.ctx, record_type, own)
    spellings = [(name, name.removesuffix(".id"), name.removesuffix("_id")) for name in map(str, names)]
    keys = [key for each in spellings for key in each if key in available]
    keys = keys or [name for name in worklists.FIRST if name in available][: worklists.MOST_FIRST]
    chosen = [key for key in dict.fromkeys([LABEL, *keys]) if key != record_type.label_column]
    return [available[key] for key in chosen][:MAX_LIST_COLUMNS]


def _note(text: str) -> Markup:
    return Markup('<p class="muted" dir="auto">{}</p>').format(text)


def _wrong(error: HelpdeskError) -> Markup:
    message = ui.sentence(error.message)
    advice = _("Change the widget, or ask whoever looks after the page.")
    return Markup('<p class="wrong" dir="auto">{}</p><p class="muted">{}</p>').format(message, advice)
