"""Custom fields and fieldsets: what administrators add to records of every type. Source: Record addressing, Custom
field; the rest is ours."""

from typing import Any

from console import drafts, lists, owners
from console.forms import Form, sentence
from console.page_response import PageResponse, see
from console.rendering import render
from console.routes import page
from console.ui import quoted
from console.visit import Visit
from server.desk import custom_fields, deleted_fields, records
from server.desk.custom_fields import MAX_COUNTED
from server.errors import HelpdeskError, Invalid
from server.records.base import RecordType
from server.records.custom_field import MAX_DECIMALS, MAX_OPTIONS
from server.records.shared.custom import GEO, KINDS, LINKS, SLIDER
from server.records.shared.custom.definitions import FieldDefinition
from server.records.traits import CustomFields
from server.translation import N_, _, in_sentence, ngettext, shown, sort_key

URI, SET_URI = "custom_field", "custom_fieldset"
BASE = "/admin/fields"
SETS = f"{BASE}/sets"
TEXT_BYTES = 1024 * 1024  # of a form with many options
# What each kind is for, in the order in which they are offered.
NOTES = {
    "S": N_("A few words, such as an order number."),
    "T": N_("Room for paragraphs."),
    "N": N_("A whole number."),
    "O": N_("A number with digits behind the point."),
    "Y": N_("An amount of one currency."),
    "C": N_("Yes or no."),
    "D": N_("One of a list of options."),
    "X": N_("Any number of a list of options."),
    "M": N_("Any number of short texts."),
    "E": N_("A day and time."),
    "U": N_("An address that can be opened."),
    "W": N_("One of the workers."),
    "L": N_("One record of another type."),
    LINKS: N_("Any number of records of another type."),
    "F": N_("One file."),
    "I": N_("Any number of files."),
    SLIDER: N_("A number between two ends."),
    GEO: N_("A place, by latitude and longitude."),
}
# The settings that a kind has.
PARAMS: dict[str, tuple[str, ...]] = {
    "D": ("options",), "X": ("options",), "L": ("context",), LINKS: ("context",), "Y": ("currency_id",),
    "O": ("decimal_at",), SLIDER: ("value_min", "value_max"), "W": ("send_notifications",),
}  # fmt: skip
LINES = ("name", "uri", "custom_fieldset_id")
LABELS = {
    "name": N_("Name"),
    "uri": N_("Name for programs"),
    "custom_fieldset_id": N_("Stands on"),
    "options": N_("Options"),
    "context": N_("Record type"),
    "currency_id": N_("Currency"),
    "decimal_at": N_("Digits behind the point"),
    "value_min": N_("From"),
    "value_max": N_("To"),
    "send_notifications": N_("Notifications"),
    "new_name": N_("New name"),
    "option": N_("Option"),
    "owner": N_("Belongs to"),
}


@page("GET", BASE, "admin")
def show_list(visit: Visit) -> PageResponse:
    """The fields of one type, or which types have some."""
    listed = custom_fields.all_fields(visit.ctx)
    sets = lists.search(visit, SET_URI, "sort:name")
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
            filters=Form.of({"type": "ticket"}),
            **_deleted(visit),
        )
    record_type = _type(visit, name)
    fields = listed.get(record_type.context, ())
    own = [each for each in sets if each["context"] == record_type.context]
    sections: list[tuple[dict[str, Any] | None, list[FieldDefinition]]]
    sections = [(None, [each for each in fields if each.fieldset_id == 0])]
    sections += [(one, [each for each in fields if each.fieldset_id == one["id"]]) for one in own]
    return render(
        visit, "fields_of.html", record_type=record_type, sections=sections, types=_type_choices(visit), kinds=KINDS,
        filters=Form.of({"type": record_type.uri}),
        uses=custom_fields.uses(visit.ctx, (each.id for each in fields)), most=MAX_COUNTED,
        attached=custom_fields.attached(visit.ctx, (each["id"] for each in own)),
    )  # fmt: skip


# -- fields ------------------------------------------------------------------------------------------------------------


@page("GET", f"{BASE}/new", "admin")
def show_new(visit: Visit) -> PageResponse:
    """The kinds to choose from, then the form for a new field."""
    record_type, kind = _type(visit, visit.query.text("type", "")), visit.query.text("kind", "")
    fieldset = visit.query.text("set", "0")
    if kind not in KINDS:
        return render(visit, "field_kinds.html", record_type=record_type, notes=NOTES, kinds=KINDS, fieldset=fieldset)
    values = {"custom_fieldset_id": fieldset, "decimal_at": "2", "value_min": "0", "value_max": "100"}
    form = Form.of(dict.fromkeys((*LINES, *PARAMS.get(kind, ())), "") | values)
    key = f"{visit.path}?type={record_type.uri}&kind={kind}"
    return _form(visit, drafts.take_up(visit, key, form), record_type, kind, None)


@page("POST", f"{BASE}/new", "admin", form_bytes=TEXT_BYTES)
def create(visit: Visit) -> PageResponse:
    """Make a field."""
    record_type, kind = _type(visit, visit.query.text("type", "")), visit.query.text("kind", "")
    if kind not in KINDS:
        raise Invalid(_("Choose the kind of the field first."))
    form = Form.sent(visit.form, (*LINES, *PARAMS.get(kind, ())))
    uri = form.text("uri") or custom_fields.unused_uri(visit.ctx, form.text("name"))
    fields = {
        "context": record_type.context, "type": kind, "name": form.text("name"), "uri": uri,
        "custom_fieldset_id": form.text("custom_fieldset_id") or "0", "params": _params(form, kind, {}),
        "pos": str(_last_place(visit, record_type)),
    }  # fmt: skip
    try:
        made = records.create(visit.ctx, URI, fields)
    except HelpdeskError as error:
        return _form(visit, _refuse(form, error, kind), record_type, kind, None)
    visit.tell(_("The field {label} is made: custom_{id}.", label=made["_label"], id=made["id"]))
    return see(_list_path(record_type))


@page("GET", f"{BASE}/{{id}}", "admin")
def show(visit: Visit) -> PageResponse:
    """One field to be changed."""
    field = lists.record(visit, URI, visit.id)
    form = drafts.take_up(visit, visit.path, _stored(visit, field))
    return _form(visit, form, _type(visit, field["context"]), field["type"], field)


@page("POST", f"{BASE}/{{id}}", "admin", form_bytes=TEXT_BYTES)
def save(visit: Visit) -> PageResponse:
    """Change a field; its kind stays as it was made."""
    field = lists.record(visit, URI, visit.id)
    record_type, kind = _type(visit, field["context"]), field["type"]
    form = Form.sent(visit.form, (*LINES, *PARAMS.get(kind, ())))
    fields = {name: form.text(name) for name in ("name", "uri")}
    fields["custom_fieldset_id"] = form.text("custom_fieldset_id") or "0"
    try:
        records.update(visit.ctx, URI, visit.id, fields | {"params": _params(form, kind, field["params"])})
    except HelpdeskError as error:
        return _form(visit, _refuse(form, error, kind), record_type, kind, field)
    visit.tell(
        _("The field {name} is saved.", name=form.text("name")), visit.path, **_stored(visit, field).sent_again()
    )
    return see(_list_path(record_type))


@page("POST", f"{BASE}/{{id}}/move", "admin")
def move(visit: Visit) -> PageResponse:
    """Move a field up or down: by one, or by as many as it was dragged."""
    field = lists.record(visit, URI, visit.id)
    one = -1 if visit.form.text("to", "") == "up" else 1
    by = visit.form.integer("by", one, -custom_fields.MAX_ORDERED, custom_fields.MAX_ORDERED)
    try:
        custom_fields.move(visit.ctx, visit.id, by)
        visit.tell(
            _("{name} moved up.", name=field["name"]) if by < 0 else _("{name} moved down.", name=field["name"]),
            visit.path,
            by=str(-by),
        )
    except HelpdeskError as error:
        visit.tell(sentence(error.message))
    return see(f"{_list_path(_type(visit, field['context']))}#field-{visit.id}")


@page("POST", f"{BASE}/{{id}}/rename", "admin")
def rename(visit: Visit) -> PageResponse:
    """Rename an option, also on the records that have it."""
    field, renaming = lists.record(visit, URI, visit.id), Form.sent(visit.form, ("option", "new_name"))
    try:
        count = custom_fields.rename_option(visit.ctx, visit.id, renaming.get("option"), renaming.get("new_name"))
    except HelpdeskError as error:
        record_type = _type(visit, field["context"])
        return _form(visit, _stored(visit, field), record_type, field["type"], field, renaming.refuse(error))
    visit.tell(ngettext("The option is renamed, with its value in {count} record.",
                        "The option is renamed, with its value in {count} records.", count))  # fmt: skip
    return see(f"{BASE}/{visit.id}")


@page("GET", f"{BASE}/{{id}}/delete", "admin")
def show_delete(visit: Visit) -> PageResponse:
    """What is lost with a field."""
    field = lists.record(visit, URI, visit.id)
    count = custom_fields.uses(visit.ctx, [visit.id]).get(visit.id, 0)
    back = _list_path(_type(visit, field["context"]))
    return render(
        visit, "field_delete.html", field=field, count=count, back=back, kind=KINDS[field["type"]], most=MAX_COUNTED
    )


@page("POST", f"{BASE}/{{id}}/delete", "admin")
def delete(visit: Visit) -> PageResponse:
    """Remove a field with its values."""
    field = lists.remove(visit, URI)
    visit.tell(_("The field {name} is deleted.", name=field["name"]), f"{BASE}/deleted/{visit.id}/restore")
    return see(_list_path(_type(visit, field["context"])))


@page("POST", f"{BASE}/deleted/{{id}}/restore", "admin")
def restore(visit: Visit) -> PageResponse:
    """Bring a deleted field back with its values."""
    field = deleted_fields.restore(visit.ctx, visit.id)
    visit.tell(_("The field {name} is back.", name=field["name"]))
    return see(_list_path(_type(visit, field["context"])))


@page("POST", f"{BASE}/deleted/{{id}}/remove", "admin")
def remove(visit: Visit) -> PageResponse:
    """Remove a deleted field for good."""
    field = deleted_fields.remove(visit.ctx, visit.id)
    visit.tell(_("The field {name} is gone for good.", name=field["name"]))
    return see(BASE)


# -- fieldsets ---------------------------------------------------------------------------------------------------------


@page("GET", f"{SETS}/new", "admin")
def show_new_set(visit: Visit) -> PageResponse:
    """The form for a new fieldset."""
    return _set_form(visit, Form.of({"owner": owners.EVERYBODY}), _type(visit, visit.query.text("type", "")), None)


@page("POST", f"{SETS}/new", "admin")
def create_set(visit: Visit) -> PageResponse:
    """Make a fieldset."""
    record_type, form = _type(visit, visit.query.text("type", "")), Form.sent(visit.form, ("name", "owner"))
    try:
        made = records.create(visit.ctx, SET_URI, {"context": record_type.context, **_set_fields(visit, form)})
    except HelpdeskError as error:
        return _set_form(visit, _refuse_owner(form, error), record_type, None)
    visit.tell(_("The fieldset {label} is made. Give it fields.", label=made["_label"]))
    return see(f"{_list_path(record_type)}#set-{made['id']}")


@page("GET", f"{SETS}/{{id}}", "admin")
def show_set(visit: Visit) -> PageResponse:
    """One fieldset to be changed."""
    found = lists.record(visit, SET_URI, visit.id)
    return _set_form(visit, _stored_set(found), _type(visit, found["context"]), found)


@page("POST", f"{SETS}/{{id}}", "admin")
def save_set(visit: Visit) -> PageResponse:
    """Change a fieldset."""
    found, form = lists.record(visit, SET_URI, visit.id), Form.sent(visit.form, ("name", "owner"))
    record_type = _type(visit, found["context"])
    try:
        records.update(visit.ctx, SET_URI, visit.id, _set_fields(visit, form))
    except HelpdeskError as error:
        return _set_form(visit, _refuse_owner(form, error), record_type, found)
    visit.tell(
        _("The fieldset {name} is saved.", name=form.text("name")), visit.path, **_stored_set(found).sent_again()
    )
    return see(f"{_list_path(record_type)}#set-{visit.id}")


@page("GET", f"{SETS}/{{id}}/delete", "admin")
def show_delete_set(visit: Visit) -> PageResponse:
    """What is lost with a fieldset."""
    found = lists.record(visit, SET_URI, visit.id)
    fields = [
        each for each in custom_fields.all_fields(visit.ctx).get(found["context"], ()) if each.fieldset_id == visit.id
    ]
    return render(
        visit, "fieldset_delete.html", fieldset=found, fields=fields, back=_list_path(_type(visit, found["context"])),
        uses=custom_fields.uses(visit.ctx, (each.id for each in fields)), most=MAX_COUNTED,
        count=custom_fields.attached(visit.ctx, [visit.id]).get(visit.id, 0),
    )  # fmt: skip


@page("POST", f"{SETS}/{{id}}/delete", "admin")
def delete_set(visit: Visit) -> PageResponse:
    """Remove a fieldset with its fields and their values."""
    found = lists.remove(visit, SET_URI)
    visit.tell(_("The fieldset {name} is deleted.", name=found["name"]))
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


def _last_place(visit: Visit, record_type: RecordType) -> int:
    """The place behind all fields of a type."""
    fields: tuple[FieldDefinition, ...] = custom_fields.all_fields(visit.ctx).get(record_type.context, ())
    return min(max((each.pos + 1 for each in fields), default=0), custom_fields.MAX_ORDERED - 1)


def _params(form: Form, kind: str, before: dict[str, Any]) -> dict[str, Any]:
    """The settings of a field, with those that the form does not show as they were."""
    given: dict[str, Any] = {name: form.text(name) for name in PARAMS.get(kind, ())}
    if "options" in given:
        given["options"] = [line.strip() for line in given["options"].splitlines() if line.strip()]
    if "send_notifications" in given:
        given["send_notifications"] = "1" if given["send_notifications"] == "1" else "0"
    return before | given


def _stored(visit: Visit, field: dict[str, Any]) -> Form:
    params = dict(field["params"])
    if "options" in PARAMS.get(field["type"], ()):
        params["options"] = "\n".join(map(str, params.get("options") or []))
    if params.get("context"):
        target = visit.service.registry.find(str(params["context"]))
        params["context"] = target.uri if target is not None else params["context"]
    known = {name: params.get(name, "") for name in PARAMS.get(field["type"], ())}
    return Form.of({name: field[name] for name in LINES} | known)


def _refuse(form: Form, error: HelpdeskError, kind: str) -> Form:
    """What is wrong with a setting stands at its field."""
    named = [name for name in PARAMS.get(kind, ()) if name in error.message]
    if error.details.get("field") == "params" and PARAMS.get(kind):
        return form.fail((named or list(PARAMS[kind]))[0], sentence(error.message.removeprefix("params: ")))
    return form.refuse(error)


def _form(
    visit: Visit, form: Form, record_type: RecordType, kind: str, field: dict[str, Any] | None,
    renaming: Form | None = None,
) -> PageResponse:  # fmt: skip
    registry = visit.service.registry
    own = lists.choices(visit, SET_URI, f"context:{record_type.uri} sort:name")
    sets = [(id, _("{name} (fieldset)", name=label)) for id, label in own]
    renamed = renaming or Form.of({"option": "", "new_name": ""})
    options = [(each, each) for each in form.get("options").splitlines()] if field else []
    return render(
        visit,
        "field.html",
        max(form.status, renamed.status),
        form=form,
        renaming=renamed,
        field=field,
        kind=kind,
        kind_name=shown(KINDS[kind]),
        note=NOTES[kind],
        labels=LABELS,
        record_type=record_type,
        params=PARAMS.get(kind, ()),
        sets=[("0", _("every {type}", type=in_sentence(record_type.label_names[0]))), *sets],
        options=options,
        targets=sorted(
            ((each.uri, shown(each.label_names[1])) for each in registry), key=lambda each: sort_key(each[1])
        ),
        currencies=lists.choices(visit, "currency") if kind == "Y" else [],
        back=_list_path(record_type),
        uses=custom_fields.uses(visit.ctx, [field["id"]]).get(field["id"], 0) if field else 0,
        most=MAX_COUNTED,
        max_options=MAX_OPTIONS,
        max_decimals=MAX_DECIMALS,
    )


def _stored_set(found: dict[str, Any]) -> Form:
    return Form.of({"name": found["name"], "owner": f"{found['owner__context']}:{found['owner_id']}"})


def _set_fields(visit: Visit, form: Form) -> dict[str, Any]:
    """What is stored. Raises Invalid."""
    context, id = owners.chosen(visit, form.text("owner"), "owner")
    return {"name": form.text("name"), "owner__context": context, "owner_id": id}


def _refuse_owner(form: Form, error: HelpdeskError) -> Form:
    return form.refuse(error, names={"owner__context": "owner", "owner_id": "owner"})


def _set_form(visit: Visit, form: Form, record_type: RecordType, found: dict[str, Any] | None) -> PageResponse:
    return render(
        visit, "fieldset.html", form.status, form=form, fieldset=found, record_type=record_type, labels=LABELS,
        owners=owners.choosable(visit, form.get("owner")), back=_list_path(record_type),
    )  # fmt: skip
