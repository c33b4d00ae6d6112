"""The pages of records, at the addresses that the API returns."""

import re
from typing import Any
from urllib.parse import unquote, urlencode

from console.html import drafts
from console.html.form import Form
from console.html.rendering import render
from console.http.page_response import PageResponse, see
from console.http.routes import page
from console.http.visit import Visit
from console.lists import tagged
from console.lists.link_types import linkable
from console.pages.record.head import TASK, head
from server.dataclass import dataclass
from server.digits import id_in
from server.errors import Invalid, NotFound, TooLarge
from server.help_center.article_feedback import article_feedback
from server.outbox import delivery
from server.record_types import traits
from server.record_types.record_type import RecordType
from server.record_types.shared import paths
from server.records import comments, records, sheet
from server.records.records import SearchRequest
from server.records.sheet import Sheet
from server.tickets import masks
from server.translation import _

TICKET, FILE, COMMENT, ARTICLE = "ticket", "attachment", "comment", "kb_article"
MAX_TICKETS = 10  # on the page of an organization, a contact or an address
FORM_BYTES = 4 * 1024 * 1024  # bytes of a form with a comment; the API accepts larger ones
TICKETS_OF = {"org": "org.id:{}", "address": "participant.id:{}", "contact": "participant:(contact.id:{})"}
MAX_TEXT_CHARS = 200_000  # characters of a text
# Types whose page shows a text that is asked for by name.
TEXT_KEYS = {"message": "content", "draft": "content"}
_NUMBER = re.compile(r"([0-9]{1,19})(?:-|\Z)")


@dataclass(frozen=True)
class RelatedTickets:
    """Recent records. rows: as the API returns them. path: of the list of all."""

    rows: list[dict[str, Any]]
    total: int
    path: str


@page("GET", "/records/{type}/{id}")
def show(visit: Visit) -> PageResponse:
    """The page of a record of any type; a ticket has a page of its own. Raises NotFound, Forbidden."""
    record_type = visit.service.registry.type(visit.arguments["type"])
    if record_type.uri == TICKET:
        return see(visit.with_query(paths.ticket(records.retrieve(visit.ctx, TICKET, visit.id)["mask"])))
    return _record(visit, record_type, drafts.take_up(visit, visit.path, Form.from_values({COMMENT: ""})))


@page("POST", "/records/{type}/{id}/comment", form_bytes=FORM_BYTES, creates=True)
def write_comment(visit: Visit) -> PageResponse:
    """Write a comment on a record. Raises NotFound, Forbidden."""
    record_type = visit.service.registry.type(visit.arguments["type"])
    form = Form.sent(visit.form, (COMMENT,))
    try:
        id = comments.on_record(visit.ctx, record_type.uri, visit.id, form.get(COMMENT), COMMENT)
    except (Invalid, TooLarge) as error:
        return _record(visit, record_type, form.refuse(error))
    return see(paths.within(paths.record(record_type.uri, visit.id), COMMENT, id))


@page("POST", "/records/{type}/{id}/tags")
def change_tags(visit: Visit) -> PageResponse:
    """Add and remove tags of a record by name. Raises NotFound, Forbidden."""
    uri = visit.service.registry.type(visit.arguments["type"]).uri
    try:
        tagged.change(visit, uri, visit.id)
    except Invalid as error:
        visit.flash(error.message)
    return see(paths.record(uri, visit.id))


@page("POST", "/records/task/{id}/done")
def finish_task(visit: Visit) -> PageResponse:
    """Close a task, or open it again. Raises NotFound, Forbidden."""
    is_done = visit.form.flag("done")
    records.update(visit.ctx, TASK, visit.id, {"status": "closed" if is_done else "open"})
    visit.flash(_("Task completed.") if is_done else _("Task reopened."), visit.path, done="0" if is_done else "1")
    return see(paths.record(TASK, visit.id))


@page("GET", "/profiles/{type}/{rest}")
def former(visit: Visit) -> PageResponse:
    """Addresses that scripts of this API family use: a mask, or an id with or without a name after it; the name of a
    part of the page may follow. Raises NotFound."""
    uri = visit.service.registry.type(visit.arguments["type"]).uri
    name = unquote(visit.arguments["rest"].partition("/")[0])
    number = _NUMBER.match(name)
    id = id_in(number[1]) if number else None
    if uri == TICKET and (id is None or masks.ticket_id(visit.ctx, name) is not None):
        return see(visit.with_query(paths.ticket(name)))
    if id is None:
        raise NotFound(_("'{name}' is not a record id", name=name[:50]))
    return see(visit.with_query(paths.record(uri, id)))


def _record(visit: Visit, record_type: RecordType, form: Form) -> PageResponse:
    """The page of a record. form: of a new comment."""
    text_key = TEXT_KEYS.get(record_type.uri, "")
    details = sheet.sheet(visit.ctx, record_type.uri, visit.id, *([text_key] if text_key else []))
    comment_id = id_in(visit.query.text(COMMENT, ""))
    if comment_id and comment_id not in [each["id"] for each in details.comments]:  # an older one than the page has
        return see(paths.record(COMMENT, comment_id))
    own_file = sheet.file(details.keys) if record_type.uri == FILE else None
    return render(
        visit,
        "record.html",
        **head(visit, details),
        text=details.keys.get(text_key, ""),
        form=form,
        own_file=own_file,
        waiting=delivery.of_record(visit.ctx, record_type.uri, details.keys),
        most=MAX_TEXT_CHARS,
        tickets=_tickets(visit, details),
        feedback=article_feedback(visit.ctx, visit.id) if record_type.uri == ARTICLE else None,
        tagged=tagged.tagged(visit, record_type.uri, visit.id, f"{paths.record(record_type.uri, visit.id)}/tags")
        if record_type.has(traits.Tags)
        else None,
        takes_comments=record_type.has(traits.Comments),
        relation_form=Form.from_values({"to": "ticket"}),
        linkable=linkable(visit) if record_type.has(traits.Links) else [],
        may_change=record_type.operations["update"] and records.may(visit.ctx, record_type.uri, "update", visit.id),
    )


def _tickets(visit: Visit, details: Sheet) -> RelatedTickets | None:
    """The newest tickets of an organization, a contact or an address; None for another type."""
    if details.type.uri not in TICKETS_OF:
        return None
    q = TICKETS_OF[details.type.uri].format(details.id)
    search = SearchRequest(f"{q} sort:-updated", MAX_TICKETS, expand="_label,group_")
    found = records.search(visit.ctx, TICKET, search)
    return RelatedTickets(found["results"], found["total"], f"/search/{TICKET}?{urlencode({'q': q})}")
