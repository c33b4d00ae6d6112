"""Two contacts or organizations made one: the other is chosen, both are seen side by side, then they are merged."""

from functools import partial

from console.html.form import Form
from console.html.rendering import render
from console.http.page_response import PageResponse, see
from console.http.routes import page
from console.http.visit import Visit
from console.lists import lookup
from server.errors import HelpdeskError
from server.people import merging
from server.people.merging import MergePreview
from server.record_types.shared import paths
from server.records import records
from server.translation import _

OTHER, PREFIX, TAKEN = "other", "take_", "other"


def _show(visit: Visit, uri: str) -> PageResponse:
    """The record to merge with; once it is chosen, both side by side. Raises NotFound, Forbidden."""
    form = Form.from_values({OTHER: visit.query.text(OTHER, "")})
    if not form.get(OTHER):
        return _page(visit, uri, form)
    try:
        return _page(visit, uri, form, _compared(visit, uri, form))
    except HelpdeskError as error:
        return _page(visit, uri, form.refuse(error))


def _merge(visit: Visit, uri: str) -> PageResponse:
    """Merge the other one into this. Raises NotFound, Forbidden."""
    form = Form.sent(visit.form, (OTHER,))
    try:
        preview = _compared(visit, uri, form)
        chosen = {
            name: str(other)
            for name, (_kept, other) in preview.differing.items()
            if visit.form.text(f"{PREFIX}{name}", "") == TAKEN
        }
        merging.merge(visit.ctx, uri, visit.id, [preview.source["id"]], chosen)
    except HelpdeskError as error:
        return _page(visit, uri, form.refuse(error))
    visit.flash(_("Merged into {label}.", label=records.retrieve(visit.ctx, uri, visit.id)["_label"]))
    return see(paths.record(uri, visit.id))


for each in merging.OFFERED:
    page("GET", f"/records/{each}/{{id}}/merge")(partial(_show, uri=each))
    page("POST", f"/records/{each}/{{id}}/merge", creates=True)(partial(_merge, uri=each))


def _compared(visit: Visit, uri: str, form: Form) -> MergePreview:
    other = int(lookup.chosen_id(visit, uri, form.get(OTHER)) or 0)
    return merging.compare(visit.ctx, uri, visit.id, other)


def _page(visit: Visit, uri: str, form: Form, preview: MergePreview | None = None) -> PageResponse:
    return render(
        visit,
        "record_merge.html",
        form=form,
        kept=records.retrieve(visit.ctx, uri, visit.id),
        uri=uri,
        type_name=visit.service.registry.type(uri).label_names[0],
        choose=lookup.choosable(visit, uri, "", form.get(OTHER)),
        prefix=PREFIX,
        found=preview,
        shown=merging.in_words(visit.ctx, uri, preview) if preview else None,
        here=paths.record(uri, visit.id),
    )
