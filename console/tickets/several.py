"""Actions on several tickets besides replies: the same note on each, and merging."""

from operator import itemgetter
from typing import Any

from console.html.form import Form
from console.http.page_response import PageResponse, see
from console.http.routes import page
from console.http.visit import Visit
from console.lists.selection import for_each, refusals
from console.tickets import inbox
from console.tickets.acts import flash_merged
from console.tickets.bulk_form import path_of_list, selected_tickets, show_form
from server import tickets
from server.errors import HelpdeskError
from server.records import comments
from server.translation import _, ngettext

NOTE, MERGE = f"{inbox.PATH}/note", f"{inbox.PATH}/merge"
TEXT_BYTES = 1024 * 1024


@page("GET", NOTE)
def show_note(visit: Visit) -> PageResponse:
    """Shows the form for the tickets in the address. Raises Invalid."""
    return show_form(visit, "bulk_note.html", selected_tickets(visit), Form.from_values({"note": ""}))


@page("POST", NOTE, form_bytes=TEXT_BYTES, creates=True)
def write_notes(visit: Visit) -> PageResponse:
    """Adds the same note to each ticket; refusals are reported. Raises Invalid."""
    selected = selected_tickets(visit)
    form = Form.sent(visit.form, ("note",))
    text = form.text("note")
    if not text:
        return show_form(visit, "bulk_note.html", selected, form.fail("note", _("Write a note first.")))
    done, refused = for_each(
        selected,
        lambda ticket: comments.on_record(visit.ctx, inbox.URI, ticket["id"], text, "note"),
        itemgetter("mask"),
    )
    sentences = [ngettext("{count} note added.", "{count} notes added.", len(done))] if done else []
    visit.flash(" ".join([*sentences, *refusals(refused)]))
    return see(path_of_list(visit))


@page("GET", MERGE)
def show_merge(visit: Visit) -> PageResponse:
    """Shows the tickets to merge, for confirmation. Raises Invalid."""
    return _merge_form(visit, selected_tickets(visit), Form())


@page("POST", MERGE, creates=True)
def merge(visit: Visit) -> PageResponse:
    """Merges the tickets; the oldest stays. Raises Invalid."""
    selected = selected_tickets(visit)
    try:
        ticket_id = tickets.merge(visit.ctx, [each["id"] for each in selected])
    except HelpdeskError as error:
        return _merge_form(visit, selected, Form().fail("", error.message))
    return see(flash_merged(visit, ticket_id))


def _merge_form(visit: Visit, selected: list[dict[str, Any]], form: Form) -> PageResponse:
    fields = [("ticket_ids[]", str(each["id"])) for each in selected]
    return show_form(visit, "bulk_merge.html", selected, form, sample_fields=fields)
