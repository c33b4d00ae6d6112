"""The draft of a reply or a new ticket: stored during typing and on request, deleted once it is sent; and the undo of
sending."""

from contextlib import suppress
from typing import Any

from console.http.page_response import PageResponse, json_response, see
from console.http.visit import Visit
from console.tickets import came_from
from console.tickets.reply_form import ReplyForm
from server.errors import Conflict, Invalid
from server.outbox.delivery import Delivery
from server.people import accepted_forms
from server.records import records
from server.tickets import answer_drafts, requester, snippets, undo
from server.tickets.answer_drafts import AnswerDraft
from server.translation import N_, _, ngettext, shown

# Columns of the ticket that taking back a mail restores, unless one of a row has changed since.
BEFORE = (("status_id", "reopen_date"), ("owner_id",))
ADDED = "added"  # requesters that sending added, with commas between
NOW = "now_"  # the prefix of a column with its value after sending
KEPT = ("draft", "preview", "snippet")  # buttons that store the draft without sending
UNSENT = ("parked", "held", "partly", "failing", "failed")  # states of mail that needs attention


def sent_draft(visit: Visit) -> str:
    """Returns the draft and the revision of a submitted form, "" for none."""
    id, revision = visit.form.id("draft", 0), visit.form.text("revision", "")
    return f"{id}:{revision[:64]}" if id and revision else ""


# -- storing -----------------------------------------------------------------------------------------------------------


def autosave(visit: Visit, written: ReplyForm, ticket_id: int) -> PageResponse:
    """Stores a draft that a script sends during typing: {draft, revision}, or {conflict: reason}."""
    try:
        draft = _stored(visit, written, ticket_id)
    except (Conflict, Invalid) as error:
        return json_response({"conflict": shown(error.message)})
    return json_response({"draft": draft.id, "revision": draft.revision})


def keep(visit: Visit, written: ReplyForm, ticket_id: int, here: str, do: str) -> PageResponse | None:
    """Stores the draft and shows the form again; returns None after adding errors to the form."""
    if do == "snippet":
        id = visit.form.id("snippet", 0)
        text = snippets.paste(visit.ctx, id, ticket_id) if id else ""
        written.form.values["content"] = "\n".join(filter(None, (written.form.get("content"), text)))
    try:
        draft = _stored(visit, written, ticket_id)
    except (Conflict, Invalid) as error:
        written.form.fail("", error.message)
        return None
    more = ({"answer": draft.kind} if ticket_id else {}) | ({"preview": "1"} if do == "preview" else {})
    return see(f"{came_from.path_with_list(visit, here, **more)}#answer")


def discard(visit: Visit, written: ReplyForm, here: str) -> PageResponse | None:
    """Deletes the draft; returns None after adding errors to the form."""
    try:
        _drop(visit, written.draft)
    except (Conflict, Invalid) as error:
        written.form.fail("", error.message)
        return None
    visit.flash(_("Draft discarded."))
    return see(here)


def forget(visit: Visit, draft: AnswerDraft | None) -> None:
    """Deletes the draft of a reply that was sent, unless another tab has changed it since."""
    with suppress(Conflict, Invalid):
        _drop(visit, draft)


def _stored(visit: Visit, written: ReplyForm, ticket_id: int) -> AnswerDraft:
    """Raises Conflict, Invalid, Forbidden."""
    draft = written.draft
    id, revision = (draft.id, draft.revision) if draft is not None else (0, "")
    return answer_drafts.save(visit.ctx, written.kind, ticket_id, written.params(), id, revision)


def _drop(visit: Visit, draft: AnswerDraft | None) -> None:
    if draft is not None and draft.worker_id == visit.actor.worker_id:
        answer_drafts.drop(visit.ctx, draft.id, draft.revision)


# -- taking back -------------------------------------------------------------------------------------------------------


def leaves_at(visit: Visit) -> int:
    """Returns the time to send a reply that is sent now, delayed so that it can be taken back; 0 for at once."""
    seconds: int = visit.service.settings.undo_send_seconds
    return visit.now + seconds if seconds else 0


def values_of(visit: Visit, written: ReplyForm, do: str) -> dict[str, Any]:
    """Returns the parameters of a reply or a new ticket. do: the button; `save` sends nothing, any other sends at the
    time in the form, or at leaves_at()."""
    values = written.values()
    if do == "save":
        return values | {"dont_send": "1", "send_at": ""}
    return values if values["send_at"].strip() else values | {"send_at": str(leaves_at(visit) or "")}


def changed_by_sending(visit: Visit, before: dict[str, Any]) -> dict[str, str]:
    """Returns the changes that sending made to a ticket: columns with their former values, their new values with the
    prefix `now_`, and the added requesters. before: the ticket, with `requesters`."""
    now = records.retrieve(visit.ctx, "ticket", before["id"], "requesters")
    names = [name for row in BEFORE for name in row]
    columns = {name: str(before[name] or 0) for name in names}
    added = _requesters(now).keys() - _requesters(before).keys()
    return columns | {NOW + name: str(now[name] or 0) for name in names} | {ADDED: ",".join(sorted(added))}


def flash_sent(visit: Visit, delivery: Delivery, here: str, is_later: bool, before: dict[str, str]) -> None:
    """Flashes what happened to a mail, with an undo. here: the path of the ticket. is_later: whether it is sent at a
    chosen time. before: from changed_by_sending."""
    if delivery.draft_id and delivery.state in UNSENT:
        is_partly = delivery.state == "partly"
        words = N_("Not sent to everyone: {reason}") if is_partly else N_("Not sent yet: {reason}")
        visit.flash(_(words, reason=delivery.reason))
        return
    if not delivery.draft_id or delivery.state not in ("later", "queued"):
        visit.flash(_("Saved without sending.") if delivery.state == "kept" else _("Sent."))
        return
    seconds = visit.service.settings.undo_send_seconds
    now = ngettext("Sending in {count} second…", "Sending in {count} seconds…", seconds)
    text = _("It will be sent at the time you chose.") if is_later else now
    visit.flash(text, f"{here}/take-back", draft=str(delivery.draft_id), **before)


def take_back(visit: Visit, here: str) -> AnswerDraft:
    """Turns mail back into a draft that can be sent again. Raises Conflict once it was sent."""
    draft = answer_drafts.take_back(visit.ctx, visit.form.id("draft", required=True))
    accepted_forms.forget(visit.ctx, here)
    visit.flash(_("Sending cancelled. Your draft is back."))
    return draft


def put_back(visit: Visit, ticket: dict[str, Any]) -> None:
    """Restores what sending changed on a ticket, unless another worker has changed it since."""
    form = visit.form
    rows = [row for row in BEFORE if all(form.text(NOW + name, "") == str(ticket[name] or 0) for name in row)]
    fields = {name: form.text(name, "") for row in rows for name in row if name in form}
    if fields:
        undo.restore(visit.ctx, ticket["id"], fields, {name: str(ticket[name] or 0) for name in fields})
    for email in filter(None, form.text(ADDED, "").split(",")):
        requester.remove(visit.ctx, ticket["id"], email)


def _requesters(ticket: dict[str, Any]) -> dict[str, Any]:
    """Returns the requesters of a ticket by address."""
    return {str(each["email"]): each for each in (ticket.get("requesters") or {}).values()}
