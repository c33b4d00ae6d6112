"""Custom fields and fieldsets: what administrators add to records of every type."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from console.forms import owners
from console.forms.controls import Control
from console.forms.record_form import OpenForm, RecordForm
from console.forms.record_pages import RecordPages, declare_pages
from console.html.form import Form, sentence
from console.html.rendering import render
from console.html.ui import quoted
from console.http.page_response import PageResponse, see
from console.http.routes import page
from console.http.visit import Visit
from console.lists import lookup
from console.lists.list_moves import move_entry
from server.errors import HelpdeskError, Invalid
from server.record_types.custom_field import MAX_DECIMALS, MAX_OPTIONS
from server.record_types.record_type import RecordType
from server.record_types.shared.custom import KINDS, LINKS
from server.record_types.shared.custom.definitions import KIND_NOTES, KIND_SETTINGS, FieldDefinition
from server.record_types.traits import CustomFields
from server.records import custom_fields, deleted_fields
from server.records.custom_fields import MAX_COUNTED
from server.translation import N_, N_pgettext, _, in_sentence, lazy_gettext, ngettext, shown, sort_key

URI, SET_URI = "custom_field", "custom_fieldset"
BASE = "/admin/fields"
SETS = f"{BASE}/sets"
TEXT_BYTES = 1024 * 1024  # size of a form with many options
RENAMING = {"new_name": N_("New name"), "option": N_("Option")}
SET_FORM = RecordForm(
    SET_URI,
    (
        Control("name", N_("Name"), hint=""),
        Control("owner", hint=N_("Only they see its fields and can change them. Administrators see all fields.")),
    ),
)

OPTIONS_HINT = lazy_gettext(
    "One per line, at most {max_options}. Records keep an option that you remove. To rename an option, use its own "
    "form.",
    max_options=MAX_OPTIONS,
)
NUMBER = {"required": True}
SETTINGS = {
    each.name: each
    for each in (
        Control("options", N_("Options"), OPTIONS_HINT, "area", attributes={"rows": 8, "required": True}),
        Control("context", N_("Record type"), N_("The record type it links to."), "choice"),
        Control("currency_id", N_("Currency"), N_("Cannot be changed while records have amounts."), "choice"),
        Control(
            "decimal_at", N_("Decimals"), kind="number", attributes={**NUMBER, "min": "0", "max": str(MAX_DECIMALS)}
        ),
        Control("value_min", N_pgettext("range", "From"), kind="number", attributes=NUMBER),
        Control("value_max", N_pgettext("range", "To"), kind="number", attributes=NUMBER),
        Control(
            "send_notifications",
            N_("Notify workers when they are chosen, and of what happens to the record"),
            kind="tick",
        ),
    )
}


@page("GET", BASE, "admin")
def show_list(visit: Visit) -> PageResponse:
    """The fields of one type, or which types have some."""
    listed = custom_fields.all_fields(visit.ctx)
    sets = lookup.search(visit, SET_URI, "sort:name")
    name = visit.query.text("type", "")
    if not name:
        counts = [
            (each, len(listed.get(each.context, ())), sum(one["context"] == each.context for one in sets))
            for each in _types(visit)
        ]
        some = [each for each in counts if any(each[1:])]
        return render(
            visit,
            "fields.html",
            types=_type_choices(visit),
            counts=some,
            filters=Form.from_values({"type": "ticket"}),
            **_deleted(visit),
        )
    record_type = _type(visit, name)
    fields = listed.get(record_type.context, ())
    own = [each for each in sets if each["context"] == record_type.context]
    sections: list[tuple[dict[str, Any] | None, list[FieldDefinition]]]
    sections = [(None, [each for each in fields if each.fieldset_id == 0])]
    sections += [(one, [each for each in fields if each.fieldset_id == one["id"]]) for one in own]
    return render(
        visit,
        "fields_of.html",
        record_type=record_type,
        sections=sections,
        types=_type_choices(visit),
        kinds=KINDS,
        filters=Form.from_values({"type": record_type.uri}),
        uses=custom_fields.uses(visit.ctx, (each.id for each in fields)),
        most=MAX_COUNTED,
        attached=custom_fields.attached(visit.ctx, (each["id"] for each in own)),
    )


# -- fields ------------------------------------------------------------------------------------------------------------


def _kinds(visit: Visit) -> PageResponse | None:
    """The kinds to choose from, before the form of a new field."""
    if visit.is_post or visit.record_id or visit.query.text("kind", "") in KINDS:
        return None
    record_type, fieldset = _type(visit, visit.query.text("type", "")), visit.query.text("set", "0")
    return render(visit, "field_kinds.html", record_type=record_type, notes=KIND_NOTES, kinds=KINDS, fieldset=fieldset)


def _open(visit: Visit, id: int) -> OpenForm:
    """The form of a field, or of a new one of the type and kind in the address. Raises Invalid, NotFound."""
    field = lookup.record(visit, URI, id) if id else {}
    record_type, kind = _type_of(visit, field), _kind_of(visit, field)
    fields = _controls(visit, record_type, kind, exists=bool(id)).open(visit, id)
    if not id:
        fields.draft_key = f"{visit.path}?type={record_type.uri}&kind={kind}"
        set_id = visit.query.text("set", "0")
        return fields.fill(decimal_at="2", value_min="0", value_max="100", custom_fieldset_id=set_id)
    params = dict(field["params"])
    if "options" in params:
        params["options"] = "\n".join(map(str, params["options"] or []))
    target = visit.service.registry.find(str(params.get("context") or ""))
    params |= {"context": target.uri} if target is not None else {}
    return fields.fill(**{name: str(params.get(name, "")) for name in KIND_SETTINGS.get(kind, ())})


def _type_of(visit: Visit, stored: Mapping[str, Any]) -> RecordType:
    """The type that a field or fieldset is for; of a new one, the address names it."""
    return _type(visit, stored.get("context") or visit.query.text("type", ""))


def _kind_of(visit: Visit, stored: Mapping[str, Any]) -> str:
    """The kind of a field, which never changes. Raises Invalid for a new one without a kind."""
    kind = str(stored.get("type") or visit.query.text("kind", ""))
    if kind not in KINDS:
        raise Invalid(_("Choose the kind of field first."))
    return kind


def _stored_values(visit: Visit, fields: OpenForm, form: Form) -> dict[str, Any]:
    """The values of a field that are not controls of their own."""
    kind = _kind_of(visit, fields.stored)
    if fields.id:  # settings that the form does not show stay as they are
        return {"params": fields.stored["params"] | custom_fields.settings_of(kind, form.values)}
    return custom_fields.new_field(visit.ctx, _type_of(visit, {}).context, kind, form.values)


@page("POST", f"{BASE}/{{id}}/move", "admin")
def move(visit: Visit) -> PageResponse:
    """Move a field up or down: by one, or by as many as it was dragged."""
    field = lookup.record(visit, URI, visit.id)
    try:
        move_entry(
            visit,
            str(field["name"]),
            lambda by: custom_fields.move(visit.ctx, visit.id, by),
            custom_fields.MAX_ORDERED,
        )
    except HelpdeskError as error:
        visit.flash(sentence(error.message))
    return see(f"{_list_path(_type(visit, field['context']))}#field-{visit.id}")


@page("POST", f"{BASE}/{{id}}/rename", "admin")
def rename(visit: Visit) -> PageResponse:
    """Rename an option, also on the records that have it."""
    renaming = Form.sent(visit.form, ("option", "new_name"))
    try:
        count = custom_fields.rename_option(visit.ctx, visit.id, renaming.get("option"), renaming.get("new_name"))
    except HelpdeskError as error:
        return _form(visit, _open(visit, visit.id), renaming.refuse(error))
    visit.flash(
        ngettext(
            "Option renamed, with its value in {count} record.",
            "Option renamed, with its value in {count} records.",
            count,
        )
    )
    return see(f"{BASE}/{visit.id}")


@page("GET", f"{BASE}/{{id}}/delete", "admin")
def show_delete(visit: Visit) -> PageResponse:
    """The data that is lost with a field."""
    field = lookup.record(visit, URI, visit.id)
    count = custom_fields.uses(visit.ctx, [visit.id]).get(visit.id, 0)
    back = _list_path(_type(visit, field["context"]))
    return render(
        visit, "field_delete.html", field=field, count=count, back=back, kind=KINDS[field["type"]], most=MAX_COUNTED
    )


@page("POST", f"{BASE}/{{id}}/delete", "admin")
def delete(visit: Visit) -> PageResponse:
    """Remove a field with its values."""
    field = lookup.remove(visit, URI)
    visit.flash(_("Field {name} deleted.", name=field["name"]), f"{BASE}/deleted/{visit.id}/restore")
    return see(_list_path(_type(visit, field["context"])))


@page("POST", f"{BASE}/deleted/{{id}}/restore", "admin")
def restore(visit: Visit) -> PageResponse:
    """Bring a deleted field back with its values."""
    field = deleted_fields.restore(visit.ctx, visit.id)
    visit.flash(_("Field {name} restored.", name=field["name"]))
    return see(_list_path(_type(visit, field["context"])))


@page("POST", f"{BASE}/deleted/{{id}}/remove", "admin")
def remove(visit: Visit) -> PageResponse:
    """Remove a deleted field for good."""
    field = deleted_fields.remove(visit.ctx, visit.id)
    visit.flash(_("Field {name} permanently deleted.", name=field["name"]))
    return see(BASE)


# -- fieldsets ---------------------------------------------------------------------------------------------------------


@page("GET", f"{SETS}/{{id}}/delete", "admin")
def show_delete_set(visit: Visit) -> PageResponse:
    """The data that is lost with a fieldset."""
    found = lookup.record(visit, SET_URI, visit.id)
    fields = [
        each for each in custom_fields.all_fields(visit.ctx).get(found["context"], ()) if each.fieldset_id == visit.id
    ]
    return render(
        visit,
        "fieldset_delete.html",
        fieldset=found,
        fields=fields,
        back=_list_path(_type(visit, found["context"])),
        uses=custom_fields.uses(visit.ctx, (each.id for each in fields)),
        most=MAX_COUNTED,
        count=custom_fields.attached(visit.ctx, [visit.id]).get(visit.id, 0),
    )


@page("POST", f"{SETS}/{{id}}/delete", "admin")
def delete_set(visit: Visit) -> PageResponse:
    """Remove a fieldset with its fields and their values."""
    found = lookup.remove(visit, SET_URI)
    visit.flash(_("Fieldset {name} deleted.", name=found["name"]))
    return see(_list_path(_type(visit, found["context"])))


# -- what they share ---------------------------------------------------------------------------------------------------


def _deleted(visit: Visit) -> dict[str, Any]:
    """The fields that can come back, with the names of their types."""
    found = deleted_fields.list_deleted_fields(visit.ctx)
    types = {each.record["context"]: visit.service.registry.find(each.record["context"]) for each in found}
    names = {context: shown(each.label_names[1]) if each else context for context, each in types.items()}
    return {"deleted": found, "names": names, "kinds": KINDS, "most": MAX_COUNTED}


def _types(visit: Visit) -> list[RecordType]:
    """The types that can have custom fields, by name."""
    found = [each for each in visit.service.registry if each.has(CustomFields)]
    return sorted(found, key=lambda each: in_sentence(each.label_names[1]))


def _type_choices(visit: Visit) -> list[tuple[str, str]]:
    return [(each.uri, shown(each.label_names[1])) for each in _types(visit)]


def _type(visit: Visit, name: str) -> RecordType:
    """Raises NotFound for an unknown type, Invalid for one without custom fields."""
    found = visit.service.registry.type(name)
    if not found.has(CustomFields):
        raise Invalid(_("{label_names} have no custom fields.", label_names=shown(found.label_names[1])))
    return found


def _list_path(record_type: RecordType) -> str:
    return f"{BASE}?type={quoted(record_type.uri)}"


def _controls(visit: Visit, record_type: RecordType, kind: str, exists: bool) -> RecordForm:
    """The form of a field of a kind. exists: whether it changes a field, and so needs a name for programs."""
    code = {"spellcheck": "false", "autocapitalize": "off", "class_": "code", "required": exists, "maxlength": 200}
    hint = N_("Letters, digits and underscores. Replaces the ID of the field in the API and in scripts.")
    blank = N_(
        "Letters, digits and underscores. Replaces the ID of the field in the API and in scripts. "
        "Blank: derived from the name."
    )
    params = [replace(each, is_own=True, also=("params",)) for each in _settings(visit, kind)]
    own = lookup.choices(visit, SET_URI, f"context:{record_type.uri} sort:name")
    sets = [
        ("0", _("every {type}", type=in_sentence(record_type.label_names[0]))),
        *((id, _("{name} (fieldset)", name=label)) for id, label in own),
    ]
    hint_of_place = N_("Fields of a fieldset appear only on records that it is attached to.")
    place = Control("custom_fieldset_id", N_("Appears on"), hint_of_place, "choice" if own else "hidden", sets, none="")
    return RecordForm(
        URI,
        (
            Control("name", N_("Name"), hint="", attributes={"maxlength": 128}),
            Control("uri", N_("Name for programs"), hint if exists else blank, "line", attributes=code),
            *params,
            place,
        ),
    )


def _settings(visit: Visit, kind: str) -> list[Control]:
    """The controls for the settings of a kind."""
    settings = [SETTINGS[name] for name in KIND_SETTINGS.get(kind, ())]
    if kind in ("L", LINKS):
        targets = [(each.uri, shown(each.label_names[1])) for each in visit.service.registry]
        targets.sort(key=lambda each: sort_key(each[1]))
        return [replace(settings[0], options=targets)]
    return [replace(settings[0], options=lookup.choices(visit, "currency"))] if kind == "Y" else settings


def _form(visit: Visit, fields: OpenForm, renaming: Form | None = None) -> PageResponse:
    record_type, kind = _type_of(visit, fields.stored), _kind_of(visit, fields.stored)
    renamed = renaming or Form.from_values({"option": "", "new_name": ""})
    options = [(each, each) for each in fields.values.get("options").splitlines()] if fields.id else []
    return fields.render(
        "field.html",
        renamed.status,
        renaming=renamed,
        field=fields.stored,
        kind=kind,
        kind_name=shown(KINDS[kind]),
        note=KIND_NOTES[kind],
        record_type=record_type,
        options=options,
        back=_list_path(record_type),
        labels={**fields.labels, **RENAMING},
        uses=custom_fields.uses(visit.ctx, [fields.id]).get(fields.id, 0) if fields.id else 0,
        most=MAX_COUNTED,
    )


def _set_form(visit: Visit, fields: OpenForm) -> PageResponse:
    record_type = _type_of(visit, fields.stored)
    return fields.render(
        "fieldset.html",
        fieldset=fields.stored,
        record_type=record_type,
        back=_list_path(record_type),
    )


declare_pages(
    RecordPages(
        BASE,
        _open,
        _form,
        instead=_kinds,
        form_bytes=TEXT_BYTES,
        takes_up=True,
        more=_stored_values,
        created=N_("Field {label} created: custom_{id}."),
        saved=N_("Field {name} saved."),
        leave=lambda visit, field: _list_path(_type_of(visit, field)),
        deleted="",
    )
)
declare_pages(
    RecordPages(
        SETS,
        SET_FORM,
        _set_form,
        first={"owner": owners.EVERYBODY},
        more=lambda visit, fields, form: {} if fields.id else {"context": _type_of(visit, fields.stored).context},
        created=N_("Fieldset {label} created. Add fields to it."),
        saved=N_("Fieldset {name} saved."),
        leave=lambda visit, each: f"{_list_path(_type_of(visit, each))}#set-{each['id']}",
        deleted="",
    )
)
