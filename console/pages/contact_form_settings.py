"""Settings › Channels › Help center › Contact form: forms with their fields, a preview, the switch, and codes for
websites."""

from collections.abc import Iterator
from typing import Any

from markupsafe import escape

from console.forms.controls import Control
from console.forms.record_form import OpenForm, RecordForm
from console.forms.record_pages import RecordPages, declare_pages
from console.html.form import Form, sentence
from console.html.ui import Option
from console.http.page_response import PageResponse, see
from console.http.routes import page
from console.http.visit import Visit
from console.lists import lookup
from console.lists.worklist import Worklist, declare
from console.pages.help_center_settings import CONTACT, TABS
from server.errors import HelpdeskError
from server.help_center import contact_forms, form_previews
from server.record_types.shared import brands
from server.record_types.shared.contact_fields import CONDITIONS, FILLABLE, MAX_FORM_FIELDS
from server.records import custom_fields, records
from server.translation import N_, _

URI, BASE = "contact_form", CONTACT
BLANK_ROWS = 3  # rows in which further fields can be chosen
ROWS = "field_rows"  # a field of the form: the number of rows for custom fields that it has
LIST = declare(
    Worklist(
        URI,
        BASE,
        N_("Contact forms"),
        ("_label", "brand_id", "group_id", "slug", "language", "is_on"),
        sort="name",
        none=N_("No contact form matches."),
        empty=N_("A contact form is a page of the help center on which visitors write to a group."),
        new=(f"{BASE}/new", N_("New contact form")),
        row=f"{BASE}/{{id}}",
        tabs=tuple(TABS),
        tabs_label=N_("Help center"),
    )
)
FORM = RecordForm(
    URI,
    (
        Control("name", N_("Title"), ""),
        Control("brand_id", N_("Brand"), "", none=""),
        Control("slug", N_("Address"), N_("Below /contact, such as sales. Blank: /contact itself."), kind="line"),
        Control("language", N_("Language"), N_("A tag such as en or pt-BR. Blank: for all languages."), kind="line"),
        Control("intro", N_("Text above the fields"), N_("In Markdown."), kind="area", attributes={"rows": 4}),
        Control("group_id", N_("Group"), "", none="", heading=N_("Tickets")),
        Control("bucket_id", N_("Bucket"), "", none=N_("Default bucket")),
        Control("is_name_required", N_("Visitors have to enter a name"), "", heading=N_("What visitors enter")),
        Control("has_files", N_("Visitors can add files"), ""),
        Control(
            "consent_text",
            N_("Consent text"),
            N_("Visitors have to agree to it. In Markdown; blank: none."),
            kind="area",
            attributes={"rows": 3},
        ),
        Control(
            "confirms_address",
            N_("Confirm the address"),
            N_("The ticket is created after the visitor has followed a link in an email."),
            heading=N_("Abuse and websites"),
        ),
        Control(
            "has_proof",
            N_("Proof of work"),
            N_("The browser works for a second. Without scripts, visitors confirm their address."),
        ),
        Control(
            "frame_origins",
            N_("Websites that may show it in a frame"),
            N_("One per line, such as https://example.com."),
            kind="area",
            attributes={"rows": 2, "spellcheck": "false"},
        ),
    ),
    has_customs=False,
)


def _open(visit: Visit, id: int) -> OpenForm:
    """The form, with rows for custom fields."""
    fields = FORM.open(visit, id)
    stored = list(fields.stored.get("form_fields") or [])
    values: dict[str, str] = {}
    for place, each in enumerate(stored):
        values |= {
            f"field_{place}": str(each["field_id"]),
            f"required_{place}": "1" if each["is_required"] else "",
            f"if_{place}": str(each["if_field_id"] or ""),
            f"value_{place}": each["if_value"],
        }
    names = [
        f"{part}_{place}" for place in range(_rows(visit, stored)) for part in ("field", "required", "if", "value")
    ]
    own = [Control(name, is_own=True, is_drawn=True, kind="line") for name in names]
    fields.controls = (*fields.controls, *own)
    return fields.fill(**(dict.fromkeys(names, "") | values | ({} if id else _obvious_place(visit))))


def _obvious_place(visit: Visit) -> dict[str, str]:
    """What a new form begins with: the only brand; the only group, else that which alone works for the brand, else
    the default group, unless it works for another brand."""
    known = records.reading(visit.ctx, brands.all_brands)
    brand = known[0] if len(known) == 1 else None
    groups = [int(group_id) for group_id, _name in lookup.choices(visit, "group")]
    own = brand.group_ids.intersection(groups) if brand else frozenset()
    chosen = next((each for each in (groups, [*own]) if len(each) == 1), [])
    if not chosen:
        defaults = [int(group_id) for group_id, _name in lookup.choices(visit, "group", "default:yes")]
        chosen = [each for each in defaults if not own or each in own]
    return {"brand_id": str(brand.id) if brand else "", "group_id": str(chosen[0]) if chosen else ""}


def _rows(visit: Visit, stored: list[Any]) -> int:
    submitted = visit.form.integer(ROWS, 0, 0, MAX_FORM_FIELDS) if visit.is_post else 0
    return max(submitted, min(len(stored) + BLANK_ROWS, MAX_FORM_FIELDS))


def _form_fields(visit: Visit, fields: OpenForm, form: Form) -> dict[str, Any]:
    """The custom fields of the submitted form in their order; nothing if it has no rows for them, as an undo."""
    if ROWS not in visit.form:
        return {}
    items = [
        {
            "field_id": form.text(f"field_{place}"),
            "is_required": form.text(f"required_{place}") or "0",
            "if_field_id": form.text(f"if_{place}") or "0",
            "if_value": form.text(f"value_{place}"),
        }
        for place in range(_rows(visit, []))
        if form.text(f"field_{place}")
    ]
    return {"form_fields": items}


def _show(visit: Visit, fields: OpenForm) -> PageResponse:
    """The form, and for a stored one its switch, its preview and what to copy."""
    record = records.retrieve(visit.ctx, URI, fields.id) if fields.id else {}
    address = form_previews.form_address(visit.ctx, fields.id) if fields.id else ""
    brand = form_previews.brand_of(visit.ctx, record["brand_id"]) if record else None
    rows = sum(1 for each in fields.controls if each.name.startswith("field_"))
    definitions = list(custom_fields.fields_on(visit.ctx, visit.service.registry.type("ticket"), ()))
    return fields.render(
        "contact_form.html",
        base=BASE,
        record=record,
        brand=brand,
        acknowledges=bool(record)
        and contact_forms.is_acknowledged(visit.service, record["group_id"], record["bucket_id"]),
        address=address,
        preview=form_previews.preview_address(visit.ctx, fields.id) if fields.id else "",
        codes=list(_codes(address, record)) if address else [],
        rows=range(rows),
        rows_name=ROWS,
        choices=_choices(definitions, FILLABLE),
        conditions=_choices(definitions, CONDITIONS),
        tabs=TABS,
    )


def _choices(definitions: list[Any], kinds: frozenset[str]) -> list[Option]:
    return [("", _("None")), *((str(each.id), each.name) for each in definitions if each.kind in kinds)]


def _codes(address: str, record: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """What to copy for a website: title, note, text."""
    title = escape(record["name"])
    script = f"{address.partition('/contact')[0]}/static/contact_embed.js"
    yield _("Plain link"), _("For any page or email."), f'<a href="{address}">{title}</a>'
    yield (
        _("Frame"),
        _("On the websites that you list above."),
        f'<iframe src="{address}?embed=1" title="{title}" width="100%" height="800" style="border: 0"></iframe>',
    )
    yield (
        _("Dialog"),
        _("The link opens the form over the page; without scripts it is a plain link."),
        f'<script src="{script}" defer></script>\n<a href="{address}" data-contact-form>{title}</a>',
    )


declare_pages(
    RecordPages(
        BASE,
        _open,
        _show,
        LIST,
        access="proven admin",
        more=_form_fields,
        stays_open=True,
        created=N_("{name} created. Nobody sees it until you switch it on."),
        deleted="",
    )
)


@page("POST", f"{BASE}/{{id}}/switch", "proven admin")
def switch(visit: Visit) -> PageResponse:
    """Switches a form on or off."""
    is_on = visit.form.flag("on")
    form = lookup.record(visit, URI, visit.id)
    try:
        records.update(visit.ctx, URI, visit.id, {"is_on": "1" if is_on else "0"})
    except HelpdeskError as error:
        visit.flash(sentence(error.message))
        return see(f"{BASE}/{visit.id}")
    text = N_("Visitors can now open {name}.") if is_on else N_("{name} is switched off.")
    visit.flash(_(text, name=form["name"]))
    return see(f"{BASE}/{visit.id}")


@page("POST", f"{BASE}/{{id}}/delete", "proven admin")
def delete(visit: Visit) -> PageResponse:
    """Deletes a form; its tickets stay."""
    form = lookup.record(visit, URI, visit.id)
    records.delete(visit.ctx, URI, visit.id)
    visit.flash(_("{name} deleted.", name=form["name"]))
    return see(BASE)
