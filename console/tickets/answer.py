"""Writing an answer: kept while it is typed, looked at, sent, taken back. Source: ours; the rights are those of the
operations."""

from contextlib import suppress
from dataclasses import replace
from typing import Any

from console.html import once
from console.html.environment import fragment
from console.html.rendering import render
from console.html.sheet import Sheet
from console.html.ui import Sample
from console.http.page_response import PageResponse, json_response, see
from console.http.routes import page
from console.http.visit import Visit
from console.lists import lookup
from console.tickets import answer_form, came_from
from console.tickets.answer_form import AnswerForm
from console.tickets.frames import document_of, framed
from console.tickets.show import TICKET, kept, of_mask, shown, shown_answer
from server import refusals, tickets
from server.desk import files, records
from server.errors import Conflict, HelpdeskError, Invalid, NotFound, Required
from server.outbox.delivery import Delivery
from server.people import accepted_forms
from server.records.shared import paths
from server.tickets import answer_drafts, preview, requester, snippets, undo, unseen, way_out
from server.tickets.answer_drafts import AnswerDraft
from server.translation import N_, _, ngettext

FORM_BYTES = 48 * 1024 * 1024  # with files, before their own limit is asked
MAX_ADDRESSES = 12  # offered at once
TEXT_BYTES = 4 * 1024 * 1024
# Of the ticket, put back when mail is taken back, unless somebody has changed them since: those of a row together.
BEFORE = (("status_id", "reopen_date"), ("owner_id",))
ADDED = "added"  # requesters that sending added, with commas between
NOW = "now_"  # before the name of a column: what it became by sending
KEPT = ("draft", "preview", "snippet")  # buttons that send nothing
DISCARD = "discard"
UNSENT = ("parked", "held", "partly", "failing", "failed")  # states of mail that needs a look
COMPOSE, WAY = "/compose", "/-/way"


# -- an answer --------------------------------------------------------------------------------------------------------


@page("POST", "/tickets/{mask}/answer", form_bytes=FORM_BYTES)
def send(visit: Visit) -> PageResponse:
    """Send an answer, in `undo_send_seconds` or later; keep it without sending; or only as a draft."""
    if visit.form.text("do", "send") in (*KEPT, DISCARD):
        return _send(visit)
    return once.carry_out(visit, _send, draft=_draft_sent(visit), is_writing=True)


def _draft_sent(visit: Visit) -> str:
    """The draft and the revision that a form sends; "" for none."""
    id, revision = visit.form.id("draft", 0), visit.form.text("revision", "")
    return f"{id}:{revision[:64]}" if id and revision else ""


def _send(visit: Visit) -> PageResponse:
    found = of_mask(visit)
    written = _sent(visit, found)
    do, here = visit.form.text("do", "send"), paths.ticket(found.keys["mask"])
    if do == DISCARD:
        return _discard(visit, written, came_from.kept(visit, here)) or shown(visit, found, written)
    if do in KEPT:
        return _keep(visit, written, found.id, here, do) or shown(visit, found, written)
    values = written.values() | ({"dont_send": "1", "send_at": ""} if do == "save" else {})
    values = _delayed(visit, values, do)
    if written.form.is_wrong:
        return shown(visit, found, written)
    try:
        seen = unseen.parse(written.seen) if written.kind == "reply" else None
        done = tickets.reply(
            visit.ctx, answer_form.planned(visit, values),
            check=lambda writing: unseen.require_seen(writing, found.id, seen),
        )  # fmt: skip
    except HelpdeskError as error:
        if isinstance(error, Conflict) and error.details.get("unseen"):
            return shown(visit, found, replace(written, is_stopped=True))
        return shown(visit, found, written.refused(error))
    _forget(visit, written.draft)
    tell_sent(visit, done.delivery, here, bool(written.form.text("send_at")), changed_by_sending(visit, found))
    told = done.delivery
    place = f"message{told.message_id}" if told.message_id else f"draft{told.draft_id}" if told.draft_id else "thread"
    return see(f"{came_from.kept(visit, here)}#{place}")


@page("GET", "/tickets/{mask}/answer")
def show_answer(visit: Visit) -> PageResponse:
    """The form alone where a script asks, which shows another kind of answer without the page. Else the page of the
    ticket, at its answer; an address of its own, since swap.js loads only such a page as a whole."""
    found = of_mask(visit)
    if visit.is_part:
        return shown_answer(visit, found)
    return see(f"{kept(visit, paths.ticket(found.keys['mask']))}#answer")


@page("POST", "/tickets/{mask}/draft", form_bytes=TEXT_BYTES)
def keep(visit: Visit) -> PageResponse:
    """What a script of ours sends while somebody types: {draft, revision}, or {conflict: why}."""
    found = of_mask(visit)
    return _kept_while_typing(visit, _sent(visit, found), found.id)


@page("POST", "/tickets/{mask}/take-back")
def take_back(visit: Visit) -> PageResponse:
    """The undo of sending: the mail is a draft again, and the ticket as it was. Raises Conflict once it has left."""
    found = of_mask(visit)
    here = paths.ticket(found.keys["mask"])
    kept = answer_drafts.take_back(visit.ctx, visit.form.id("draft", required=True))
    accepted_forms.forget(visit.ctx, f"{here}/answer")
    fields = _put_back(visit, found)
    if fields:
        undo.restore(visit.ctx, found.id, fields, {name: str(found.keys[name] or 0) for name in fields})
    for email in filter(None, visit.form.text(ADDED, "").split(",")):
        requester.remove(visit.ctx, found.id, email)
    visit.tell(_("Sending cancelled. Your draft is back."))
    return see(f"{here}?answer={kept.kind}#answer")


@page("GET", "/drafts/{id}/preview")
def show_preview(visit: Visit) -> PageResponse:
    """The HTML of a draft as it would be mailed, for a frame. Raises NotFound."""
    draft = answer_drafts.of(visit.ctx, visit.id)
    if draft is None:
        raise NotFound(_("There is no such draft."))
    form = answer_form.of_draft(visit, draft)
    make = preview.of_compose if draft.kind == "compose" else preview.of_reply
    try:
        html, wrong = make(visit.ctx, form.values() | {"send_at": ""}), ""
    except HelpdeskError as error:
        html, wrong = "", "" if isinstance(error, Required) else error.message
    return framed(html or document_of("", wrong=wrong))


@page("GET", "/-/addresses")
def addresses(visit: Visit) -> PageResponse:
    """Addresses by name or mail address, for a field that takes several: {results: [{label}]}."""
    found = lookup.search_names(visit, "address", visit.query.text("q", ""), MAX_ADDRESSES)["results"]
    return json_response({"results": [{"label": each["email"]} for each in found]})


@page("GET", "/-/mentions")
def mentions(visit: Visit) -> PageResponse:
    """Workers who can be mentioned, by name: {results: [{name, label}]}. name: the nickname that stands behind @."""
    found = lookup.search_names(visit, "worker", visit.query.text("q", ""), MAX_ADDRESSES, "isDisabled:no")["results"]
    named = [
        {"name": each["at_mention_name"], "label": each[lookup.LABEL]} for each in found if each["at_mention_name"]
    ]
    return json_response({"results": named})


@page("POST", "/-/snippets/{id}")
def paste(visit: Visit) -> PageResponse:
    """The text of a snippet for a ticket, which counts as a use: {text}. Raises NotFound, Forbidden, Required."""
    return json_response({"text": snippets.paste(visit.ctx, visit.id, visit.form.id("ticket", 0))})


@page("POST", "/-/files", form_bytes=FORM_BYTES)
def upload(visit: Visit) -> PageResponse:
    """Keep a file that is to go along: {id, name, size, path}. Raises Invalid, TooLarge."""
    given = visit.form.upload("file")
    if given is None:
        raise Invalid(_("Choose a file."), field="file")
    kept = files.upload(visit.ctx, given.filename, given.content_type, given.content)
    return json_response({"id": kept["id"], "name": kept["name"], "size": kept["size"], "path": paths.file(kept["id"])})


# -- a new ticket -----------------------------------------------------------------------------------------------------


@page("GET", COMPOSE)
def show_compose(visit: Visit) -> PageResponse:
    """The form of a new ticket. Raises Forbidden."""
    records.require(visit.ctx, TICKET, "create")
    return _compose(visit, answer_form.of_compose(visit))


@page("POST", COMPOSE, form_bytes=FORM_BYTES)
def compose(visit: Visit) -> PageResponse:
    """Create a ticket with its first message."""
    if visit.form.text("do", "send") in (*KEPT, DISCARD):
        return _create(visit)
    return once.carry_out(visit, _create, draft=_draft_sent(visit), is_writing=True)


def _create(visit: Visit) -> PageResponse:
    written = _composed(visit)
    do = visit.form.text("do", "send")
    if do == DISCARD:
        return _discard(visit, written, "/inbox") or _compose(visit, written)
    if do in KEPT:
        return _keep(visit, written, 0, COMPOSE, do) or _compose(visit, written)
    values = written.values() | ({"dont_send": "1", "send_at": ""} if do == "save" else {})
    values = _delayed(visit, values, do)
    if written.form.is_wrong:
        return _compose(visit, written)
    try:
        done = tickets.compose(visit.ctx, _placed(visit, answer_form.planned(visit, values)))
    except HelpdeskError as error:
        return _compose(visit, written.refused(error))
    _forget(visit, written.draft)
    tell_sent(visit, done.delivery, COMPOSE, bool(written.form.text("send_at")), {})
    if done.uri == TICKET:
        return see(paths.ticket(records.retrieve(visit.ctx, TICKET, done.id)["mask"]))
    return see("/inbox")


@page("POST", f"{COMPOSE}/draft", form_bytes=TEXT_BYTES)
def keep_compose(visit: Visit) -> PageResponse:
    """As keep, of a new ticket."""
    return _kept_while_typing(visit, _composed(visit), 0)


@page("POST", f"{COMPOSE}/take-back")
def take_back_compose(visit: Visit) -> PageResponse:
    """As take_back, of a new ticket."""
    answer_drafts.take_back(visit.ctx, visit.form.id("draft", required=True))
    accepted_forms.forget(visit.ctx, COMPOSE)
    visit.tell(_("Sending cancelled. Your draft is back."))
    return see(COMPOSE)


@page("GET", WAY)
def show_way(visit: Visit) -> PageResponse:
    """How mail leaves from a bucket, for a form in which it was chosen."""
    way = answer_form.way_from(visit, visit.query.text("bucket", ""))
    return PageResponse(fragment("parts/way.html", way=way))


def _composed(visit: Visit) -> AnswerForm:
    """The form of a new ticket as it was sent."""
    return answer_form.sent(visit, "compose", answer_form.way_from(visit, visit.form.text("bucket", "")))


def _compose(visit: Visit, written: AnswerForm) -> PageResponse:
    fields = written.sample.fields
    bucket = dict(fields)["bucket_id"]
    is_known = bucket in {value for value, _place in written.buckets}
    group = _placed(visit, {"bucket_id": bucket})["group_id"] if is_known else ""
    sample = Sample("POST", written.sample.path, [("group_id", group or "1"), *fields])
    return render(
        visit, "compose.html", written.form.status, drafts=_other_drafts(visit, written),
        written=written, here=COMPOSE, sample=sample,
        answer_statuses=answer_form.STATUSES, most_bytes=visit.service.settings.max_attachment_bytes,
    )  # fmt: skip


def _other_drafts(visit: Visit, written: AnswerForm) -> list[AnswerDraft]:
    """The worker's drafts of new tickets that do not stand in the form."""
    shown = written.draft.id if written.draft is not None else 0
    return [each for each in answer_drafts.list_own(visit.ctx, 0) if each.id != shown]


def _placed(visit: Visit, values: dict[str, Any]) -> dict[str, Any]:
    """With the group of the bucket, which compose asks for."""
    bucket = values["bucket_id"]
    found = records.retrieve(visit.ctx, "bucket", int(bucket)) if str(bucket).isdigit() else None
    return values | {"group_id": str(found["group_id"]) if found is not None else ""}


# -- what both share --------------------------------------------------------------------------------------------------


def _sent(visit: Visit, found: Sheet) -> AnswerForm:
    kind = visit.form.text("kind", "reply")
    keys = found.keys
    way = way_out.of(visit.ctx, keys["group_id"], keys["bucket_id"], found.id)
    return answer_form.sent(visit, kind if kind in ("reply", "forward") else "reply", way)


def changed_by_sending(visit: Visit, found: Sheet) -> dict[str, str]:
    """What sending has changed of a ticket: columns with what they were, under `now_` what they are, and the requesters
    that it added. found: as the ticket was before."""
    now = records.retrieve(visit.ctx, TICKET, found.id, "requesters")
    names = [name for row in BEFORE for name in row]
    columns = {name: str(found.keys[name] or 0) for name in names}
    added = _requesters(now).keys() - _requesters(found.keys).keys()
    return columns | {NOW + name: str(now[name] or 0) for name in names} | {ADDED: ",".join(sorted(added))}


def _requesters(keys: dict[str, Any]) -> dict[str, Any]:
    """The requesters of a ticket by address."""
    return {str(each["email"]): each for each in (keys.get("requesters") or {}).values()}


def _put_back(visit: Visit, found: Sheet) -> dict[str, str]:
    """What a ticket gets back of what sending has changed: nothing that somebody has changed since."""
    form = visit.form
    rows = [row for row in BEFORE if all(form.text(NOW + name, "") == str(found.keys[name] or 0) for name in row)]
    return {name: form.text(name, "") for row in rows for name in row if name in form}


def _stored(visit: Visit, written: AnswerForm, ticket_id: int) -> AnswerDraft:
    """Raises Conflict, Invalid, Forbidden."""
    known = written.draft
    id, revision = (known.id, known.revision) if known is not None else (0, "")
    return answer_drafts.keep(visit.ctx, written.kind, ticket_id, written.params(), id, revision)


def _kept_while_typing(visit: Visit, written: AnswerForm, ticket_id: int) -> PageResponse:
    try:
        kept = _stored(visit, written, ticket_id)
    except (Conflict, Invalid) as error:
        return json_response({"conflict": refusals.translated(error.message)})
    return json_response({"draft": kept.id, "revision": kept.revision})


def _keep(visit: Visit, written: AnswerForm, ticket_id: int, here: str, do: str) -> PageResponse | None:
    """Keep the draft and show the form again; None with what is wrong in the form."""
    if do == "snippet":
        id = visit.form.id("snippet", 0)
        text = snippets.paste(visit.ctx, id, ticket_id) if id else ""
        written.form.values["content"] = "\n".join(filter(None, (written.form.get("content"), text)))
    try:
        kept = _stored(visit, written, ticket_id)
    except (Conflict, Invalid) as error:
        written.form.fail("", error.message)
        return None
    more = ({"answer": kept.kind} if ticket_id else {}) | ({"preview": "1"} if do == "preview" else {})
    return see(f"{came_from.kept(visit, here, **more)}#answer")


def _discard(visit: Visit, written: AnswerForm, here: str) -> PageResponse | None:
    """Forget the draft; None with what is wrong in the form."""
    try:
        _drop(visit, written.draft)
    except (Conflict, Invalid) as error:
        written.form.fail("", error.message)
        return None
    visit.tell("Draft discarded.")
    return see(here)


def _forget(visit: Visit, draft: AnswerDraft | None) -> None:
    """The draft of what is on its way now. What another tab has kept there meanwhile was not sent: it stays."""
    with suppress(Conflict, Invalid):
        _drop(visit, draft)


def _drop(visit: Visit, draft: AnswerDraft | None) -> None:
    if draft is not None and draft.worker_id == visit.actor.worker_id:
        answer_drafts.drop(visit.ctx, draft.id, draft.revision)


def _delayed(visit: Visit, values: dict[str, Any], do: str) -> dict[str, Any]:
    """With the time in which the mail can be taken back, unless it is to leave later anyway, or not at all."""
    seconds = visit.service.settings.undo_send_seconds
    if do == "save" or values["send_at"].strip() or not seconds:
        return values
    return values | {"send_at": str(visit.now + seconds)}


def tell_sent(visit: Visit, told: Delivery, here: str, is_later: bool, before: dict[str, str]) -> None:
    """Say what became of mail, with a button that takes it back. here: of the ticket. is_later: whether it leaves when
    somebody chose. before: of changed_by_sending."""
    if told.draft_id and told.state in UNSENT:
        is_partly = told.state == "partly"
        words = N_("Not sent to everybody: {reason}") if is_partly else N_("Not sent yet: {reason}")
        visit.tell(_(words, reason=told.reason))
        return
    if not told.draft_id or told.state not in ("later", "queued"):
        visit.tell(_("Saved without sending.") if told.state == "kept" else _("Sent."))
        return
    undo = f"{here}/take-back"
    seconds = visit.service.settings.undo_send_seconds
    now = ngettext("Sending in {count} second…", "Sending in {count} seconds…", seconds)
    text = _("It will be sent at the time you chose.") if is_later else now
    visit.tell(text, undo, draft=str(told.draft_id), **before)
