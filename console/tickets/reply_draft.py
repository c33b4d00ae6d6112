"""The draft of a reply or a new ticket: stored during typing and on request, deleted once it is sent; and the undo of
sending."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from console.html import once
from console.http.page_response import PageResponse, json_response, see
from console.http.visit import Visit
from console.tickets import came_from, inbox, reply_form
from console.tickets.reply_form import ReplyForm
from server.errors import Conflict, Invalid
from server.outbox.delivery import Delivery
from server.people import accepted_forms
from server.tickets import quoting, reply_drafts, snippets
from server.tickets.reply_drafts import ReplyDraft
from server.tickets.reply_start import ORIGINAL
from server.translation import N_, _, shown

DISCARD = "discard"
QUOTE, UNQUOTE = "quote", "unquote"
KEPT = ("draft", "preview", "snippet", QUOTE, UNQUOTE, DISCARD)  # buttons that do not send
STATUS_OF = {"close": "2", "wait": "1"}  # {button that sends: the status it sets}
UNSENT = ("parked", "held", "partly", "failing", "failed")  # states of mail that needs attention


def carry_out(visit: Visit, show: Callable[[Visit], PageResponse]) -> PageResponse:
    """Carries a form out; one that sends or saves a reply, only once."""
    if keeps_draft(visit):
        return show(visit)
    id, revision = visit.form.id("draft", 0), visit.form.text("revision", "")
    draft = f"{id}:{revision[:64]}" if id and revision else ""
    return once.carry_out(visit, show, draft=draft, is_writing=True)


def keeps_draft(visit: Visit) -> bool:
    """Whether the pressed button stores or discards the draft, without sending."""
    return visit.form.text("do", "send") in KEPT


# -- storing -----------------------------------------------------------------------------------------------------------


def autosave(visit: Visit, written: ReplyForm, ticket_id: int) -> PageResponse:
    """Stores a draft that a script sends during typing: {draft, revision}, or {conflict: reason}."""
    try:
        draft = _stored(visit, written, ticket_id)
    except (Conflict, Invalid) as error:
        return json_response({"conflict": shown(error.message)})
    return json_response({"draft": draft.id, "revision": draft.revision})


def keep(visit: Visit, written: ReplyForm, ticket_id: int, here: str) -> PageResponse | None:
    """Stores or discards the draft, as the pressed button says, and shows the form or the list again; returns None
    after adding errors to the form. ticket_id: 0 for a new ticket."""
    do = visit.form.text("do", "")
    if do == "snippet":
        id = visit.form.id("snippet", 0)
        text = snippets.paste(visit.ctx, id, ticket_id) if id else ""
        written.form.values["content"] = "\n".join(filter(None, (written.form.get("content"), text)))
    if do in (QUOTE, UNQUOTE):
        is_text = do == QUOTE and written.message_id
        text = quoting.of_reply(visit.ctx, written.message_id, is_markdown=True).text if is_text else ""
        lines = written.form.get("content").split("\n")
        written.form.values["content"] = "\n".join(text if each.strip() == ORIGINAL else each for each in lines)
    try:
        if do == DISCARD:
            _drop(visit, written.draft)
            visit.flash(_("Draft discarded."))
            return see(came_from.path_with_list(visit, here) if ticket_id else inbox.PATH)
        draft = _stored(visit, written, ticket_id)
    except (Conflict, Invalid) as error:
        written.form.fail("", error.message)
        return None
    more = ({"answer": draft.kind} if ticket_id else {}) | ({"preview": "1"} if do == "preview" else {})
    return see(f"{came_from.path_with_list(visit, here, **more)}#answer")


def forget(visit: Visit, draft: ReplyDraft | None) -> None:
    """Deletes the draft of a reply that was sent, unless another tab has changed it since."""
    with suppress(Conflict, Invalid):
        _drop(visit, draft)


def _stored(visit: Visit, written: ReplyForm, ticket_id: int) -> ReplyDraft:
    """Raises Conflict, Invalid, Forbidden."""
    draft = written.draft
    id, revision = (draft.id, draft.revision) if draft is not None else (0, "")
    return reply_drafts.save(visit.ctx, written.kind, ticket_id, written.params(), id, revision)


def _drop(visit: Visit, draft: ReplyDraft | None) -> None:
    if draft is not None and draft.worker_id == visit.actor.worker_id:
        reply_drafts.drop(visit.ctx, draft.id, draft.revision)


# -- taking back -------------------------------------------------------------------------------------------------------


def leaves_at(visit: Visit) -> int:
    """Returns the time to send a reply that is sent now, delayed so that it can be taken back; 0 for at once."""
    seconds: int = visit.service.settings.undo_send_seconds
    return visit.now + seconds if seconds else 0


def values_of(visit: Visit, written: ReplyForm) -> dict[str, Any]:
    """Returns the parameters of a reply or a new ticket. The button `save` sends nothing, any other sends at the time
    in the form, or at leaves_at(). Raises Invalid for a time that cannot be read."""
    button = visit.form.text("do", "")
    if button in STATUS_OF and written.form.get("status").partition(".")[0] != STATUS_OF[button]:
        written.form.values["status"] = STATUS_OF[button]
    values = written.values()
    if button == "save":
        values |= {"dont_send": "1", "send_at": ""}
    elif not values["send_at"].strip():
        values["send_at"] = str(leaves_at(visit) or "")
    return values | {name: reply_form.ahead(visit, name, values[name]) for name in ("reopen_at", "send_at")}


def flash_sent(
    visit: Visit, delivery: Delivery, here: str, is_later: bool, before: dict[str, str], more: str = ""
) -> None:
    """Flashes what happened to a mail, with an undo. here: the path of the ticket. is_later: whether it is sent at a
    chosen time. before: fields of the undo: from sending_changes, and the page to go back to. more: a further
    sentence."""
    if delivery.draft_id and delivery.state in UNSENT:
        is_partly = delivery.state == "partly"
        words = N_("Not sent to everyone: {reason}") if is_partly else N_("Not sent yet: {reason}")
        visit.flash(_(words, reason=delivery.reason))
        return
    if not delivery.draft_id or delivery.state not in ("later", "queued"):
        text = _("Saved without sending.") if delivery.state == "kept" else _("Sent.")
        visit.flash(f"{text} {more}".strip())
        return
    fields = {"draft": str(delivery.draft_id), **before}
    if is_later:
        text = _("It will be sent at the time you chose.")
    else:
        seconds = visit.service.settings.undo_send_seconds
        text, fields["seconds"] = _("Sending in {seconds} s", seconds=seconds), str(seconds)
    visit.flash(f"{text} · {more}" if more else text, f"{here}/take-back", **fields)


def take_back(visit: Visit, here: str) -> ReplyDraft:
    """Turns mail back into a draft that can be sent again. Raises Conflict once it was sent."""
    draft = reply_drafts.take_back(visit.ctx, visit.form.id("draft", required=True))
    accepted_forms.forget(visit.ctx, here)
    visit.flash(_("Sending cancelled. Your draft is back."))
    return draft
