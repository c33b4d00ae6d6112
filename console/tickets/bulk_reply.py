"""One reply to several tickets: each gets its own mail, and all can be taken back together."""

import json
from contextlib import suppress
from typing import Any

from console.html.form import Form
from console.html.rendering import render
from console.http.page_response import INVALID, PageResponse, see
from console.http.routes import page
from console.http.visit import Visit
from console.lists import lookup
from console.lists.selection import MAX_SELECTED, MAX_UNDO_BYTES, REFUSED_NAMED, back_to_list, selected_records
from console.tickets import inbox, reply_form
from console.tickets.reply_draft import leaves_at
from server import tickets
from server.errors import HelpdeskError, Invalid
from server.people import accepted_forms
from server.tickets import answer_drafts, answered, undo
from server.translation import _, ngettext, shown

BASE = f"{inbox.PATH}/reply"
NAMES = ("content", "status", "reopen_at")
TEXT_BYTES = 1024 * 1024


@page("GET", BASE)
def show(visit: Visit) -> PageResponse:
    """Shows the form for the tickets in the address. Raises Invalid."""
    return _form(
        visit,
        selected_records(visit, inbox.URI, visit.query.text("ids", "").split(",")),
        Form.from_values({"status": "1"}),
    )


@page("POST", BASE, form_bytes=TEXT_BYTES, creates=True)
def send(visit: Visit) -> PageResponse:
    """Replies to each ticket by itself, with the rights of the caller; tickets that refuse a reply are reported. Raises
    Invalid."""
    selected = selected_records(visit, inbox.URI, visit.form.text_list("ids"))
    form = Form.sent(visit.form, NAMES)
    if not form.text("content"):
        return _form(visit, selected, form.fail("content", _("Write a reply first.")))
    try:
        reopen_at = reply_form.ahead(visit, "reopen_at", form.get("reopen_at"))
    except Invalid as error:
        return _form(visit, selected, form.refuse(error))
    values = {
        "content": form.get("content"),
        "content_format": "markdown",
        "status": form.get("status"),
        "reopen_at": reopen_at,
    }
    sent, drafts, refused = 0, [], []
    before: dict[str, dict[str, str]] = {}
    for each in selected:
        try:
            own = {"message_id": str(_answered(visit, each)), "send_at": str(leaves_at(visit) or "")}
            result = tickets.reply(visit.ctx, values | own)
        except HelpdeskError as error:
            refused.append(f"{each['mask']}: {shown(error.message)}")
            continue
        sent += 1
        before[str(each["id"])] = {name: str(each[name] or 0) for name in inbox.STATE}
        drafts += [str(result.delivery.draft_id)] if result.delivery.state in ("later", "queued") else []
    _flash(visit, sent, drafts, refused, json.dumps(before))
    return see(_back(visit))


@page("POST", f"{BASE}/take-back")
def take_back(visit: Visit) -> PageResponse:
    """Turns replies that were not sent yet into drafts again, and restores the status of their tickets."""
    back = 0
    before = visit.form.json("before", {}, most=MAX_UNDO_BYTES)
    for id in visit.form.id_list("drafts")[:MAX_SELECTED]:
        with suppress(HelpdeskError):  # the mail was sent, or another worker changed the ticket
            draft = answer_drafts.take_back(visit.ctx, id)
            back += 1
            status = before.get(str(draft.ticket_id)) if isinstance(before, dict) else None
            if isinstance(status, dict):
                undo.restore(visit.ctx, draft.ticket_id, {name: str(status.get(name, "0")) for name in inbox.STATE})
    accepted_forms.forget(visit.ctx, BASE)
    visit.flash(ngettext("{count} reply is a draft again.", "{count} replies are drafts again.", back))
    return see(_back(visit))


def _answered(visit: Visit, ticket: dict[str, Any]) -> int:
    """Returns the message to reply to. Raises Invalid for a ticket without messages."""
    message_id = answered.newest(visit.ctx, ticket["id"])
    if not message_id:
        raise Invalid(_("there is no message to reply to"), field="message_id")
    return message_id


def _back(visit: Visit) -> str:
    return back_to_list(visit, inbox.PATH, f"/search/{inbox.URI}")


def _form(visit: Visit, selected: list[dict[str, Any]], form: Form) -> PageResponse:
    return render(
        visit,
        "bulk_reply.html",
        INVALID if form.is_wrong else 200,
        form=form,
        found=selected,
        path=BASE,
        back=_back(visit),
        statuses=reply_form.STATUSES,
        label=lookup.LABEL,
    )


def _flash(visit: Visit, sent: int, drafts: list[str], refused: list[str], before: str) -> None:
    sentences = [ngettext("{count} reply sent.", "{count} replies sent.", sent)] if sent else []
    sentences += [_("Refused: {reasons}", reasons="; ".join(refused[:REFUSED_NAMED]))] if refused else []
    if drafts:
        visit.flash(" ".join(sentences), f"{BASE}/take-back", back=_back(visit), before=before, **{"drafts[]": drafts})
    else:
        visit.flash(" ".join(sentences))
