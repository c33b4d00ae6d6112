"""The writing assistant on a ticket: its acts, a running call, its result. Everything works as a form and a page;
assist.js requests the same addresses as parts, and shows the results in place."""

from dataclasses import replace
from typing import Any

from console.html.form import sentence
from console.html.rendering import render
from console.html.samples import Sample
from console.html.templates import fragment
from console.http.page_response import PageResponse, again, json_response, see
from console.http.routes import page
from console.http.visit import Visit
from console.tickets import came_from, reply_form
from console.tickets.reply import FORM_BYTES
from console.tickets.show import TICKET, of_mask, ticket_of_mask
from server.errors import Conflict, HelpdeskError, Invalid
from server.record_types.shared import paths
from server.records import records
from server.records.sheet import Sheet
from server.tickets import answered, reply_drafts
from server.translation import _
from server.web import error_bodies
from server.writing_assistant import model_calls, ticket_material, writing_acts
from server.writing_assistant.model_calls import ModelCall
from server.writing_assistant.writing_acts import ACTS, OF_TEXT, OF_TICKET, ActInput

PATH = "/tickets/{mask}/writing-assistant"
POLL_SECONDS = 2  # pause before the page of a running call reloads, without scripts


@page("GET", PATH)
def show_acts(visit: Visit) -> PageResponse:
    """The acts as buttons; nothing leaves before one is pressed. Raises NotFound, Forbidden."""
    return _acts_page(visit, ticket_of_mask(visit), visit.query.text("act", ""))


@page("POST", PATH, form_bytes=FORM_BYTES)
def start(visit: Visit) -> PageResponse:
    """Starts an act and leads to its result. A submitted reply is stored as a draft before. For scripts: {id}, or
    {error}."""
    ticket = ticket_of_mask(visit)
    try:
        submitted = _submitted(visit, ticket["id"])
        id = model_calls.start(visit.ctx, ticket["id"], submitted)
    except HelpdeskError as error:
        status, _code = error_bodies.status_and_code(error)
        headers = error_bodies.headers(error)
        text = sentence(error.message)
        if visit.is_part:
            return replace(json_response({"error": text}), status=status, headers=headers)
        shown = _acts_page(visit, ticket, visit.form.text("act", ""), text, status)
        return replace(shown, headers={**shown.headers, **headers})
    if visit.is_part:
        return json_response({"id": id})
    return see(f"{_path(ticket['mask'])}/{id}")


@page("GET", f"{PATH}/{{id}}")
def show_result(visit: Visit) -> PageResponse:
    """A call of the worker: running, with its result, or with its error. For scripts: {state, into, text, html,
    error}. Raises NotFound."""
    ticket = ticket_of_mask(visit)
    call = model_calls.find(visit.ctx, ticket["id"], visit.id)
    values: dict[str, Any] = {"call": call, "act": ACTS[call.act], "here": paths.ticket(ticket["mask"]), "keys": ticket}
    values["sample"] = _sample(ticket["id"])
    if visit.is_part:
        is_done = call.state == model_calls.DONE
        html = fragment("parts/assisted.html", visit=visit, **values) if is_done else ""
        text = call.result if is_done else ""
        return json_response(
            {
                "state": call.state,
                "into": ACTS[call.act].into,
                "text": text,
                "html": html,
                "error": sentence(call.error),
            }
        )
    shown = render(visit, "assisted_writing.html", **values)
    return again(shown, POLL_SECONDS) if call.state == model_calls.RUNNING else shown


@page("POST", f"{PATH}/{{id}}/cancel")
def cancel(visit: Visit) -> PageResponse:
    """Cancels a running call. Raises NotFound."""
    ticket = ticket_of_mask(visit)
    model_calls.cancel(visit.ctx, ticket["id"], visit.id)
    if visit.is_part:
        return json_response({})
    visit.flash(_("Cancelled."))
    return see(came_from.path_with_list(visit, paths.ticket(ticket["mask"])))


@page("POST", f"{PATH}/{{id}}/use")
def use(visit: Visit) -> PageResponse:
    """Puts a result into the reply form, as a draft that the worker edits and sends. Offers an undo. Raises NotFound,
    Conflict."""
    ticket = of_mask(visit)
    call = model_calls.find(visit.ctx, ticket.id, visit.id)
    if call.state != model_calls.DONE or ACTS[call.act].into != "form":
        raise Conflict(_("This result is not a text for the reply."))
    return _put(visit, ticket, call.result, call)


@page("POST", f"{PATH}/{{id}}/undo")
def undo(visit: Visit) -> PageResponse:
    """Puts the text back that was in the reply form before. Raises NotFound."""
    ticket = of_mask(visit)
    return _put(visit, ticket, model_calls.find(visit.ctx, ticket.id, visit.id).before)


def _sample(ticket_id: int) -> Sample:
    """Returns the request for the messages whose words an act may send."""
    fields = [("q", f"ticket.id:{ticket_id} sort:-created"), ("expand", "content")]
    return Sample("GET", "/rest/records/message/search.json", fields)


def _path(mask: str) -> str:
    return f"{paths.ticket(mask)}/writing-assistant"


def _acts_page(visit: Visit, ticket: dict[str, Any], chosen: str, error: str = "", status: int = 200) -> PageResponse:
    if not error:
        ticket_material.require_offered(visit.ctx, ticket["id"])
    here = paths.ticket(ticket["mask"])
    return render(
        visit,
        "writing_acts.html",
        status,
        ticket=ticket,
        here=here,
        acts=[ACTS[name] for name in (*OF_TICKET, *OF_TEXT)],
        chosen=chosen,
        error=error,
        sample=_sample(ticket["id"]),
    )


def _submitted(visit: Visit, ticket_id: int) -> ActInput:
    """Returns the submitted act. Without scripts its text comes from the submitted reply form, which is stored first,
    or from the worker's draft."""
    act = visit.form.text("act", "")
    typed = visit.form.text("typed", "")
    if not visit.is_part and act in (*OF_TEXT, writing_acts.DRAFT):
        typed = _draft_text(visit, ticket_id)
    return ActInput(
        act,
        typed.replace("\r\n", "\n"),
        visit.form.id("message", 0) if act == writing_acts.TRANSLATE_MESSAGE else 0,
        visit.language.replace("_", "-") or "en",
        visit.form.flag("selection"),
    )


def _draft_text(visit: Visit, ticket_id: int) -> str:
    if "content" in visit.form:
        kind = visit.form.text("kind", "reply")
        written = reply_form.sent(visit, kind if kind in ("reply", "forward") else "reply")
        draft = written.draft
        id, revision = (draft.id, draft.revision) if draft is not None else (0, "")
        reply_drafts.save(visit.ctx, written.kind, ticket_id, written.params(), id, revision)
        return written.form.get("content")
    newest = reply_drafts.newest_own(visit.ctx, ticket_id)
    if newest is not None:
        return str(newest.params.get("content") or "")
    begun = reply_form.of_ticket(visit, of_mask(visit), answered.newest(visit.ctx, ticket_id))
    return begun.form.get("content") if begun is not None and begun.kind != "note" else ""


def _put(visit: Visit, ticket: Sheet, text: str, used: ModelCall | None = None) -> PageResponse:
    """Stores a text as the content of the worker's newest draft, or of a new one."""
    records.require(visit.ctx, TICKET, "update", ticket.id)
    written = reply_form.of_ticket(visit, ticket, answered.newest(visit.ctx, ticket.id))
    if written is None or written.kind == "note":
        raise Invalid(_("There is no message to reply to. Start a reply first."))
    written.form.values["content"] = text
    id, revision = (written.draft.id, written.draft.revision) if written.draft is not None else (0, "")
    draft = reply_drafts.save(visit.ctx, written.kind, ticket.id, written.params(), id, revision)
    here = paths.ticket(ticket.keys["mask"])
    if used is not None:
        visit.flash(
            _("The text is in your reply. Check it before you send it."), f"{visit.path.removesuffix('/use')}/undo"
        )
    else:
        visit.flash(_("Your own text is back."))
    return see(f"{came_from.path_with_list(visit, here, answer=draft.kind)}#answer")
