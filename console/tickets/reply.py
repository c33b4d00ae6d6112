"""Replies and new tickets: saved during typing, previewed, sent, taken back. The operations check permissions."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from console.html import confirmation
from console.html.rendering import render
from console.html.templates import fragment
from console.http.page_response import PageResponse, json_response, see
from console.http.routes import page
from console.http.visit import Visit
from console.tickets import came_from, inbox, interrupting, reply_choices, reply_draft, reply_form, reply_samples
from console.tickets.frames import document_of, framed
from console.tickets.reply_form import ReplyForm
from console.tickets.send_buttons import send_buttons
from console.tickets.show import (
    TICKET,
    Ticket,
    of_mask,
    render_reply_form,
    render_ticket,
    ticket_of_mask,
    with_choices,
)
from server import tickets
from server.digits import is_whole
from server.errors import Conflict, HelpdeskError, Invalid, NotFound, Required
from server.help_center import article_links
from server.markup.markdown import escape_markdown
from server.markup.readable_text import text_of_html
from server.people import preferences
from server.record_types.shared import paths
from server.records import records, stored_files
from server.tickets import preview, reply_drafts, snippets, ticket_statuses, unseen
from server.tickets.reply_drafts import ReplyDraft
from server.tickets.sending_changes import changed_by_sending, put_back
from server.tickets.types.ticket_parts.status import CLOSED
from server.translation import _

FORM_BYTES = 48 * 1024 * 1024  # bytes of a form with files, each of which has its own limit
MAX_ADDRESSES = 12  # suggestions in a menu
TEXT_BYTES = 4 * 1024 * 1024
ARTICLE = "kb_article"
ANY_RECIPIENT = "anybody@example.org"  # the recipient of a preview that has none; it is never shown
COMPOSE, WAY = "/compose", "/-/way"


# -- a reply ----------------------------------------------------------------------------------------------------------


@page("POST", "/tickets/{mask}/answer", form_bytes=FORM_BYTES)
def send(visit: Visit) -> PageResponse:
    """Sends a reply after `undo_send_seconds` or later, stores it without sending, or saves it as a draft only."""
    return reply_draft.carry_out(visit, _send)


def _send(visit: Visit) -> PageResponse:
    ticket = ticket_of_mask(visit)
    written, here = _sent(visit), paths.ticket(ticket["mask"])
    if reply_draft.keeps_draft(visit):
        return reply_draft.keep(visit, written, ticket["id"], here) or _again(visit, written)
    if written.form.is_wrong:
        return _again(visit, written)
    try:
        mark = unseen.parse(written.seen) if written.kind == "reply" else None
        values = reply_draft.values_of(visit, written)
        if _sends_and_closes(values, ticket) and not confirmation.is_given(visit):
            question = interrupting.question_on_ticket(visit, ticket["id"], "send")
            if question is not None:
                return _again(visit, replace(written, question=question))
        mail = tickets.reply(
            visit.ctx,
            values,
            check=lambda writing: unseen.require_seen(writing, ticket["id"], mark),
        ).delivery
    except HelpdeskError as error:
        if isinstance(error, Conflict) and error.details.get("unseen"):
            return _again(visit, replace(written, is_stopped=True))
        return _again(visit, written.refused(error))
    reply_draft.forget(visit, written.draft)
    button = reply_form.pressed_button(visit)
    preferences.remember_button(visit.ctx, visit.preferences, button)
    destination = {"save": "stay", "next": "next"}.get(button, "")
    path, sentence = came_from.next_page(visit, ticket["mask"], destination)
    is_later = bool(written.form.text("send_at"))
    back = {"back": came_from.path_with_list(visit, here)}
    reply_draft.flash_sent(visit, mail, here, is_later, changed_by_sending(visit.ctx, ticket) | back, sentence)
    ids = (("message", mail.message_id), ("draft", mail.draft_id))
    place = next((f"{kind}{id}" for kind, id in ids if id), "thread")
    return see(f"{path}#{place}" if path.partition("?")[0] == here else path)


def _sends_and_closes(values: Mapping[str, Any], ticket: Ticket) -> bool:
    is_sent = values.get("dont_send") != "1"
    return is_sent and values["status"] == str(CLOSED) and bool(ticket["status"] != "closed")


def _again(visit: Visit, written: ReplyForm) -> PageResponse:
    """Shows the ticket with the submitted form and its errors."""
    return render_ticket(visit, of_mask(visit), written)


@page("GET", "/tickets/{mask}/answer")
def show_reply_form(visit: Visit) -> PageResponse:
    """Renders the form alone for a script that switches the kind of reply; else redirects to the form on the page of
    the ticket. A separate address, because swap.js loads such a page only as a whole."""
    ticket = of_mask(visit)
    if visit.is_part:
        return render_reply_form(visit, ticket)
    return see(f"{visit.with_query(paths.ticket(ticket.keys['mask']))}#answer")


@page("POST", "/tickets/{mask}/draft", form_bytes=TEXT_BYTES)
def autosave(visit: Visit) -> PageResponse:
    """Stores a draft that a script sends during typing."""
    return reply_draft.autosave(visit, _sent(visit), ticket_of_mask(visit)["id"])


@page("POST", "/tickets/{mask}/take-back")
def take_back(visit: Visit) -> PageResponse:
    """Undoes sending: the mail becomes a draft again and the ticket is restored. Raises Conflict once it was sent."""
    ticket = ticket_of_mask(visit)
    here = paths.ticket(ticket["mask"])
    draft = reply_draft.take_back(visit, f"{here}/answer")
    put_back(visit.ctx, ticket, {name: visit.form.text(name, "") for name in visit.form.names()})
    return see(f"{came_from.path_with_list(visit, here, answer=draft.kind)}#answer")


@page("GET", "/drafts/{id}/preview")
def show_preview(visit: Visit) -> PageResponse:
    """Renders a draft as it would be mailed, for a frame. Raises NotFound."""
    draft = reply_drafts.find_unsent(visit.ctx, visit.id)
    if draft is None:
        raise NotFound(_("This draft does not exist."))
    form = reply_form.of_draft(visit, draft)
    make = preview.of_compose if draft.kind == "compose" else preview.of_reply
    values = form.values()
    to = values["to"].strip() or ANY_RECIPIENT
    try:
        html, wrong = make(visit.ctx, values | {"send_at": "", "to": to}), ""
    except HelpdeskError as error:
        html, wrong = "", "" if isinstance(error, Required) else error.message
    return framed(html or document_of(visit, "", wrong=wrong))


@page("GET", "/-/addresses")
def addresses(visit: Visit) -> PageResponse:
    """Returns addresses by name or mail address, for a field with several: {results: [{label}]}."""
    matches = records.search_names(visit.ctx, "address", visit.query.text("q", ""), MAX_ADDRESSES)["results"]
    return json_response({"results": [{"label": each["email"]} for each in matches]})


@page("GET", "/-/mentions")
def mentions(visit: Visit) -> PageResponse:
    """Returns workers who can be mentioned: {results: [{name, label}]}. name: the nickname after @."""
    workers = records.search_names(visit.ctx, "worker", visit.query.text("q", ""), MAX_ADDRESSES, "isDisabled:no")[
        "results"
    ]
    results = [
        {"name": each["at_mention_name"], "label": each[records.LABEL]} for each in workers if each["at_mention_name"]
    ]
    return json_response({"results": results})


@page("GET", "/-/articles")
def find_articles(visit: Visit) -> PageResponse:
    """Returns help articles by words of their titles and texts, without drafts: {results: [{id, label, is_public}]}.
    is_public: whether a link to it can be inserted."""
    q = visit.query.text("q", "")
    articles = records.search_names(visit.ctx, ARTICLE, q, MAX_ADDRESSES, "status:[internal,published]")["results"]
    public = article_links.public_addresses(visit.ctx, articles)
    results = [{"id": each["id"], "label": each["title"], "is_public": each["id"] in public} for each in articles]
    return json_response({"results": results})


@page("GET", "/-/articles/{id}")
def article_text(visit: Visit) -> PageResponse:
    """Returns the title and the text of an article, to insert into a reply: {text}. link: returns a link to it instead,
    in the help center of the group. Raises NotFound, Forbidden, Conflict."""
    if visit.query.flag("link"):
        return json_response({"text": article_links.link_to_article(visit.ctx, visit.id, visit.query.id("group", 0))})
    article = records.retrieve(visit.ctx, ARTICLE, visit.id)
    title, text = escape_markdown(article["title"]), text_of_html(article["content"])
    return json_response({"text": f"**{title}**\n\n{text.strip()}\n"})


@page("POST", "/-/snippets/{id}")
def paste(visit: Visit) -> PageResponse:
    """Returns the text of a snippet for a ticket, counted as a use: {text}. Raises NotFound, Forbidden, Required."""
    return json_response({"text": snippets.paste(visit.ctx, visit.id, visit.form.id("ticket", 0))})


@page("POST", "/-/files", form_bytes=FORM_BYTES)
def upload(visit: Visit) -> PageResponse:
    """Stores a file to attach: {id, name, size, path, url}. url: of a picture in a message. Raises Invalid,
    TooLarge."""
    file = visit.form.upload("file")
    if file is None:
        raise Invalid(_("Choose a file."), field="file")
    stored = stored_files.upload(visit.ctx, file.filename, file.content_type, file.content)
    path = paths.file(stored["id"])
    more = {"path": path, "url": f"{visit.service.base_url}{path}"}
    return json_response({"id": stored["id"], "name": stored["name"], "size": stored["size"], **more})


# -- a new ticket -----------------------------------------------------------------------------------------------------


@page("GET", COMPOSE)
def show_compose(visit: Visit) -> PageResponse:
    """Shows the form of a new ticket. Raises Forbidden."""
    records.require(visit.ctx, TICKET, "create")
    return _compose(visit, reply_form.of_compose(visit))


@page("POST", COMPOSE, form_bytes=FORM_BYTES)
def compose(visit: Visit) -> PageResponse:
    """Creates a ticket with its first message."""
    return reply_draft.carry_out(visit, _create)


def _create(visit: Visit) -> PageResponse:
    written = reply_form.sent(visit, "compose")
    if reply_draft.keeps_draft(visit):
        return reply_draft.keep(visit, written, 0, COMPOSE) or _compose(visit, written)
    if written.form.is_wrong:
        return _compose(visit, written)
    try:
        values = {"group_id": _group_of(visit, written.form.text("bucket"))}
        done = tickets.compose(visit.ctx, values | reply_draft.values_of(visit, written))
    except HelpdeskError as error:
        return _compose(visit, written.refused(error))
    reply_draft.forget(visit, written.draft)
    preferences.remember_button(visit.ctx, visit.preferences, reply_form.pressed_button(visit))
    reply_draft.flash_sent(visit, done.delivery, COMPOSE, bool(written.form.text("send_at")), {})
    if done.uri == TICKET:
        return see(paths.ticket(records.retrieve(visit.ctx, TICKET, done.id)["mask"]))
    return see(inbox.PATH)


@page("POST", f"{COMPOSE}/draft", form_bytes=TEXT_BYTES)
def autosave_compose(visit: Visit) -> PageResponse:
    """Stores the draft of a new ticket during typing."""
    return reply_draft.autosave(visit, reply_form.sent(visit, "compose"), 0)


@page("POST", f"{COMPOSE}/take-back")
def take_back_compose(visit: Visit) -> PageResponse:
    """Takes a new ticket back before it is sent."""
    reply_draft.take_back(visit, COMPOSE)
    return see(COMPOSE)


@page("GET", WAY)
def show_way(visit: Visit) -> PageResponse:
    """Renders the outgoing identity of a bucket, for a form in which it was chosen."""
    way = reply_choices.way_from(visit, visit.query.text("bucket", ""))
    return PageResponse(fragment("parts/way.html", way=way))


def _compose(visit: Visit, written: ReplyForm) -> PageResponse:
    written = with_choices(visit, written)
    bucket = reply_samples.bucket_of(written)
    is_known = bucket in {value for value, _place in written.choices.buckets}
    sample = reply_samples.of_compose(written, _group_of(visit, bucket) if is_known else "")
    return render(
        visit,
        "compose.html",
        written.form.status,
        drafts=_other_drafts(visit, written),
        written=written,
        here=COMPOSE,
        sample=sample,
        answer_statuses=reply_form.statuses(ticket_statuses.of_group(visit.ctx, 0)),
        send_buttons=send_buttons(visit, written.kind),
    )


def _other_drafts(visit: Visit, written: ReplyForm) -> list[ReplyDraft]:
    """Returns the worker's drafts of new tickets except the one in the form."""
    draft_id = written.draft.id if written.draft is not None else 0
    return [each for each in reply_drafts.list_own(visit.ctx, 0) if each.id != draft_id]


def _group_of(visit: Visit, bucket: str) -> str:
    """The group id of a bucket, "" if there is no such bucket."""
    return str(records.retrieve(visit.ctx, "bucket", int(bucket))["group_id"]) if is_whole(bucket) else ""


def _sent(visit: Visit) -> ReplyForm:
    kind = visit.form.text("kind", "reply")
    return reply_form.sent(visit, kind if kind in ("reply", "forward") else "reply")
