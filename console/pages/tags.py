"""Tags: a list with the tickets of each, a form to rename and color one, and a merge of two."""

from collections.abc import Mapping
from typing import Any

from console.forms.controls import Control
from console.forms.record_form import OpenForm, RecordForm
from console.forms.record_pages import RecordPages, declare_pages
from console.html import ui
from console.http.page_response import PageResponse, see
from console.http.routes import page
from console.http.visit import Visit
from console.lists import lookup
from console.lists.worklist import Worklist, declare
from console.lists.worklist_columns import ListColumn
from server.errors import HelpdeskError
from server.records import records
from server.tickets import tag_merge
from server.translation import N_, _, shown

URI, BASE = "tag", "/admin/tags"
COLORS = {
    "gray": N_("gray"),
    "red": N_("red"),
    "orange": N_("orange"),
    "green": N_("green"),
    "blue": N_("blue"),
    "purple": N_("purple"),
}


def _tickets(visit: Visit, row: Mapping[str, Any], more: Any) -> str:
    return ui.link(ui.tagged_path(row["name"]), ui.number(visit, row["num_tickets"]))


def _color(visit: Visit, row: Mapping[str, Any], more: Any) -> str:
    return ui.tag(shown(COLORS[row["color"]]), row["color"])


LIST = declare(
    Worklist(
        URI,
        BASE,
        N_("Tags"),
        ("_label", "color", "num_tickets"),
        sort="name",
        none=N_("No tag matches."),
        own=(
            ListColumn("color", N_("Color"), _color),
            ListColumn("num_tickets", N_("Tickets"), _tickets, kind="number", expand="num_tickets"),
        ),
        empty=N_("Tags are words on tickets, such as billing. Workers add them on a ticket or in the inbox."),
        new=(f"{BASE}/new", N_("New tag")),
        row=f"{BASE}/{{id}}",
    )
)
FORM = RecordForm(
    URI,
    (
        Control("name", N_("Name"), N_("Saved searches and automations still find a tag by its former name.")),
        Control("color", N_("Color")),
    ),
)


def _show(visit: Visit, fields: OpenForm) -> PageResponse:
    count = records.retrieve(visit.ctx, URI, fields.id, "num_tickets")["num_tickets"] if fields.id else 0
    others = lookup.choosable(visit, URI, f"id:!{fields.id}") if fields.id else None
    return fields.render("tag.html", tickets=count, others=others)


PAGES = declare_pages(RecordPages(BASE, FORM, _show, LIST))


@page("POST", f"{BASE}/{{id}}/merge", "admin")
def merge(visit: Visit) -> PageResponse:
    """Merges the tag into another one; an error is shown on its form."""
    try:
        into = lookup.chosen_id(visit, URI, visit.form.text("into", ""), "into")
        name = tag_merge.merge(visit.ctx, visit.id, into or 0)
    except HelpdeskError as error:
        return PAGES.shown(visit, PAGES.open(visit, visit.id).refuse(error))
    visit.flash(_("Merged into {label}.", label=name), f"{BASE}/{into}/unmerge")
    return see(BASE)


@page("POST", f"{BASE}/{{id}}/unmerge", "admin")
def unmerge(visit: Visit) -> PageResponse:
    """Brings the tag back that was merged into this one last."""
    _id, name = tag_merge.undo(visit.ctx, visit.id)
    visit.flash(_("{name} is a tag of its own again.", name=name))
    return see(BASE)
