"""Two contacts or organizations made one: the other is chosen, both are seen side by side, then they are merged."""

from typing import Any

from console.html.form import Form
from console.html.rendering import render
from console.http.page_response import PageResponse, see
from console.http.routes import page
from console.http.visit import Visit
from console.lists import lookup
from server.errors import HelpdeskError
from server.people import merging
from server.people.merging import MergePreview
from server.record_types.field_labels import field_label
from server.record_types.record_type import RecordType
from server.record_types.shared import paths
from server.records import records
from server.translation import _

OTHER, PREFIX, TAKEN = "other", "take_", "other"


@page("GET", "/records/contact/{id}/merge")
def show_contact(visit: Visit) -> PageResponse:
    """The contact to merge with."""
    return _show(visit, "contact")


@page("POST", "/records/contact/{id}/merge", creates=True)
def merge_contact(visit: Visit) -> PageResponse:
    """Merge another contact into this one."""
    return _merge(visit, "contact")


@page("GET", "/records/org/{id}/merge")
def show_organization(visit: Visit) -> PageResponse:
    """The organization to merge with."""
    return _show(visit, "org")


@page("POST", "/records/org/{id}/merge", creates=True)
def merge_organization(visit: Visit) -> PageResponse:
    """Merge another organization into this one."""
    return _merge(visit, "org")


def _show(visit: Visit, uri: str) -> PageResponse:
    """The record to merge with; once it is chosen, both side by side. Raises NotFound, Forbidden."""
    record_type, form = visit.service.registry.type(uri), Form.from_values({OTHER: visit.query.text(OTHER, "")})
    if not form.get(OTHER):
        return _page(visit, record_type, form)
    try:
        return _page(visit, record_type, form, _compared(visit, record_type, form))
    except HelpdeskError as error:
        return _page(visit, record_type, form.refuse(error))


def _merge(visit: Visit, uri: str) -> PageResponse:
    """Merge the other one into this. Raises NotFound, Forbidden."""
    record_type, form = visit.service.registry.type(uri), Form.sent(visit.form, (OTHER,))
    try:
        preview = _compared(visit, record_type, form)
        chosen = {
            name: str(other)
            for name, (_kept, other) in preview.differing.items()
            if visit.form.text(f"{PREFIX}{name}", "") == TAKEN
        }
        merging.merge(visit.ctx, record_type.uri, visit.id, [preview.source["id"]], chosen)
    except HelpdeskError as error:
        return _page(visit, record_type, form.refuse(error))
    visit.flash(_("Merged into {label}.", label=records.retrieve(visit.ctx, record_type.uri, visit.id)["_label"]))
    return see(paths.record(record_type.uri, visit.id))


def _compared(visit: Visit, record_type: RecordType, form: Form) -> MergePreview:
    other = int(lookup.chosen_id(visit, record_type.uri, form.get(OTHER)) or 0)
    return merging.compare(visit.ctx, record_type.uri, visit.id, other)


def _page(visit: Visit, record_type: RecordType, form: Form, preview: MergePreview | None = None) -> PageResponse:
    uri = record_type.uri
    record = records.retrieve(visit.ctx, uri, visit.id)
    return render(
        visit,
        "record_merge.html",
        form=form,
        kept=record,
        uri=uri,
        type_name=record_type.label_names[0],
        choose=lookup.choosable(visit, uri, "", form.get(OTHER)),
        prefix=PREFIX,
        found=preview,
        rows=_rows(visit, record_type, preview) if preview else [],
        here=paths.record(uri, visit.id),
        moved=_moved(visit, preview) if preview else [],
        other_label=_label(visit, uri, preview) if preview else "",
    )


def _label(visit: Visit, uri: str, preview: MergePreview) -> str:
    return str(records.retrieve(visit.ctx, uri, preview.source["id"])["_label"])


def _rows(visit: Visit, record_type: RecordType, preview: MergePreview) -> list[tuple[str, str, str, str]]:
    """(field, its name, this one's value, the other's) of what both have another value of."""
    return [
        (
            name,
            field_label(name.removesuffix("_id")),
            _value(visit, record_type, name, present),
            _value(visit, record_type, name, other),
        )
        for name, (present, other) in preview.differing.items()
    ]


def _value(visit: Visit, record_type: RecordType, name: str, value: Any) -> str:
    """A value in words; of a record that it points to, the label."""
    target = getattr(record_type.fields[name], "target", "")
    matches = lookup.search(visit, target, f"id:{value}", lookup.LABEL) if target else []
    return str(matches[0][lookup.LABEL]) if matches else str(value)


def _moved(visit: Visit, preview: MergePreview) -> list[tuple[str, int]]:
    """(what, how many) goes over."""
    registry = visit.service.registry
    return [(registry.type(uri).label_names[1], count) for uri, count in sorted(preview.moved.items())]
