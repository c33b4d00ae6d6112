"""Creates, edits and deletes records of any type with a form that is built from the type. Types with pages of their own
redirect administrators there."""

from collections.abc import Mapping
from typing import Any

from console.forms import examples
from console.forms.record_form import OpenForm, RecordForm
from console.forms.record_pages import RecordPages, declare_pages
from console.html import drafts, ui
from console.html.form import Form
from console.html.rendering import render
from console.html.ui import Sample
from console.http.page_response import PageResponse, see
from console.http.routes import page
from console.http.visit import Visit
from console.lists.lookup import LABEL
from console.pages.jump import place_of
from server.errors import HelpdeskError
from server.record_types.record_type import RecordType
from server.record_types.shared import paths
from server.records import records
from server.translation import _, ngettext

FORM_BYTES = 4 * 1024 * 1024  # bytes of a form with texts; the API accepts larger ones
NAMED_LOSSES = 4  # said after saving; the page lists all
CONFIRM = "confirm"  # confirms a deletion although other records use the record
SAMPLED = 3  # fields in the sample request of a page


@page("GET", "/records/{type}/{id}/delete")
def show_delete(visit: Visit) -> PageResponse:
    """Whether a record shall be deleted. Raises NotFound, Forbidden."""
    return _own_page(visit) or _delete(visit, _type(visit), Form())


@page("POST", "/records/{type}/{id}/delete")
def delete(visit: Visit) -> PageResponse:
    """Delete a record."""
    record_type, own = _type(visit), _own_page(visit)
    if own is not None:
        return own
    label = records.retrieve(visit.ctx, record_type.uri, visit.id, LABEL)[LABEL]
    try:
        records.delete(visit.ctx, record_type.uri, visit.id, is_confirmed=visit.form.flag(CONFIRM))
    except HelpdeskError as error:
        if error.details.get(CONFIRM):
            return _delete(visit, record_type, Form(), error.message.partition(" Send confirm=1")[0])
        return _delete(visit, record_type, Form().refuse(error))
    drafts.is_saved(visit)
    visit.flash(_("{name} deleted.", name=label))
    return see(_list(record_type))


def _with_losses(text: str, record: Mapping[str, Any]) -> str:
    """The message after saving, with what mail leaves out of a template or signature."""
    lost = str(record.get("left_out") or "").split("\n")
    if not lost[0]:
        return text
    left = len(lost) - NAMED_LOSSES
    more = ngettext("and {count} more", "and {count} more", left) if left > 0 else ""
    parts = "; ".join(filter(None, (*lost[:NAMED_LOSSES], more)))
    return " ".join((text, _("Left out of emails: {parts}", parts=parts)))


def _list(record_type: RecordType) -> str:
    """The list of a type, the start where it has none."""
    return f"/search/{record_type.uri}" if record_type.offers("search") else "/"


def _type(visit: Visit) -> RecordType:
    """Raises NotFound."""
    return visit.service.registry.type(visit.arguments["type"])


def _own_page(visit: Visit) -> PageResponse | None:
    """The page of its own for such a record, which may ask for the password again; None if there is none. Raises
    NotFound, Forbidden."""
    uri = _type(visit).uri
    own = place_of(visit, uri, visit.record_id)
    if own and visit.record_id and not visit.actor.is_admin:
        records.retrieve(visit.ctx, uri, visit.record_id)
    return see(own) if own else None


def _open(visit: Visit, id: int) -> OpenForm:
    """Raises NotFound, Forbidden, NotOffered."""
    uri = _type(visit).uri
    if not id:
        records.require(visit.ctx, uri, "create")
        return RecordForm(uri).open(visit).fill(**examples.chosen(visit, examples.EXAMPLES.get(uri, ())))
    return RecordForm(uri).open(visit, id)


def _created(visit: Visit, fields: OpenForm, record: Mapping[str, Any]) -> PageResponse:
    visit.flash(_with_losses(_("{label} created.", label=record[LABEL]), record))
    return see(paths.record(fields.type.uri, record["id"]))


def _saved(visit: Visit, fields: OpenForm, record: Mapping[str, Any]) -> PageResponse:
    fields.flash_saved(_with_losses(_("{name} saved.", name=record[LABEL]), record))
    return see(paths.record(fields.type.uri, fields.id))


def _form(visit: Visit, fields: OpenForm) -> PageResponse:
    uri, name = fields.type.uri, ui.in_sentence(fields.type.label_names[0])
    label = records.retrieve(visit.ctx, uri, fields.id, LABEL)[LABEL] if fields.id else ""
    return fields.render(
        "record_form.html",
        sample=_sample(fields),
        starts=[] if fields.id else examples.options(examples.EXAMPLES.get(uri, ())),
        title=_("Edit {label}", label=label) if fields.id else _("New {record}", record=name),
        back=paths.record(uri, fields.id) if fields.id else _list(fields.type),
    )


def _delete(visit: Visit, record_type: RecordType, form: Form, users: str = "") -> PageResponse:
    """The question before a record is deleted. users: what uses it, for another question."""
    uri = record_type.uri
    label = records.retrieve(visit.ctx, uri, visit.id, LABEL)[LABEL]
    records.require(visit.ctx, uri, "delete", visit.id)
    sample = Sample("DELETE", f"/rest/records/{uri}/{visit.id}.json")
    return render(
        visit,
        "record_delete.html",
        409 if users else 200,
        form=form,
        label=label,
        back=paths.record(uri, visit.id),
        sample=sample,
        users=users,
        confirm=CONFIRM,
    )


def _sample(fields: OpenForm) -> Sample:
    """The request that the form stands for, with the first fields of it."""
    named = [each.name for each in fields.controls if each.kind in ("line", "email", "choice", "tick")][:SAMPLED]
    sent = [
        (f"fields[{name}]", fields.before.get(name) or "0" if name.startswith("is_") else fields.before.get(name))
        for name in named
    ]
    if fields.id:
        return Sample("PUT", f"/rest/records/{fields.type.uri}/{fields.id}.json", sent)
    return Sample("POST", f"/rest/records/{fields.type.uri}/create.json", sent)


declare_pages(
    RecordPages(
        "/records/{type}",
        _open,
        _form,
        one="/records/{type}/{id}/edit",
        access="worker",
        form_bytes=FORM_BYTES,
        takes_up=True,
        instead=_own_page,
        after_create=_created,
        after_save=_saved,
        deleted="",
    )
)
