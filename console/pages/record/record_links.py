"""Links of a record and reminders about it, on its page and on the pages of tickets."""

from console.http.page_response import PageResponse, see
from console.http.routes import page
from console.http.visit import Visit
from console.lists import lookup
from console.tickets import reply_form
from server.errors import HelpdeskError, Invalid, Required
from server.record_types.shared import paths
from server.records import records, relations
from server.translation import _

TICKET, REMINDER = "ticket", "reminder"


@page("POST", "/records/{type}/{id}/link", creates=True)
def link(visit: Visit) -> PageResponse:
    """Link the record to another, by its type and its name or number. Raises NotFound, Forbidden."""
    uri, form = visit.service.registry.type(visit.arguments["type"]).uri, visit.form
    records.retrieve(visit.ctx, uri, visit.id)
    try:
        other = visit.service.registry.type(form.text("to", "")).uri
        id = lookup.chosen_id(visit, other, form.text("record", "").strip().strip("#[]"), "record")
        if not id:
            raise Required(_("record: enter the name or ID of a record"), field="record")
        relations.change(visit.ctx, f"{uri}:{visit.id}", [f"{other}:{id}"], adds=True)
    except (Invalid, Required) as error:
        visit.flash(error.message)
        return _back(visit, uri)
    visit.flash(_("Linked."), f"/records/{uri}/{visit.id}/unlink", target=f"{other}:{id}")
    return _back(visit, uri)


@page("POST", "/records/{type}/{id}/unlink")
def unlink(visit: Visit) -> PageResponse:
    """Take a link away. Raises NotFound, Forbidden, Invalid."""
    uri, target = visit.service.registry.type(visit.arguments["type"]).uri, visit.form.text("target", "")
    records.retrieve(visit.ctx, uri, visit.id)
    relations.change(visit.ctx, f"{uri}:{visit.id}", [target], adds=False)
    other, _colon, id = target.partition(":")
    visit.flash(_("Link removed."), f"/records/{uri}/{visit.id}/link", to=other, record=id)
    return _back(visit, uri)


@page("POST", "/records/{type}/{id}/remind", creates=True)
def remind(visit: Visit) -> PageResponse:
    """Make a reminder of one's own about the record. Raises NotFound, Forbidden."""
    uri, form = visit.service.registry.type(visit.arguments["type"]).uri, visit.form
    label = records.retrieve(visit.ctx, uri, visit.id, lookup.LABEL)[lookup.LABEL]
    try:
        at = reply_form.ahead(visit, "remind_at", form.text("remind_at", ""))
        reminder = records.create(
            visit.ctx,
            REMINDER,
            {
                "name": form.text("name", "").strip() or label,
                "remind_at": at,
                "links": [f"{uri}:{visit.id}"],
                "worker_id": str(visit.actor.worker_id),
            },
        )
    except HelpdeskError as error:
        visit.flash(error.message)
        return _back(visit, uri)
    visit.flash(_("Reminder set."), f"/reminders/{reminder['id']}/drop")
    return _back(visit, uri)


def _back(visit: Visit, uri: str) -> PageResponse:
    """To the page of the record."""
    if uri == TICKET:
        return see(paths.ticket(records.retrieve(visit.ctx, TICKET, visit.id)["mask"]))
    return see(paths.record(uri, visit.id))
