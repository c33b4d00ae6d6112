"""Snippets: texts that workers insert into replies, with a preview for one of their tickets."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from console.forms import examples
from console.forms.controls import Control
from console.forms.record_form import OpenForm, RecordForm
from console.forms.record_pages import RecordPages, declare_pages
from console.html import ui
from console.html.form import Form
from console.http.page_response import PageResponse, see
from console.http.routes import page
from console.http.visit import Visit
from console.lists import worklist
from console.lists.worklist import Worklist, declare
from console.lists.worklist_columns import ListColumn
from console.tickets.frames import document_of, framed
from console.tickets.trial_tickets import trial_tickets
from server.contexts import TICKET
from server.errors import HelpdeskError, Invalid
from server.markup import markdown_to_html
from server.people.owner_choices import own, owner_choices, owner_label
from server.record_types.shared import paths, record_owners
from server.records import records
from server.tickets import snippets
from server.translation import N_, _, shown

URI, BASE, PREVIEW = snippets.URI, "/snippets", "/-/snippets/preview"
TEXT_BYTES = 2 * 1024 * 1024


def owner_column(visit: Visit, row: Mapping[str, Any], more: Any) -> str:
    """The cell of an owner."""
    label = owner_label(visit.ctx, row["owner__context"], row["owner_id"], str(row.get("owner__label") or ""))
    return ui.name(label)


def _last_used(visit: Visit, row: Mapping[str, Any], more: Any) -> str:
    """Blank for one that was last used before times were stored."""
    return ui.when(visit, row["last_used_at"]) if row["last_used_at"] or not row["total_uses"] else ""


OWNER = ListColumn("owner", N_("Available to"), owner_column, expand="owner_")
LIST = declare(
    Worklist(
        URI,
        BASE,
        N_("Snippets"),
        ("_label", "owner", "total_uses", "last_used_at", "updated_at"),
        own=(
            OWNER,
            ListColumn(
                "total_uses",
                N_("Uses"),
                lambda visit, row, more: ui.number(visit, row["total_uses"]),
                "totalUses",
                "number",
            ),
            ListColumn("last_used_at", N_("Last used"), _last_used, expand="last_used_at", is_time=True),
        ),
        sort="title",
        changes="worker",
        placeholder=N_("title, or totalUses:>10"),
        quick=((N_("Mine"), "owner.worker:me"), (N_("Of groups"), "owner:group"), (N_("Everybody's"), "owner:app")),
        none=N_("No snippet matches."),
        empty=N_("No snippets yet. A snippet is a text that you insert into replies with a few letters."),
        new=(f"{BASE}/new", N_("New snippet")),
        row=f"{BASE}/{{id}}",
    )
)
READ_LIST = replace(LIST, new=None)
FORM = RecordForm(
    URI,
    (
        Control("title", N_("Name"), N_("You find it by its name in a reply: type : and the first letters.")),
        Control("owner", N_("Available to"), is_drawn=True),
        Control("context", N_("Can be inserted"), is_drawn=True),
        Control("content", N_("Text"), kind="area", is_drawn=True),
    ),
)
USES = (("ticket", N_("On tickets, with their placeholders")), ("", N_("Also in new tickets")))


@page("GET", BASE, "worker")
def show_list(visit: Visit) -> PageResponse:
    """The snippets that the worker may read, with their uses."""
    return worklist.page(visit, LIST if records.may(visit.ctx, URI, "create") else READ_LIST)


def _form(visit: Visit, fields: OpenForm) -> PageResponse:
    form = fields.values
    owners = list(owner_choices(visit.ctx))
    if form.get("owner") not in dict(owners):
        owners.append((form.get("owner"), _owner_of(visit, fields)))
    uses = [(value, shown(label)) for value, label in USES]
    if form.get("context") not in dict(uses):
        uses.append((form.get("context"), form.get("context")))
    return fields.render(
        "snippet.html",
        starts=[] if fields.id else examples.options(examples.EXAMPLES[URI]),
        owners=owners,
        uses=uses,
        tickets=trial_tickets(visit),
        placeholders=[*snippets.OF_TICKET.items(), *snippets.OF_WORKER.items()],
        preview=PREVIEW,
    )


def _owner_of(visit: Visit, fields: OpenForm) -> str:
    """The present owner of a snippet, whom the worker may not choose."""
    if not fields.id:
        return fields.values.get("owner")
    stored = records.retrieve(visit.ctx, URI, fields.id, "owner_")
    return owner_label(visit.ctx, stored["owner__context"], stored["owner_id"], str(stored.get("owner__label") or ""))


def _fill(visit: Visit, fields: OpenForm) -> OpenForm:
    if not fields.id:
        records.require(visit.ctx, URI, "create")
        return fields.fill(owner=own(visit.ctx), context="ticket", **examples.chosen(visit, examples.EXAMPLES[URI]))
    is_of_ticket = fields.stored["context"] == TICKET
    return fields.fill(context="ticket" if is_of_ticket else fields.stored["context"])


def _check(visit: Visit, fields: OpenForm, form: Form) -> dict[str, Any]:
    """Requires a name that the owner has not used, and placeholders that exist. Raises Conflict, Invalid."""
    owner = record_owners.typed_owner(visit.service.registry, form.get("owner"), "owner")
    snippets.require_free_name(visit.ctx, form.text("title"), owner, fields.id)
    unknown = snippets.unknown_placeholders(visit.ctx, form.get("content"), form.get("context"))
    if unknown:
        raise Invalid(_unknown(unknown), field="content")
    return {}


def _unknown(names: list[str]) -> str:
    listed = ", ".join(f"{{{{{each}}}}}" for each in names)
    return _("There is no placeholder {names}. Choose one from the list below the text.", names=listed)


def _instead(visit: Visit) -> PageResponse | None:
    """The page of the record, for workers who may read a snippet and not change it."""
    if not visit.record_id or visit.is_post or records.may(visit.ctx, URI, "update", visit.record_id):
        return None
    records.retrieve(visit.ctx, URI, visit.record_id)
    return see(paths.record(URI, visit.record_id))


PAGES = declare_pages(
    RecordPages(
        BASE,
        FORM,
        _form,
        access="worker",
        form_bytes=TEXT_BYTES,
        takes_up=True,
        instead=_instead,
        fill=_fill,
        more=_check,
        deleted="",
    )
)


@page("POST", f"{BASE}/{{id}}/delete")
def delete(visit: Visit) -> PageResponse:
    """Deletes a snippet, with an undo. Raises NotFound, Forbidden."""
    name = records.retrieve(visit.ctx, URI, visit.id)["title"]
    undo = f"{BASE}/{visit.id}/restore" if snippets.delete(visit.ctx, visit.id) else ""
    visit.flash(_("{name} deleted.", name=name), undo)
    return see(BASE)


@page("POST", f"{BASE}/{{id}}/restore")
def restore(visit: Visit) -> PageResponse:
    """Restores a snippet that the worker has deleted. Raises NotFound, Forbidden."""
    visit.flash(_("{name} restored.", name=snippets.restore(visit.ctx, visit.id)))
    return see(BASE)


@page("GET", PREVIEW)
def show_nothing(visit: Visit) -> PageResponse:
    """The frame of a new snippet before its preview is shown."""
    return framed(document_of(visit, ""))


@page("GET", f"{PREVIEW}/{{id}}")
def show_preview(visit: Visit) -> PageResponse:
    """Renders the saved text for the first ticket that the form offers, for a frame. Raises NotFound, Forbidden."""
    snippet = records.retrieve(visit.ctx, URI, visit.id)
    first = next((int(id) for id, _label in trial_tickets(visit)), 0)
    return _rendered(visit, snippet["content"], snippet["context"], first)


@page("POST", PREVIEW, form_bytes=TEXT_BYTES)
def preview(visit: Visit) -> PageResponse:
    """Renders the submitted text for a ticket, for a frame. Raises NotFound, Forbidden."""
    content = visit.form.text("content", "").replace("\r\n", "\n")
    return _rendered(visit, content, visit.form.text("context", ""), visit.form.id("ticket", 0))


def _rendered(visit: Visit, content: str, context: str, ticket_id: int) -> PageResponse:
    try:
        text = snippets.preview(visit.ctx, content, context, ticket_id)
    except HelpdeskError as error:
        return framed(document_of(visit, "", wrong=shown(error.message)))
    unknown = snippets.unknown_placeholders(visit.ctx, content, context)
    html = markdown_to_html(text, allow_remote_images=True, keep_html=True) if text.strip() else ""
    return framed(document_of(visit, html, wrong=_unknown(unknown) if unknown else ""))
