"""What happened to a record, and the record as programs see it."""

from typing import Any

from console.html import ui
from console.html.form import Form
from console.html.rendering import render
from console.http.page_response import PageResponse
from console.http.routes import page
from console.http.visit import Visit
from console.pages.record.head import head, read
from server.errors import Invalid, TooLarge
from server.records import records
from server.records.records import SearchRequest


@page("GET", "/records/{type}/{id}/activity")
def show_activity(visit: Visit) -> PageResponse:
    """What happened to a record, newest first, as far as the worker may read it. Raises NotFound, Forbidden."""
    sheet = read(visit)
    number = visit.query.integer("page", 1, 1, records.MAX_PAGE)
    q = f"target.{sheet.type.uri}:(id:{sheet.id}) sort:-created,-id"
    entries = records.search(visit.ctx, "activity_log", SearchRequest(q, ui.PAGE_ROWS, number, "_label,actor_"))
    sample = ui.Sample("GET", "/rest/records/activity_log/search.json", [("q", q)])
    return render(visit, "record_activity.html", **head(visit, sheet), entries=entries, sample=sample)


@page("GET", "/records/{type}/{id}/raw")
def show_raw(visit: Visit) -> PageResponse:
    """A record as the API returns it, with the keys in `expand`. Raises NotFound, Forbidden."""
    sheet, form = read(visit), Form.from_values({"expand": visit.query.text("expand", "")})
    uri = sheet.type.uri
    raw: dict[str, Any] = {}
    try:
        raw = records.retrieve(visit.ctx, uri, sheet.id, form.get("expand"))
    except (Invalid, TooLarge) as error:
        form.refuse(Invalid(error.message, field="expand"))
    parameters = [("expand", form.get("expand"))] if form.get("expand") else []
    sample = ui.Sample("GET", f"/rest/records/{uri}/{sheet.id}.json", parameters)
    return render(visit, "record_raw.html", **head(visit, sheet), form=form, raw=raw, sample=sample)
