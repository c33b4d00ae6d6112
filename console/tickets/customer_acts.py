"""Changes the customer of a ticket from its page: properties and tags of the contact, a new
contact, a note about them. Each is
a form that returns to the page."""

from typing import Any

from console.http.page_response import PageResponse
from console.http.routes import page
from console.http.visit import Visit
from console.lists import lookup, tagged
from console.tickets.acts import back_to
from console.tickets.customer_card import CONTACT
from console.tickets.show import Ticket, ticket_of_mask
from server.errors import Conflict, Invalid, Required, TooLarge
from server.records import comments, records
from server.records.records import LABEL
from server.tickets import properties
from server.translation import N_, Words, _, shown

# The settable columns with their labels.
COLUMNS: dict[str, Words] = {
    "first_name": N_("First name"),
    "last_name": N_("Last name"),
    "org_id": N_("Organization"),
    "language": N_("Language"),
    "timezone": N_("Time zone"),
    "phone": N_("Phone"),
}


@page("POST", "/tickets/{mask}/customer")
def change_contact(visit: Visit) -> PageResponse:
    """Sets the changed properties of a requester's contact, unless somebody else has changed them since they were
    shown; without the shown values, restores them, as the undo. Raises Invalid, Forbidden."""
    ticket, form = ticket_of_mask(visit), visit.form
    contact_id = _require_requester(ticket, "contact_id", form.id("contact", required=True))
    try:
        fields, expected = _changes(visit)
        before = properties.change(visit.ctx, contact_id, fields, expected, CONTACT) if fields else {}
    except Conflict as error:
        if "now" not in error.details:
            raise
        visit.flash(_("Somebody changed this in the meantime, so nothing was saved."))
        return back_to(visit, ticket)
    except (Invalid, Required) as error:
        visit.flash(error.message)
        return back_to(visit, ticket)
    if before:
        label = shown(COLUMNS[next(iter(fields))])
        undo = {"contact": str(contact_id), "back": form.text("back", ""), **before}
        visit.flash(_("{property} changed.", property=label), visit.path, **undo)
    elif fields:
        visit.flash(_("Undone."))
    return back_to(visit, ticket)


def _changes(visit: Visit) -> tuple[dict[str, str], dict[str, str]]:
    """Returns the values that the worker changed, and the values that the form showed before."""
    form = visit.form
    sent = {each: _value(visit, each) for each in COLUMNS if each in form}
    expected = {each: form.text(f"was_{each}", "") for each in sent if f"was_{each}" in form}
    fields = {each: value for each, value in sent.items() if expected.get(each) != value}
    return fields, {each: expected[each] for each in fields if each in expected}


def _value(visit: Visit, column: str) -> str:
    form, text = visit.form, visit.form.text(column, "").strip()
    if column != "org_id":
        return text
    is_shown = "org_name" in form and text == form.text("org_name", "").strip()  # names are not unique
    return form.text("was_org_id", "") if is_shown else str(lookup.chosen_id(visit, "org", text, column))


def _require_requester(ticket: Ticket, key: str, id: int) -> int:
    """Returns the id of an address or contact. Raises Invalid if it is not of a requester."""
    if not any(each[key] == id for each in (ticket["requesters"] or {}).values()):
        raise Invalid(_("This is not a requester of the ticket."), field=key)
    return id


@page("POST", "/tickets/{mask}/customer/new", creates=True)
def create_contact(visit: Visit) -> PageResponse:
    """Creates the contact of a requester's address. Raises Invalid, Forbidden."""
    ticket, form = ticket_of_mask(visit), visit.form
    address_id = _require_requester(ticket, "id", form.id("address", required=True))
    fields: dict[str, Any] = {name: form.text(name, "").strip() for name in ("first_name", "last_name")}
    org_id = ticket["requesters"][str(address_id)]["org_id"]
    if org_id:
        fields["org_id"] = str(org_id)
    try:
        contact = records.create(visit.ctx, CONTACT, fields | {"email_id": str(address_id)}, LABEL)
    except (Conflict, Invalid, Required) as error:
        visit.flash(error.message)
        return back_to(visit, ticket)
    visit.flash(_("{label} created.", label=contact[LABEL]))
    return back_to(visit, ticket)


@page("POST", "/tickets/{mask}/customer/tags")
def change_tags(visit: Visit) -> PageResponse:
    """Adds and removes tags of a requester's contact by name. Raises Invalid, Forbidden."""
    ticket = ticket_of_mask(visit)
    contact_id = _require_requester(ticket, "contact_id", visit.form.id("record", required=True))
    try:
        tagged.change(visit, CONTACT, contact_id)
    except Invalid as error:
        visit.flash(error.message)
    return back_to(visit, ticket)


@page("POST", "/tickets/{mask}/customer/note", form_bytes=1024 * 1024, creates=True)
def write_note(visit: Visit) -> PageResponse:
    """Adds a note about the contact, which is a comment on it. Raises Invalid, Forbidden."""
    ticket = ticket_of_mask(visit)
    contact_id = _require_requester(ticket, "contact_id", visit.form.id("contact", required=True))
    try:
        comments.on_record(visit.ctx, CONTACT, contact_id, visit.form.text("note", ""), "note")
    except (Invalid, Required, TooLarge) as error:
        visit.flash(error.message)
        return back_to(visit, ticket)
    visit.flash(_("Note added."))
    return back_to(visit, ticket)
