"""Actions on several tickets besides replies: the same note on each, and merging."""

from typing import Any

from console.html.form import Form
from console.html.rendering import render
from console.http.page_response import INVALID, PageResponse, see
from console.http.routes import page
from console.http.visit import Visit
from console.lists import lookup
from console.lists.selection import REFUSED_NAMED, back_to_list, selected_records
from console.tickets import inbox
from console.tickets.acts import flash_merged
from server import tickets
from server.errors import HelpdeskError
from server.records import comments
from server.translation import _, ngettext, shown

NOTE, MERGE = f"{inbox.PATH}/note", f"{inbox.PATH}/merge"
TEXT_BYTES = 1024 * 1024


@page("GET", NOTE)
def show_note(visit: Visit) -> PageResponse:
    """Shows the form for the tickets in the address. Raises Invalid."""
    return _form(visit, "bulk_note.html", NOTE, _named(visit), Form.from_values({"note": ""}))


@page("POST", NOTE, form_bytes=TEXT_BYTES, creates=True)
def write_notes(visit: Visit) -> PageResponse:
    """Adds the same note to each ticket; refusals are reported. Raises Invalid."""
    selected = selected_records(visit, inbox.URI, visit.form.text_list("ids"))
    form = Form.sent(visit.form, ("note",))
    if not form.text("note"):
        return _form(visit, "bulk_note.html", NOTE, selected, form.fail("note", _("Write a note first.")))
    done, refused = 0, []
    for each in selected:
        try:
            comments.on_record(visit.ctx, inbox.URI, each["id"], form.text("note"), "note")
            done += 1
        except HelpdeskError as error:
            refused.append(f"{each['mask']}: {shown(error.message)}")
    sentences = [ngettext("{count} note added.", "{count} notes added.", done)] if done else []
    sentences += [_("Refused: {reasons}", reasons="; ".join(refused[:REFUSED_NAMED]))] if refused else []
    visit.flash(" ".join(sentences))
    return see(_back(visit))


@page("GET", MERGE)
def show_merge(visit: Visit) -> PageResponse:
    """Shows the tickets to merge, for confirmation. Raises Invalid."""
    return _merge_form(visit, _named(visit), Form.from_values({}))


@page("POST", MERGE, creates=True)
def merge(visit: Visit) -> PageResponse:
    """Merges the tickets; the oldest stays. Raises Invalid."""
    selected = selected_records(visit, inbox.URI, visit.form.text_list("ids"))
    try:
        ticket_id = tickets.merge(visit.ctx, [each["id"] for each in selected])
    except HelpdeskError as error:
        return _merge_form(visit, selected, Form.from_values({}).fail("", shown(error.message)))
    return see(flash_merged(visit, ticket_id))


def _merge_form(visit: Visit, selected: list[dict[str, Any]], form: Form) -> PageResponse:
    fields = [("ticket_ids[]", str(each["id"])) for each in selected]
    return _form(visit, "bulk_merge.html", MERGE, selected, form, sample_fields=fields)


def _named(visit: Visit) -> list[dict[str, Any]]:
    return selected_records(visit, inbox.URI, visit.query.text("ids", "").split(","))


def _back(visit: Visit) -> str:
    return back_to_list(visit, inbox.PATH, f"/search/{inbox.URI}")


def _form(
    visit: Visit, template: str, path: str, selected: list[dict[str, Any]], form: Form, **more: Any
) -> PageResponse:
    status = INVALID if form.is_wrong else 200
    return render(
        visit, template, status, form=form, found=selected, path=path, back=_back(visit), label=lookup.LABEL, **more
    )
