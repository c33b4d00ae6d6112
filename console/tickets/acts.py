"""Actions on a ticket from its page: a property, requesters and watchers, merge, split, spam, deletion. Each is a form
that returns to the page, with an undo if possible."""

from typing import Any

from console.html import confirmation, ui
from console.html.confirmation import Confirmation
from console.html.form import Form
from console.html.rendering import render
from console.http.page_response import PageResponse, see
from console.http.routes import page
from console.http.visit import Visit, own_path
from console.lists import lookup, tagged
from console.tickets import came_from, inbox, interrupting, reply_choices, reply_form
from console.tickets.show import TICKET, Ticket, ticket_of_mask
from server import tickets
from server.digits import id_in
from server.errors import Conflict, HelpdeskError, Invalid
from server.people import form_drafts
from server.record_types.shared import paths
from server.records import comments, records, relations
from server.tickets import (
    assignment,
    latest_words,
    masks,
    original_sender,
    properties,
    reply_drafts,
    requester,
    ticket_statuses,
    undo,
    unmerge,
)
from server.tickets.by_words import find_similar
from server.tickets.latest_words import LatestWords
from server.translation import N_, Words, _, ngettext, shown

NEXT = "next"  # the owner by the way of the group
MOST_NEAR = 10  # suggested tickets to merge with
# The settable properties: the label, and the stored columns that reveal a change by another worker.
PROPERTIES: dict[str, tuple[Words, tuple[str, ...]]] = {
    "status": (N_("Status"), ("status_id", "status_name_id", "reopen_date")),
    "owner": (N_("Owner"), ("owner_id",)),
    "place": (N_("Group and bucket"), ("bucket_id",)),
    "org": (N_("Organization"), ("org_id",)),
    "importance": (N_("Importance"), ("importance",)),
    "subject": (N_("Subject"), ("subject",)),
}
UNSENT = {"status_name_id": "0"}  # default for forms that were opened before an upgrade
COLUMNS = {"spam_training", "tag_names", *(column for _label, columns in PROPERTIES.values() for column in columns)}
ASKED_AGAIN = ("name", "value", "reopen_at", "is", "back")  # fields that a question sends once more
DID = {"open": "open", "closed": "close", "deleted": "delete"}  # {status: the act that sets it}


@page("POST", "/tickets/{mask}/set")
def set_property(visit: Visit) -> PageResponse:
    """Sets one property, unless it has changed since it was shown; then shows both values. Raises Invalid,
    Forbidden."""
    ticket = ticket_of_mask(visit)
    name = visit.form.text("name", "")
    if name not in PROPERTIES:
        raise Invalid(_("This property does not exist."), field="name")
    fields = _fields(visit, name)
    question = _question_while_writing(visit, ticket, name, fields)
    if question is not None:
        return _ask(visit, ticket, question)
    expected = {column: visit.form.text(f"was_{column}", UNSENT.get(column, "")) for column in PROPERTIES[name][1]}
    try:
        before = properties.change(visit.ctx, ticket["id"], fields, expected)
    except Conflict as error:
        if "now" not in error.details:
            raise
        return _clash(visit, ticket["id"], name)
    sentence = _sentence(visit, ticket["id"], name)
    if name == "status" and _is_finished(visit, ticket, fields):
        return _go_on(visit, ticket, sentence, before)
    _flash_undoable(visit, ticket, sentence, before)
    return back_to(visit, ticket)


@page("POST", "/tickets/{mask}/restore")
def restore_property(visit: Visit) -> PageResponse:
    """Restores a property, as the undo of set_property."""
    ticket = ticket_of_mask(visit)
    fields = {name: visit.form.text(name, "") for name in visit.form.names() if name in COLUMNS}
    undo.restore(visit.ctx, ticket["id"], fields)
    visit.flash(_("Undone."))
    return back_to(visit, ticket)


def _is_finished(visit: Visit, ticket: Ticket, fields: dict[str, Any]) -> bool:
    """Whether a new status ends the work on a ticket for now; another name in the same state does not."""
    if "status" in fields:
        return bool(fields["status"] != "open")
    status = records.retrieve(visit.ctx, TICKET, ticket["id"])["status"]
    return bool(status not in ("open", ticket["status"]))


def _fields(visit: Visit, name: str) -> dict[str, Any]:
    value = visit.form.text("value", "").strip()
    if name == "status":
        if value.isdigit():
            return {"status_name_id": value}
        if value not in inbox.STATUS_BADGES:
            raise Invalid(_("Choose open, waiting, closed or deleted."), field="status")
        reopen = reply_form.ahead(visit, "reopen_at", visit.form.text("reopen_at", ""))
        fields = {"status": value, "reopen_at": reopen if value in ("waiting", "closed") else ""}
        is_snoozed = "reopen_at" in visit.form  # that form has no names, so they stay
        return fields if is_snoozed else {**fields, "status_name_id": "0"}
    if name == "owner" and value == NEXT:
        return {"owner_id": "0", assignment.FIELD: assignment.GROUP}
    if name == "owner":
        text = str(visit.actor.worker_id) if value == "me" else value
        return {"owner_id": str(lookup.chosen_id(visit, "worker", text, "owner"))}
    if name == "org":
        return {"org_id": str(lookup.chosen_id(visit, "org", value, "org"))}
    if name == "place":
        return {"bucket_id": str(reply_choices.chosen_bucket(visit, value))}
    return {"importance": {"importance": value}, "subject": {"subject": value}}[name]


def _flash_undoable(visit: Visit, ticket: Ticket, text: Words, before: dict[str, str]) -> None:
    """Flashes a message with an undo that restores stored columns. before: these columns with their former values."""
    here = paths.ticket(ticket["mask"])
    visit.flash(text, f"{here}/restore", back=came_from.path_with_list(visit, here), **before)


def _go_on(visit: Visit, ticket: Ticket, text: Words, before: dict[str, str]) -> PageResponse:
    """Redirects to the page after a finished ticket. text, before: as in _flash_undoable."""
    path, sentence = came_from.next_page(visit, ticket["mask"])
    _flash_undoable(visit, ticket, f"{shown(text)} {sentence}".strip(), before)
    return see(path)


def _sentence(visit: Visit, ticket_id: int, name: str) -> str:
    """Returns a sentence about the new value of a property."""
    if name not in ("status", "owner", "place"):
        return _("{property} changed.", property=shown(PROPERTIES[name][0]))
    ticket = records.retrieve(visit.ctx, TICKET, ticket_id, "owner_,bucket_,group_")
    value, did = "", DID.get(ticket["status"], "")
    if name == "owner":
        value, is_own = ticket.get("owner__label") or "", ticket["owner_id"] == visit.actor.worker_id
        did = "take" if is_own else "assign" if ticket["owner_id"] else "unassign"
        if not ticket["owner_id"] and visit.form.text("value", "") == NEXT:
            return _("Nobody is available. The ticket waits and is assigned as soon as somebody is.")
    elif name == "place":
        value, did = f"{ticket['group__label']} / {ticket['bucket__label']}", "move"
    elif ticket["status_name"]:
        value, did = ticket["status_name"], "status"
    elif ticket["status"] == "waiting":
        if not ticket["reopen_date"]:
            return _("Ticket set to waiting.")
        value, did = ui.soon(visit, ticket["reopen_date"]), "wait"
    return ngettext(*inbox.SAYS[did], 1, value=value)


def _clash(visit: Visit, ticket_id: int, name: str) -> PageResponse:
    """Shows both values and the choice between them."""
    ticket = records.retrieve(visit.ctx, TICKET, ticket_id, "owner_,bucket_,group_,org_")
    label, columns = PROPERTIES[name]
    named_values = {
        "status": ticket["status_name"] or _status_word(ticket["status"]),
        "owner": ticket.get("owner__label") or _("Nobody"),
        "place": f"{ticket.get('group__label')} / {ticket.get('bucket__label')}",
        "org": ticket.get("org__label") or _("none"),
    }
    fields = [
        (each, visit.form.text(each, "")) for each in ("name", "value", "reopen_at", "back") if each in visit.form
    ]
    ticket["reopen_date"] = ticket["reopen_date"] or 0
    return render(
        visit,
        "ticket_clash.html",
        409,
        label=shown(label),
        now=named_values[name] if name in named_values else ticket[name],
        wanted=_wanted(visit, name),
        fields=[*fields, *((f"was_{column}", str(ticket[column])) for column in columns)],
        back=came_from.path_with_list(visit, paths.ticket(ticket["mask"])),
    )


def _question_while_writing(visit: Visit, ticket: Ticket, name: str, fields: dict[str, Any]) -> Confirmation | None:
    """Returns the question before a change while a colleague writes on the ticket. name: of PROPERTIES."""
    if name == "status":
        return interrupting.question_on_status(visit, ticket, fields)
    if name != "owner" or confirmation.is_given(visit):
        return None
    return interrupting.question_on_ticket(visit, ticket["id"], "owner", fields.get("owner_id", ""))


def _ask(visit: Visit, ticket: Ticket, question: Confirmation) -> PageResponse:
    """Shows a question before the submitted act."""
    here = paths.ticket(ticket["mask"])
    names = (*ASKED_AGAIN, *(f"was_{column}" for column in COLUMNS))
    fields = [(each, visit.form.text(each, "")) for each in names if each in visit.form]
    if "back" not in visit.form:
        fields.append(("back", visit.referring_path))
    return interrupting.ask(visit, question, fields, came_from.path_with_list(visit, here))


def _status_word(status: str) -> str:
    return shown(inbox.STATUS_BADGES[status][1])


def _wanted(visit: Visit, name: str) -> str:
    value = visit.form.text("value", "")
    uri = {"owner": "worker", "place": "bucket", "org": "org"}.get(name)
    id = id_in(value) if uri else None
    if uri and id:
        return dict(lookup.choices(visit, uri, f"id:{id}")).get(str(id), value)
    if name == "status" and value.isdigit():
        return next((each.name for each in ticket_statuses.all_of(visit.ctx) if str(each.id) == value), value)
    return _status_word(value) if name == "status" and value in inbox.STATUS_BADGES else value or _("none")


# -- people -----------------------------------------------------------------------------------------------------------


@page("POST", "/tickets/{mask}/requester", creates=True)
def add_requester(visit: Visit) -> PageResponse:
    """Adds an address that gets the replies. Raises Invalid, Forbidden."""
    ticket, email = ticket_of_mask(visit), visit.form.text("email", "").strip()
    requester.add(visit.ctx, ticket["id"], email)
    visit.flash(_("{email} now gets the replies.", email=email), f"{visit.path}/remove", email=email)
    return back_to(visit, ticket)


@page("POST", "/tickets/{mask}/requester/original")
def take_original_sender(visit: Visit) -> PageResponse:
    """Makes the author of a forwarded mail the requester in place of the worker who forwarded it."""
    ticket = ticket_of_mask(visit)
    message_id = visit.form.id("message", required=True)
    email, before = original_sender.replace_sender(visit.ctx, ticket["id"], message_id)
    visit.flash(_("{email} now gets the replies.", email=email), f"{visit.path}/undo", email=email, before=before)
    return back_to(visit, ticket)


@page("POST", "/tickets/{mask}/requester/original/undo")
def restore_sender(visit: Visit) -> PageResponse:
    """Makes the worker who forwarded a mail the requester again."""
    ticket = ticket_of_mask(visit)
    requester.add(visit.ctx, ticket["id"], visit.form.text("before", "").strip())
    requester.remove(visit.ctx, ticket["id"], visit.form.text("email", "").strip())
    return back_to(visit, ticket)


@page("POST", "/tickets/{mask}/requester/remove")
def remove_requester(visit: Visit) -> PageResponse:
    """Removes an address from the requesters."""
    ticket, email = ticket_of_mask(visit), visit.form.text("email", "").strip()
    requester.remove(visit.ctx, ticket["id"], email)
    visit.flash(_("{email} no longer gets the replies.", email=email), visit.path.removesuffix("/remove"), email=email)
    return back_to(visit, ticket)


@page("POST", "/tickets/{mask}/watch")
def watch(visit: Visit) -> PageResponse:
    """Adds or removes a watcher: the worker themselves, or a chosen one. Raises Invalid."""
    ticket = ticket_of_mask(visit)
    is_on, own = visit.form.flag("on"), visit.actor.worker_id
    id = lookup.chosen_id(visit, "worker", visit.form.text("worker", "").strip(), "worker") or own
    relations.change(visit.ctx, f"ticket:{ticket['id']}", [f"worker:{id}"], adds=is_on)
    if id == own:
        text = _("You are now watching this ticket.") if is_on else _("You are no longer watching this ticket.")
    else:
        text = (
            _("The colleague is now watching this ticket.")
            if is_on
            else _("The colleague is no longer watching this ticket.")
        )
    visit.flash(text, visit.path, back=visit.form.text("back", ""), worker=str(id), on="0" if is_on else "1")
    return back_to(visit, ticket)


@page("POST", "/tickets/{mask}/tags")
def change_tags(visit: Visit) -> PageResponse:
    """Adds and removes tags by name. Raises Invalid, Forbidden."""
    ticket = ticket_of_mask(visit)
    tagged.change(visit, TICKET, ticket["id"])
    return back_to(visit, ticket)


# -- notes ------------------------------------------------------------------------------------------------------------


@page("POST", "/tickets/{mask}/note", form_bytes=1024 * 1024, creates=True)
def write_note(visit: Visit) -> PageResponse:
    """Adds a note for colleagues. Raises Required."""
    ticket = ticket_of_mask(visit)
    comments.on_record(visit.ctx, TICKET, ticket["id"], visit.form.text("note", ""), "note")
    form_drafts.drop(visit.ctx, reply_drafts.note_key(ticket["id"]))
    visit.flash(_("Note added."))
    return back_to(visit, ticket)


# -- the ticket as a whole --------------------------------------------------------------------------------------------


@page("POST", "/tickets/{mask}/spam")
def mark_spam(visit: Visit) -> PageResponse:
    """Trains the spam filter with the ticket: as spam, which deletes it, or as not spam."""
    ticket, is_spam = ticket_of_mask(visit), visit.form.flag("is")
    fields = {"spam_training": "S", "status": "deleted"} if is_spam else {"spam_training": "N", "status": "open"}
    before = {name: str(ticket[name] or 0) for name in inbox.STATE} | {"spam_training": ticket["spam_training"] or ""}
    if is_spam and not confirmation.is_given(visit):
        question = interrupting.question_on_ticket(visit, ticket["id"], "spam")
        if question is not None:
            return _ask(visit, ticket, question)
    records.update(visit.ctx, TICKET, ticket["id"], fields)
    text = ngettext(*inbox.SAYS["spam"], 1) if is_spam else _("Marked as not spam. The ticket is open.")
    if is_spam:
        return _go_on(visit, ticket, text, before)
    _flash_undoable(visit, ticket, text, before)
    return back_to(visit, ticket)


@page("GET", "/tickets/{mask}/merge")
def show_merge(visit: Visit) -> PageResponse:
    """Shows tickets to merge with. With `other`, a mask, an id or words, it compares this ticket with that one, or with
    the best match."""
    ticket, text = ticket_of_mask(visit), visit.query.text("other", "").strip().strip("#[]")
    if not text:
        return _merge_form(visit, ticket, find_similar(visit.ctx, ticket, "", MOST_NEAR))
    other = masks.ticket_id(visit.ctx, text) or id_in(text)
    if other == ticket["id"]:
        return _merge_form(visit, ticket, [], text, _("This is the ticket itself. Enter another one."))
    near = [{"id": other}] if other else find_similar(visit.ctx, ticket, text, MOST_NEAR)
    near = [each for each in near if each["id"] != ticket["id"]]
    if not near:
        return _merge_form(
            visit, ticket, [], text, _("No ticket contains these words. Enter a ticket number or other words.")
        )
    try:
        sides = _side_by_side(visit, [ticket["id"], near[0]["id"]])
    except HelpdeskError as error:
        return _merge_form(visit, ticket, [], text, error.message)
    return _merge_form(visit, ticket, near[1:], text, sides=sides)


@page("POST", "/tickets/{mask}/merge", creates=True)
def merge(visit: Visit) -> PageResponse:
    """Merges another ticket with this one; the older one stays. Raises Forbidden."""
    ticket, text = ticket_of_mask(visit), visit.form.text("other", "").strip().strip("#[]")
    other = masks.ticket_id(visit.ctx, text) or id_in(text)
    if not other or other == ticket["id"]:
        return _merge_form(visit, ticket, [], text, _("Enter the number of another ticket, or words from it."))
    try:
        ticket_id = tickets.merge(visit.ctx, [ticket["id"], other])
    except HelpdeskError as error:
        return _merge_form(visit, ticket, [], text, error.message)
    return see(flash_merged(visit, ticket_id))


def flash_merged(visit: Visit, ticket_id: int) -> str:
    """Flashes a message that undoes a merge; returns the path of the surviving ticket."""
    mask = records.retrieve(visit.ctx, TICKET, ticket_id)["mask"]
    here = paths.ticket(mask)
    undo_path = f"{here}/unmerge"
    visit.flash(_("Merged into {mask}.", mask=mask), undo_path, merge=str(unmerge.newest(visit.ctx, ticket_id)))
    return here


@page("POST", "/tickets/{mask}/unmerge", creates=True)
def undo_merge(visit: Visit) -> PageResponse:
    """Undoes a merge. Raises NotFound, Conflict, Forbidden."""
    ticket = ticket_of_mask(visit)
    result = unmerge.unmerge(visit.ctx, ticket["id"], visit.form.id("merge", required=True))
    masks_apart = [records.retrieve(visit.ctx, TICKET, id)["mask"] for id in result.ids]
    sentences = [_("Merge undone: {masks}.", masks=", ".join(masks_apart))]
    if result.moved:
        sentences.append(
            ngettext(
                "{count} message that arrived since was moved too.",
                "{count} messages that arrived since were moved too.",
                result.moved,
            )
        )
    if result.stayed:
        sentences.append(
            ngettext(
                "{count} message that arrived since stays here.",
                "{count} messages that arrived since stay here.",
                result.stayed,
            )
        )
    visit.flash(" ".join(sentences))
    return see(paths.ticket(ticket["mask"]))


def _side_by_side(visit: Visit, ids: list[int]) -> list[tuple[Ticket, LatestWords | None]]:
    """Returns tickets with the first words of their newest messages, the oldest first. Raises NotFound, Forbidden."""
    found = [records.retrieve(visit.ctx, TICKET, id, "requesters,group_,owner_") for id in ids]
    latest = latest_words.read(visit.ctx, [each["latest_message_id"] for each in found])
    return [(each, latest.get(each["id"])) for each in sorted(found, key=lambda each: (each["created"], each["id"]))]


def _merge_form(
    visit: Visit,
    ticket: Ticket,
    near: list[dict[str, Any]],
    other: str = "",
    wrong: str = "",
    sides: list[tuple[Ticket, LatestWords | None]] | None = None,
) -> PageResponse:
    """Renders the form. near: tickets to choose from. sides: both tickets once one is chosen, the one that stays
    first."""
    form = Form({"other": other})
    if wrong:
        form.fail("other", wrong)
    return render(
        visit,
        "ticket_merge.html",
        form.status,
        ticket=ticket,
        merge_form=form,
        near=[each for each in near if each["id"] != ticket["id"]],
        sides=sides,
        badges=inbox.STATUS_BADGES,
        back=paths.ticket(ticket["mask"]),
    )


@page("POST", "/tickets/{mask}/split", creates=True)
def split(visit: Visit) -> PageResponse:
    """Splits a message off into a new ticket. Raises Invalid, Forbidden."""
    ticket_of_mask(visit)
    new_id = tickets.split(visit.ctx, visit.form.id("message", required=True))
    mask = records.retrieve(visit.ctx, TICKET, new_id)["mask"]
    visit.flash(_("Split into new ticket {mask}.", mask=mask))
    return see(paths.ticket(mask))


def back_to(visit: Visit, ticket: Ticket) -> PageResponse:
    """Redirects to the page of the ticket, with the parameters it had."""
    here = paths.ticket(ticket["mask"])
    back = own_path(visit.form.text("back", ""))
    return see(back if back.partition("?")[0] == here else here)
