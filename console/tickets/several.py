"""Actions on several tickets besides replies: the same note on each, and merging."""

from operator import itemgetter

from console.html.form import Form
from console.http.visit import Visit
from console.lists.selection import for_each, refusals
from console.tickets import inbox
from console.tickets.acts import flash_merged
from console.tickets.bulk_form import Tickets, bulk_form, path_of_list
from server import tickets
from server.errors import HelpdeskError
from server.records import comments
from server.translation import _, ngettext

TEXT_BYTES = 1024 * 1024


@bulk_form(f"{inbox.PATH}/note", "bulk_note.html", {"note": ""}, form_bytes=TEXT_BYTES)
def write_notes(visit: Visit, selected: Tickets, form: Form) -> str | None:
    """Adds the same note to each ticket; refusals are reported."""
    text = form.text("note")
    if not text:
        form.fail("note", _("Write a note first."))
        return None
    done, refused = for_each(
        selected,
        lambda ticket: comments.on_record(visit.ctx, inbox.URI, ticket["id"], text, "note"),
        itemgetter("mask"),
    )
    sentences = [ngettext("{count} note added.", "{count} notes added.", len(done))] if done else []
    visit.flash(" ".join([*sentences, *refusals(refused)]))
    return path_of_list(visit)


@bulk_form(
    f"{inbox.PATH}/merge",
    "bulk_merge.html",
    {},
    more=lambda visit, selected: {"sample_fields": [("ticket_ids[]", str(each["id"])) for each in selected]},
)
def merge(visit: Visit, selected: Tickets, form: Form) -> str | None:
    """Merges the tickets; the oldest stays."""
    try:
        return flash_merged(visit, tickets.merge(visit.ctx, [each["id"] for each in selected]))
    except HelpdeskError as error:
        form.fail("", error.message)
        return None
