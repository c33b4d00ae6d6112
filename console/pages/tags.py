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
from server.translation import N_, Words, _, shown

URI, BASE = "tag", "/admin/tags"
NUMBERS = ("num_tickets", "num_contacts", "num_orgs")
COLORS = {
    "gray": N_("gray"),
    "red": N_("red"),
    "orange": N_("orange"),
    "green": N_("green"),
    "blue": N_("blue"),
    "purple": N_("purple"),
}


def _number(key: str, label: Words, uri: str) -> ListColumn:
    """The column with the number of records of a type that have the tag."""

    def cell(visit: Visit, row: Mapping[str, Any], more: Any) -> str:
        return ui.link(ui.tagged_path(row["name"], uri), ui.number(visit, row[key])) if row[key] else ""

    return ListColumn(key, label, cell, kind="number", expand=key)


def _color(visit: Visit, row: Mapping[str, Any], more: Any) -> str:
    return ui.tag(shown(COLORS[row["color"]]), row["color"])


LIST = declare(
    Worklist(
        URI,
        BASE,
        N_("Tags"),
        ("_label", "color", *NUMBERS),
        sort="name",
        none=N_("No tag matches."),
        own=(
            ListColumn("color", N_("Color"), _color),
            _number("num_tickets", N_("Tickets"), "ticket"),
            _number("num_contacts", N_("Contacts"), "contact"),
            _number("num_orgs", N_("Organizations"), "org"),
        ),
        empty=N_(
            "Tags are words on tickets, contacts and organizations, such as billing or VIP. Workers add them on a "
            "ticket or in the inbox."
        ),
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
    keys = records.retrieve(visit.ctx, URI, fields.id, ",".join(NUMBERS)) if fields.id else dict.fromkeys(NUMBERS, 0)
    uses = sum(keys[each] for each in NUMBERS)
    others = lookup.choosable(visit, URI, f"id:!{fields.id}") if fields.id else None
    return fields.render("tag.html", tickets=keys["num_tickets"], uses=uses, others=others)


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
