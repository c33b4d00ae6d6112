"""Draws lists: the first records that a search finds, and how many there are of each kind."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from console.html import ui
from console.html.templates import fragment
from console.http.visit import Visit
from console.lists import worklist_columns
from console.lists.lookup import LABEL, found_at
from console.lists.worklist_columns import ListColumn
from console.pages import worklists
from console.pages.workspaces.drawing import Drawing, listed_type, params_of, rendered, rendered_search, text_param
from console.pages.workspaces.widget_kinds import WidgetKind
from console.tickets import inbox
from server.digits import is_whole
from server.errors import BadDataQuery, BadQuery
from server.queries.query_run import evaluate
from server.record_types import describe
from server.record_types.record_type import RecordType
from server.record_types.shared import paths
from server.records import records
from server.records.records import SearchRequest
from server.search.query_texts import sorted_query
from server.translation import N_, _, shown

MAX_ROWS = 25
MAX_COLUMNS = 6
MAX_SUBTOTALS = 8
SUBJECT = ListColumn(
    LABEL, N_("Ticket"), lambda visit, row, more: ui.link(paths.ticket(row["mask"]), row["subject"]), kind="main"
)
# Columns as older packages name them: t_updated_date and m_worker_id for updated and worker, cf_7 for custom field 7.
_OLD_PREFIX, _OLD_SUFFIX = re.compile(r"\A[a-z]{1,2}_(?=[a-z])"), re.compile(r"(?:_date|_at|_id)\Z")
_OLD_CUSTOM = re.compile(r"cf_([0-9]{1,12})")


def widget_list(visit: Visit, kind: WidgetKind, widget: Mapping[str, Any], drawing: Drawing) -> tuple[Markup, bool]:
    """The list of a widget."""
    columns, limit = params_of(widget).get("columns"), text_param(widget, "render_limit")
    html = _first_records(
        visit,
        listed_type(visit, text_param(widget, "context")),
        rendered_search(visit, widget, drawing),
        columns if isinstance(columns, list) else [],
        int(limit) if is_whole(limit, 3) else 10,
        drawing,
    )
    return html, False


def tab_list(visit: Visit, stored: Mapping[str, Any], drawing: Drawing) -> Markup:
    """A list of a tab of lists. Raises NotFound, BadQuery, TimedOut."""
    record_type, columns = listed_type(visit, str(stored["context"])), stored.get("columns")
    sort, unknown = _sort(record_type, stored.get("render_sort"))
    own = rendered(visit, str(stored.get("params_required_query") or ""), drawing)
    html = _first_records(
        visit,
        record_type,
        sorted_query(sort, "", own),
        columns if isinstance(columns, list) else [],
        stored["render_limit"],
        drawing,
        by=str(stored.get("render_subtotals") or ""),
    )
    remarks = []
    if unknown:
        remarks.append(_("It cannot be sorted by {names}.", names=", ".join(unknown)[:200]))
    if stored.get("params") or stored.get("params_required"):
        remarks.append(_("It has filters of a former version, which are not applied. Write them as a search."))
    return html + Markup("").join(Markup('<p class="muted" dir="auto">{}</p>').format(each) for each in remarks)


def list_query(visit: Visit, stored: Mapping[str, Any]) -> str:
    """The search of a list of a tab, with its order, as its form has it."""
    record_type = visit.service.registry.find(str(stored["context"]))
    sort = _sort(record_type, stored.get("render_sort"))[0] if record_type is not None else ""
    return sorted_query(sort, "", str(stored.get("params_required_query") or ""))


def _sort(record_type: RecordType, order: object) -> tuple[str, list[str]]:
    """The order of a list as in searches, and the columns that it cannot be sorted by."""
    filters, sort, unknown = describe.sort_filters(record_type), [], []
    for column, is_rising in order.items() if isinstance(order, dict) else ():
        name = next((filters[each] for each in _spellings(str(column)) if each in filters), "")
        if name:
            sort.append(f"{'' if is_rising else '-'}{name}")
        else:
            unknown.append(str(column))
    return ",".join(sort), unknown


def _spellings(name: str) -> list[str]:
    """The names that a column may have here, the most exact first.

    >>> _spellings("t_updated_date"), _spellings("owner.id"), _spellings("cf_7")
    (['t_updated_date', 'updated_date', 'updated'], ['owner.id', 'owner'], ['custom_7'])
    """
    custom = _OLD_CUSTOM.fullmatch(name)
    if custom:
        return [f"custom_{custom[1]}"]
    names = [name, name.removesuffix(".id"), name.removesuffix("_id")]
    names.append(_OLD_PREFIX.sub("", name))
    names.append(_OLD_SUFFIX.sub("", names[-1]))
    return list(dict.fromkeys(names))


def _first_records(
    visit: Visit,
    record_type: RecordType,
    query: str,
    names: Sequence[object],
    limit: int,
    drawing: Drawing,
    *,
    by: str = "",
) -> Markup:
    """The first records that a search finds, with the way to all of them. by: the column to count by, "" for none.
    Raises BadQuery, TimedOut."""
    is_tickets = record_type.uri == inbox.URI
    columns = _columns(visit, record_type, names, (SUBJECT,) if is_tickets else ())
    expand = ",".join(filter(None, (LABEL, *(each.expand for each in columns))))
    query = sorted_query(inbox.SORT if is_tickets else "", "", query)
    request = SearchRequest(query, min(max(limit, 1), MAX_ROWS), 1, expand, seconds=drawing.left)
    results = records.search(visit.ctx, record_type.uri, request)
    rows = results["results"][:MAX_ROWS]  # the query may name another limit
    return Markup(
        fragment(
            "parts/widget_list.html",
            visit=visit,
            columns=[(shown(each.label), each.kind) for each in columns],
            rows=[[each.cell(visit, row, None) for each in columns] for row in rows],
            total=results["total"],
            path=found_at(record_type.uri, query),
            counts=_counts(visit, record_type, query, by, drawing) if by and rows else [],
        )
    )


def _counts(
    visit: Visit, record_type: RecordType, query: str, by: str, drawing: Drawing
) -> list[tuple[str, float, str]]:
    """How many records have each value of a column, with their lists; [] for a column that is not counted by."""
    for name in _spellings(by):
        q = f"type:worklist.subtotals of:{record_type.uri} by:[{name}~{MAX_SUBTOTALS}] query:({query}) format:pie"
        try:
            result = evaluate(visit.ctx, q, {}, drawing.left)
        except (BadDataQuery, BadQuery):
            continue
        series = result["_"].get("series") or {}
        return [
            (str(label), count, found_at(record_type.uri, str((series.get(label) or {}).get("query") or query)))
            for label, count in result["data"]
        ]
    return []


def _columns(
    visit: Visit, record_type: RecordType, names: Sequence[object], own: tuple[ListColumn, ...]
) -> list[ListColumn]:
    """The columns of a list: its label, then those that are named and exist, by the names of keys or of filters; else
    those that lists begin with."""
    available = worklist_columns.available(visit.ctx, record_type, own)
    keys = [next((key for key in _spellings(str(name)) if key in available), "") for name in names]
    keys = [key for key in keys if key]
    keys = keys or [name for name in worklists.FIRST if name in available][: worklists.MOST_FIRST]
    chosen = [key for key in dict.fromkeys([LABEL, *keys]) if key != record_type.label_column]
    return [available[key] for key in chosen][:MAX_COLUMNS]
