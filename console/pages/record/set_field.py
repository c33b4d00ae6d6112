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
from server.record_types.record_type import RecordType
from server.record_types.shared import custom
from server.records import records
from server.translation import _, ngettext, shown

PATH = "/records/{type}/set"
UNDO = f"{PATH}/undo"
FORM_BYTES = 1024 * 1024
# What a form for one record asks for, and nobody sets on many: secrets, and what has a syntax of its own.
_SINGLE = ("password", "json", "code", "hidden", "owner")

Texts = str | list[str]  # the value of a control, a list if it has several


@page("GET", PATH)
def show(visit: Visit) -> PageResponse:
    """Which field, then what it becomes. Raises NotFound, NotOffered, Invalid."""
    record_type = _type(visit)
    own = place_of(visit, record_type.uri)
    if own:
        return see(own)
    found = selected_records(visit, record_type.uri)
    return _page(visit, record_type, found, visit.query.text("field", ""), None)


@page("POST", PATH, form_bytes=FORM_BYTES)
def save(visit: Visit) -> PageResponse:
    """Sets the field on each record; refusals are reported with the reason. Raises NotFound, NotOffered, Invalid."""
    record_type = _type(visit)
    own = place_of(visit, record_type.uri)
    if own:
        return see(own)
    found = selected_records(visit, record_type.uri)
    name = visit.form.text("field", "")
    one = _form(visit, record_type, name)
    sent = one.open(visit).send()
    try:
        controls.values_of(visit, sent.controls[0], sent.values)
    except Invalid as error:
        return _page(visit, record_type, found, name, sent.refuse(error))
    texts = _texts(sent, sent.values)
    before, refused = _set(visit, one, {each["id"]: texts for each in found})
    if refused and not before:  # nothing was changed: the same form again, with the reasons
        sent.values.fail("", refusals(refused)[0])
        return _page(visit, record_type, found, name, sent)
    back, undo_path = _back(visit, record_type), UNDO.format(type=record_type.uri)
    flash_undoable(visit, _summary(len(before), refused), undo_path, before, field=name, back=back)
    return see(back)


@page("POST", UNDO)
def undo(visit: Visit) -> PageResponse:
    """Put the field back as each record had it. Raises NotFound, NotOffered, Invalid."""
    record_type = _type(visit)
    before = {id: texts for id, texts in former_values(visit).items() if _is_texts(texts)}
    done, refused = _set(visit, _form(visit, record_type, visit.form.text("field", "")), before)
    told = [_("Undone.")] if done else []
    visit.flash(" ".join([*told, *refusals(refused)]))
    return see(_back(visit, record_type))


def _type(visit: Visit) -> RecordType:
    """Raises NotFound, NotOffered. Each record is asked whether this actor may change it when that is done."""
    record_type = visit.service.registry.type(visit.arguments["type"])
    if not record_type.offers("update"):
        raise NotOffered(_("{records} cannot be changed.", records=record_type.label_names[1]))
    return record_type


def _fields(visit: Visit, record_type: RecordType) -> dict[str, Control]:
    """The fields that can be set, as controls by name, ordered by label. Custom fields of a fieldset are refused for
    records without it."""
    known = RecordForm(record_type.uri, has_customs=False).open(visit).controls
    defined = records.reading(visit.ctx, lambda tx: custom.definitions(tx).fields_of(record_type.context))
    customs = [controls.of_custom(visit.service.registry, each) for each in defined]
    named = [each for each in (*known, *customs) if each.kind not in _SINGLE and not each.is_kept]
    return {each.name: each for each in sorted(named, key=lambda each: shown(each.label).casefold())}


def _form(visit: Visit, record_type: RecordType, name: str) -> RecordForm:
    """The form of one field. Raises Invalid."""
    known = _fields(visit, record_type)
    if name not in known:
        raise Invalid(f"field: '{name[:60]}' cannot be set on several records{nearest(name, known)}", field="field")
    return RecordForm(record_type.uri, (known[name],), has_customs=False)


def _set(visit: Visit, form: RecordForm, wanted: Mapping[int, Texts]) -> tuple[dict[int, Texts], list[str]]:
    """The former values of the changed records by id, and the reasons of refusals."""

    def change(id: int) -> Texts:
        opened = form.open(visit, id)
        fields = controls.values_of(visit, opened.controls[0], _with(opened, wanted[id]))
        records.update(visit.ctx, form.uri, id, fields)
        return _texts(opened, opened.before)

    changed, refused = for_each(wanted, change)
    return dict(changed), refused


def _texts(found: OpenForm, form: Form) -> Texts:
    """The value of a form's only control."""
    control = found.controls[0]
    return form.several[control.name] if control.is_several else form.get(control.name)


def _with(found: OpenForm, texts: Texts) -> Form:
    """A form that has this for its one control."""
    name = found.controls[0].name
    return Form({}, {name: texts}) if isinstance(texts, list) else Form({name: texts})


def _page(
    visit: Visit, record_type: RecordType, found: list[dict[str, Any]], name: str, sent: OpenForm | None
) -> PageResponse:
    """The question for the field; where it is chosen, for its value."""
    known = _fields(visit, record_type)
    only = found[0]["id"] if len(found) == 1 else 0
    fields = sent or (_form(visit, record_type, name).open(visit, *([only] if only else [])) if name else None)
    form = fields.values if fields is not None else Form()
    back = _back(visit, record_type)
    ids = ",".join(str(each["id"]) for each in found)
    return render(
        visit,
        "set_field.html",
        form=form,
        fields=fields,
        found=found,
        name=name,
        ids=ids,
        path=PATH.format(type=record_type.uri),
        back=back,
        type=record_type.uri,
        options=[(each.name, shown(each.label)) for each in known.values()],
        label=lookup.LABEL,
        sample=Sample("PUT", f"/rest/records/{record_type.uri}/1.json", [(f"fields[{name or '...'}]", "...")]),
        again=f"{PATH.format(type=record_type.uri)}?{urlencode({'ids': ids, 'back': back})}",
    )


def _back(visit: Visit, record_type: RecordType) -> str:
    sent = own_path((visit.form if visit.request.method == "POST" else visit.query).text("back", ""))
    if sent.startswith("/tickets/"):
        return sent
    return back_to_list(visit, f"{BASE}/{record_type.uri}", inbox.PATH)


def _is_texts(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, list) and all(isinstance(each, str) for each in value))


def _summary(count: int, refused: list[str]) -> list[str]:
    told = [ngettext("Field set.", "Field set on {count} records.", count)] if count else []
    return [*told, *refusals(refused)]
