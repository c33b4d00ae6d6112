"""Draws the fields of a record, and sheets: tables whose columns are written in KATA."""

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from console.html import ui
from console.html.templates import fragment
from console.http.visit import Visit
from console.lists import worklist_columns
from console.lists.lookup import LABEL, found_at
from console.pages import worklists
from console.pages.workspaces import chart_widgets
from console.pages.workspaces.drawing import (
    Drawing,
    listed_type,
    muted,
    params_of,
    query_result,
    rendered,
    rendered_row,
    text_param,
)
from console.pages.workspaces.query_table import MAX_COLUMNS, MAX_ROWS, QueryTable, TableCell, TableColumn, drawable
from console.pages.workspaces.widget_kinds import WidgetKind
from server.dataclass import dataclass
from server.digits import is_whole
from server.errors import Invalid
from server.kata.evaluate import Environment, Generic
from server.kata.kata_parser import parse
from server.record_types.shared import paths
from server.records import records
from server.translation import _, shown

MAX_FIELDS = 30
USUAL_FIELDS = 8
# The kinds of columns of a sheet that have no value to show.
_WITHOUT_VALUE = ("icon", "interaction", "selection", "toolbar")

Widget = Mapping[str, Any]


# -- one record --------------------------------------------------------------------------------------------------------


def fields(visit: Visit, kind: WidgetKind, widget: Widget, drawing: Drawing) -> tuple[Markup, bool]:
    """The fields of a record that the widget names, else the first ones. Raises NotFound, Forbidden, Invalid."""
    if not text_param(widget, "context"):
        raise Invalid(_("the widget has no record"), field="of")
    record_type = listed_type(visit, text_param(widget, "context"))
    id = rendered(visit, text_param(widget, "context_id"), drawing).strip()
    if not is_whole(id, 12) or int(id) == 0:
        raise Invalid(_("the widget has no record"), field="record")
    available = worklist_columns.available(visit.ctx, record_type, ())
    names = property_names(params_of(widget).get("properties"))
    spellings = [(name, name.removesuffix(".id"), name.removesuffix("_id")) for name in names]
    keys = list(dict.fromkeys(next((key for key in each if key in available), "") for each in spellings))
    columns = [available[key] for key in keys if key and key != LABEL][:MAX_FIELDS]
    usual = [*(name for name in worklists.FIRST if name in available), *available]
    columns = columns or [available[key] for key in dict.fromkeys(usual) if key != LABEL][:USUAL_FIELDS]
    expand = ",".join(filter(None, (LABEL, *(each.expand for each in columns))))
    record = records.retrieve(visit.ctx, record_type.uri, int(id), expand)
    html = fragment(
        "parts/widget_record.html",
        label=str(record[LABEL]),
        path=paths.ticket(record["mask"]) if record_type.uri == "ticket" else paths.record(record_type.uri, int(id)),
        facts=[(shown(each.label), each.cell(visit, record, None)) for each in columns],
    )
    return Markup(html), False


def property_names(value: object) -> list[str]:
    """The names of fields in a setting: a list, or lists of fieldsets."""
    if isinstance(value, str):
        return [each.strip() for each in value.split(",") if each.strip()]
    if isinstance(value, dict):
        value = list(value.values())
    if not isinstance(value, list):
        return []
    return [
        name for each in value for name in (property_names(each) if isinstance(each, (list, dict)) else [str(each)])
    ]


# -- sheets ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SheetColumn:
    """A column of a sheet. kind: how its values are shown. key: of the rows."""

    kind: str
    key: str
    label: str
    params: Mapping[str, Any]


def sheet(visit: Visit, kind: WidgetKind, widget: Widget, drawing: Drawing) -> tuple[Markup, bool]:
    """The rows of a data query with the columns that the widget names, else as a table. Raises KataSyntax and the
    errors of the query."""
    columns = _columns(str(params_of(widget).get("sheet_kata") or ""))
    if not columns:
        return chart_widgets.table(visit, kind, widget, drawing)
    result = query_result(visit, widget, drawing)
    data = result["data"]
    if isinstance(data, dict) and "rows" in data:
        data = data["rows"]
    rows = list(data.values()) if isinstance(data, dict) else data
    rows = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    if not rows:
        return muted(_("Nothing was found.")), False
    shown_columns = [each for each in columns if each.kind not in _WITHOUT_VALUE][:MAX_COLUMNS]
    cells = [[_cell(visit, each, row) for each in shown_columns] for row in rows[:MAX_ROWS]]
    titles = [
        TableColumn(each.label, is_number=any(row[place].number is not None for row in cells))
        for place, each in enumerate(shown_columns)
    ]
    return chart_widgets.table_html(visit, widget, QueryTable(titles, cells, len(rows) > MAX_ROWS)), False


def _columns(text: str) -> list[SheetColumn]:
    """The columns of a sheet in KATA: `columns` with `text/<key>` and so on. Raises KataSyntax."""
    tree = Generic(Environment()).value(parse(text).tree) if text.strip() else {}
    columns = tree.get("columns") if isinstance(tree, dict) else None
    return _read_columns(columns)


def sheet_columns(columns: object) -> list[SheetColumn]:
    """The columns of a sheet that have a value to show."""
    return [each for each in _read_columns(columns) if each.kind not in _WITHOUT_VALUE][:MAX_COLUMNS]


def sheet_text(visit: Visit, column: SheetColumn, row: Mapping[str, Any]) -> str:
    """The text of a cell."""
    return sheet_cell(visit, column, row)[0]


def sheet_cell(visit: Visit, column: SheetColumn, row: Mapping[str, Any]) -> tuple[str, str]:
    """The text of a cell, and the path that it leads to, "" for none."""
    cell = _cell(visit, column, row)
    return cell.text if cell.number is None else f"{cell.number:g}", cell.path


def _read_columns(columns: object) -> list[SheetColumn]:
    sheet_columns = []
    for name, settings in columns.items() if isinstance(columns, dict) else ():
        kind, _slash, key = name.partition("/")
        settings = settings if isinstance(settings, dict) else {}
        params = settings.get("params")
        label = str(settings.get("label") or key.strip("_").replace("_", " ").capitalize())
        sheet_columns.append(SheetColumn(kind, key, label, params if isinstance(params, dict) else {}))
    return sheet_columns


def _cell(visit: Visit, column: SheetColumn, row: Mapping[str, Any]) -> TableCell:
    params = column.params
    if params.get("value_template"):
        return TableCell(_cut(rendered_row(visit, str(params["value_template"]), row)), None, _path(visit, column, row))
    value = row.get(str(params.get("value_key") or params.get("label_key") or column.key), params.get("value"))
    path = _path(visit, column, row)
    if column.kind == "date" and is_whole(str(value or ""), 12):
        return TableCell(ui.soon(visit, int(str(value))), None, path)
    if column.kind == "time_elapsed" and isinstance(value, (int, float)):
        return TableCell(ui.short_duration(int(drawable(value))), None, path)
    if isinstance(value, (int, float)) and not isinstance(value, bool) and column.kind != "card":
        return TableCell("", drawable(value), path)
    return TableCell("" if value is None else _cut(str(value)), None, path)


def _cut(text: str) -> str:
    return text[: worklist_columns.MAX_CELL_CHARS]


def _path(visit: Visit, column: SheetColumn, row: Mapping[str, Any]) -> str:
    """Where a cell leads: to its record, or to the records that it counts; "" for nowhere."""
    find, params, key = visit.service.registry.find, column.params, column.key
    if column.kind == "card":
        prefix = key.removesuffix("_label")
        record_type = find(str(_named(row, params, "context_key", f"{prefix}_context") or params.get("context") or ""))
        id = str(_named(row, params, "id_key", f"{prefix}id") or "")
        return paths.record(record_type.uri, int(id)) if record_type is not None and is_whole(id, 12) else ""
    if column.kind in ("search", "search_button"):
        record_type = find(
            str(_named(row, params, "context_key", f"{key}_query_context") or params.get("context") or "")
        )
        query = _named(row, params, "query_key", f"{key}_query") or params.get("query") or ""
        return found_at(record_type.uri, str(query)) if record_type is not None and query else ""
    return ""


def _named(row: Mapping[str, Any], params: Mapping[str, Any], name: str, usual: str) -> Any:
    return row.get(str(params.get(name) or usual))


# -- what is not drawn -------------------------------------------------------------------------------------------------


def missing(visit: Visit, kind: WidgetKind, widget: Widget, drawing: Drawing) -> tuple[Markup, bool]:
    """The reason why a widget is not drawn."""
    return Markup(fragment("parts/widget_missing.html", missing=shown(kind.missing))), False
