"""One reply to several tickets: each gets its own mail, and all can be taken back together."""

from contextlib import suppress
from operator import itemgetter
from typing import Any

from console.html.form import Form
from console.http.page_response import PageResponse, see
from console.http.routes import page
from console.http.visit import Visit
from console.lists.selection import MAX_SELECTED, flash_undoable, for_each, former_values, refusals
from console.tickets import inbox, reply_form
from console.tickets.bulk_form import Tickets, bulk_form, path_of_list
from console.tickets.reply_draft import leaves_at
from server import tickets
from server.errors import HelpdeskError, Invalid
from server.outbox.delivery import Delivery
from server.people import accepted_forms
from server.tickets import answered, reply_drafts, undo
from server.translation import _, ngettext

BASE = f"{inbox.PATH}/reply"
TEXT_BYTES = 1024 * 1024


@bulk_form(
    BASE,
    "bulk_reply.html",
    {"content": "", "status": "1", "reopen_at": ""},
    form_bytes=TEXT_BYTES,
    more=lambda visit, selected: {"statuses": reply_form.STATUSES},
)
def send(visit: Visit, selected: Tickets, form: Form) -> str | None:
    """Replies to each ticket by itself, with the rights of the caller; tickets that refuse a reply are reported."""
    if not form.text("content"):
        form.fail("content", _("Write a reply first."))
        return None
    try:
        reopen_at = reply_form.ahead(visit, "reopen_at", form.get("reopen_at"))
    except Invalid as error:
        form.refuse(error)
        return None
    values = form.values | {"content_format": "markdown", "reopen_at": reopen_at}
    values["send_at"] = str(leaves_at(visit) or "")

    def reply(ticket: dict[str, Any]) -> Delivery:
        message_id = answered.newest(visit.ctx, ticket["id"])
        if not message_id:
            raise Invalid(_("there is no message to reply to"), field="message_id")
        return tickets.reply(visit.ctx, values | {"message_id": str(message_id)}).delivery

    sent, refused = for_each(selected, reply, itemgetter("mask"))
    drafts = [str(mail.draft_id) for _ticket, mail in sent if mail.state in ("later", "queued")]
    sentences = [ngettext("{count} reply sent.", "{count} replies sent.", len(sent))] if sent else []
    before = {each["id"]: {name: str(each[name] or 0) for name in inbox.STATE} for each, _mail in sent if drafts}
    back, undo_path = path_of_list(visit), f"{BASE}/take-back"
    flash_undoable(visit, [*sentences, *refusals(refused)], undo_path, before, back=back, **{"drafts[]": drafts})
    return back


@page("POST", f"{BASE}/take-back")
def take_back(visit: Visit) -> PageResponse:
    """Turns replies that were not sent yet into drafts again, and restores the status of their tickets."""
    back = 0
    before = former_values(visit)
    for id in visit.form.id_list("drafts")[:MAX_SELECTED]:
        with suppress(HelpdeskError):  # the mail was sent, or another worker changed the ticket
            draft = reply_drafts.take_back(visit.ctx, id)
            back += 1
            status = before.get(draft.ticket_id)
            if isinstance(status, dict):
                undo.restore(visit.ctx, draft.ticket_id, {name: str(status.get(name, "0")) for name in inbox.STATE})
    accepted_forms.forget(visit.ctx, BASE)
    visit.flash(ngettext("{count} reply is a draft again.", "{count} replies are drafts again.", back))
    return see(path_of_list(visit))
