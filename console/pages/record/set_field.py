"""Sets a field on several records: each by itself, with the rights of the caller, and with an undo that restores each
value."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from console.forms import controls
from console.forms.controls import Control
from console.forms.record_form import OpenForm, RecordForm
from console.html.form import Form
from console.html.rendering import render
from console.html.ui import Sample
from console.http.page_response import PageResponse, see
from console.http.routes import page
from console.http.visit import Visit, own_path
from console.lists import lookup
from console.lists.selection import (
    back_to_list,
    flash_undoable,
    for_each,
    former_values,
    refusals,
    selected_records,
)
from console.pages.jump import place_of
from console.pages.worklists import BASE
from console.tickets import inbox
from server.errors import Invalid, NotOffered, nearest
from server.people.workspace_pages import SHOWN
from server.record_types.record_type import RecordType
from server.record_types.shared import custom
from server.records import records
from server.translation import _, ngettext, shown

PATH = "/records/{type}/set"
UNDO = f"{PATH}/undo"
FORM_BYTES = 1024 * 1024
# Kinds of fields that are set on one record at a time: secrets, and texts with a syntax of their own.
_SINGLE = ("password", "json", "code", "hidden", "owner")

Texts = str | list[str]  # the value of a control, a list if it has several


@page("GET", PATH)
def show(visit: Visit) -> PageResponse:
    """Shows the choice of a field, then the control for its value. Raises NotFound, NotOffered, Invalid."""
    record_type = _type(visit)
    own_page = place_of(visit, record_type.uri)
    if own_page:
        return see(own_page)
    selected = selected_records(visit, record_type.uri)
    return _page(visit, record_type, selected, visit.query.text("field", ""), None)


@page("POST", PATH, form_bytes=FORM_BYTES)
def save(visit: Visit) -> PageResponse:
    """Sets the field on each record; refusals are reported with the reason. Raises NotFound, NotOffered, Invalid."""
    record_type = _type(visit)
    own_page = place_of(visit, record_type.uri)
    if own_page:
        return see(own_page)
    selected = selected_records(visit, record_type.uri)
    name = visit.form.text("field", "")
    form = _form(visit, record_type, name)
    submitted = form.open(visit).send()
    try:
        controls.values_of(visit, submitted.controls[0], submitted.values)
    except Invalid as error:
        return _page(visit, record_type, selected, name, submitted.refuse(error))
    value = _value(submitted, submitted.values)
    before, refused = _set(visit, form, {each["id"]: value for each in selected})
    if refused and not before:  # nothing was changed: the same form again, with the reasons
        submitted.values.fail("", refusals(refused)[0])
        return _page(visit, record_type, selected, name, submitted)
    back, undo_path = _back(visit, record_type), UNDO.format(type=record_type.uri)
    flash_undoable(visit, _summary(len(before), refused), undo_path, before, field=name, back=back)
    return see(back)


@page("POST", UNDO)
def undo(visit: Visit) -> PageResponse:
    """Restores the former value of each record. Raises NotFound, NotOffered, Invalid."""
    record_type = _type(visit)
    before = {id: value for id, value in former_values(visit).items() if _is_value(value)}
    restored, refused = _set(visit, _form(visit, record_type, visit.form.text("field", "")), before)
    sentences = [_("Undone.")] if restored else []
    visit.flash(" ".join([*sentences, *refusals(refused)]))
    return see(_back(visit, record_type))


def _type(visit: Visit) -> RecordType:
    """Returns the record type of the address. Raises NotFound, NotOffered. The rights on each record are checked when
    it is changed."""
    record_type = visit.service.registry.type(visit.arguments["type"])
    if not record_type.offers("update"):
        raise NotOffered(_("{records} cannot be changed.", records=record_type.label_names[1]))
    return record_type


def settable_fields(visit: Visit, record_type: RecordType) -> dict[str, Control]:
    """The fields that can be set, as controls by name, ordered by label. Custom fields of a fieldset are refused for
    records without it."""
    standard = RecordForm(record_type.uri, has_customs=False).open(visit).controls
    definitions = records.reading(visit.ctx, lambda tx: custom.definitions(tx).fields_of(record_type.context))
    customs = [controls.of_custom(visit.service.registry, each) for each in definitions]
    settable = [each for each in (*standard, *customs) if each.kind not in _SINGLE and not each.is_kept]
    return {each.name: each for each in sorted(settable, key=lambda each: shown(each.label).casefold())}


def _form(visit: Visit, record_type: RecordType, name: str) -> RecordForm:
    """The form of one field. Raises Invalid."""
    fields = settable_fields(visit, record_type)
    if name not in fields:
        raise Invalid(f"field: '{name[:60]}' cannot be set on several records{nearest(name, fields)}", field="field")
    return RecordForm(record_type.uri, (fields[name],), has_customs=False)


def _set(visit: Visit, form: RecordForm, values: Mapping[int, Texts]) -> tuple[dict[int, Texts], list[str]]:
    """Sets the field of each record, by id. Returns the former values of the changed ones, and the reasons of
    refusals."""

    def change(id: int) -> Texts:
        opened = form.open(visit, id)
        fields = controls.values_of(visit, opened.controls[0], _filled(opened, values[id]))
        records.update(visit.ctx, form.uri, id, fields)
        return _value(opened, opened.before)

    changed, refused = for_each(values, change)
    return dict(changed), refused


def _value(opened: OpenForm, form: Form) -> Texts:
    """Returns the value of the only control of a form."""
    control = opened.controls[0]
    return form.several[control.name] if control.is_several else form.get(control.name)


def _filled(opened: OpenForm, value: Texts) -> Form:
    """Returns a form whose only control has this value."""
    name = opened.controls[0].name
    return Form({}, {name: value}) if isinstance(value, list) else Form({name: value})


def _page(
    visit: Visit, record_type: RecordType, selected: list[dict[str, Any]], name: str, submitted: OpenForm | None
) -> PageResponse:
    """Renders the choice of a field; with a name, the control for its value."""
    only = selected[0]["id"] if len(selected) == 1 else 0
    fields = submitted or (_form(visit, record_type, name).open(visit, *([only] if only else [])) if name else None)
    form = fields.values if fields is not None else Form()
    back = _back(visit, record_type)
    ids = ",".join(str(each["id"]) for each in selected)
    return render(
        visit,
        "set_field.html",
        form=form,
        fields=fields,
        selected=selected,
        name=name,
        ids=ids,
        path=PATH.format(type=record_type.uri),
        back=back,
        type=record_type.uri,
        options=[(each.name, shown(each.label)) for each in settable_fields(visit, record_type).values()],
        label=lookup.LABEL,
        sample=Sample("PUT", f"/rest/records/{record_type.uri}/1.json", [(f"fields[{name or '...'}]", "...")]),
        again=f"{PATH.format(type=record_type.uri)}?{urlencode({'ids': ids, 'back': back})}",
    )


def _back(visit: Visit, record_type: RecordType) -> str:
    path = own_path((visit.form if visit.request.method == "POST" else visit.query).text("back", ""))
    if path.startswith(("/tickets/", f"{SHOWN}/")):
        return path
    return back_to_list(visit, f"{BASE}/{record_type.uri}", inbox.PATH)


def _is_value(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, list) and all(isinstance(each, str) for each in value))


def _summary(count: int, refused: list[str]) -> list[str]:
    sentences = [ngettext("Field set.", "Field set on {count} records.", count)] if count else []
    return [*sentences, *refusals(refused)]
