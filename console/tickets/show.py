"""The page of a ticket: its conversation, its properties, and the reply below."""

from dataclasses import replace
from typing import Any
from urllib.parse import unquote, urlencode

from console.forms import record_parts
from console.html import ui
from console.html.form import Form
from console.html.rendering import render
from console.html.ui import Sample
from console.http.page_response import PageResponse, see
from console.http.routes import page
from console.http.visit import Visit
from console.lists import lookup
from console.lists.link_types import linkable
from console.lists.tagged import tagged
from console.tickets import came_from, clocks, customer_card, inbox, present, reply_choices, reply_form, reply_samples
from console.tickets.field_rows import field_controls
from console.tickets.reply_choices import ReplyChoices
from console.tickets.reply_form import ReplyForm
from console.tickets.send_buttons import send_buttons
from server.automation import macros
from server.digits import id_in
from server.errors import Forbidden, NotFound
from server.people import presence, profile
from server.record_types.shared import paths
from server.records import records, sheet
from server.records.sheet import Sheet
from server.tickets import answered, conversation, following, masks, ticket_statuses, unmerge, unseen
from server.tickets.conversation import Conversation
from server.tickets.types.ticket_parts.status import WORDS
from server.tickets.unseen import Mark
from server.translation import _
from server.writing_assistant import ticket_material, writing_acts

TICKET = "ticket"

Ticket = dict[str, Any]  # its keys in the API, with the requesters


@page("GET", "/tickets/{mask}")
def show(visit: Visit) -> PageResponse:
    """Shows a ticket. Raises NotFound, Forbidden."""
    ticket = of_mask(visit)
    if ticket.keys["mask"] != unquote(visit.arguments["mask"]):
        return see(visit.with_query(paths.ticket(ticket.keys["mask"])))
    missing = _elsewhere(visit, ticket)
    return see(missing) if missing else render_ticket(visit, ticket)


def render_ticket(visit: Visit, ticket: Sheet, form: ReplyForm | None = None) -> PageResponse:
    """Renders the page, with the reply form as it is or, after an error, as it was submitted."""
    # Read before the conversation, so that an entry written in between does not count as seen.
    mark = unseen.mark(visit.ctx, ticket.id)
    look = unseen.last_look(visit.ctx, ticket.id)
    said = _conversation(visit, ticket)
    news = conversation.newer(said.entries, look[0], visit.actor.worker_id) if look is not None else ()
    unread = [each.place for each in news if each.kind != "draft"]
    said = replace(said, unfolded=said.unfolded.union(unread))
    keys = ticket.keys
    may_change = records.may(visit.ctx, TICKET, "update", ticket.id)
    customs = [each for each in ticket.facts if each.key.startswith("custom_")]
    earlier, later = _beside(visit, said)
    written = form or reply_form.of_ticket(visit, ticket, said.answered)
    if written is not None:
        written = _with_unseen(visit, with_choices(visit, written, keys), said, mark)
    return render(
        visit,
        "ticket.html",
        _status(written),
        found=ticket,
        keys=keys,
        said=said,
        mark=mark,
        first_unread=unread[0] if unread else "",
        seen_at=look[1] if look is not None else 0,
        badge=inbox.STATUS_BADGES[keys["status"]],
        **_status_names(visit, keys),
        written=written,
        send_buttons=send_buttons(visit, written.kind) if written is not None else [],
        # Only callers who may change the ticket get macros, as for the reply.
        macros=macros.usable(visit.ctx, ticket.id) if written is not None else [],
        parts=record_parts,
        neighbours=came_from.neighbours(visit, keys["mask"]),
        paths=paths,
        here=paths.ticket(keys["mask"]),
        merge=unmerge.newest(visit.ctx, ticket.id),
        unanswerable="" if written is not None else _why_unanswerable(visit, ticket),
        may_change=may_change,
        present=[present.sentence(each) for each in presence.others(visit.ctx, ticket.id)],
        custom=record_parts.by_fieldset(customs),
        custom_controls=field_controls(visit, TICKET, keys["custom"], customs) if may_change else {},
        linkable=linkable(visit),
        relation_form=Form({"to": "task"}),
        followed=following.cursor(visit.ctx),
        samples=_samples(visit, ticket, said, written),
        earlier=earlier,
        later=later,
        has_log=_has_log(visit),
        log_path=_address(visit, log="0" if _has_log(visit) else ""),
        is_unfolded=_is_unfolded(visit),
        fold_path=_address(visit, open="" if _is_unfolded(visit) else "all"),
        owner=lookup.WORKERS.options(visit, str(keys["owner_id"] or "")),
        clocks=clocks.of_ticket(visit, ticket),
        rating_badges=inbox.RATING_BADGES,
        owner_away=_owner_away(visit, keys["owner_id"]),
        org=lookup.choosable(visit, "org", "", str(keys["org_id"] or "")),
        card=customer_card.customer_card(visit, ticket),
        tagged=tagged(visit, TICKET, ticket.id, f"{paths.ticket(keys['mask'])}/tags", key="t"),
        badges=inbox.STATUS_BADGES,
        place=reply_choices.choosable_buckets(visit, str(keys["bucket_id"] or "")),
        **_assistant(visit, keys),
    )


def _assistant(visit: Visit, ticket: Ticket) -> dict[str, Any]:
    """Returns the acts of the writing assistant for the menus of the ticket and of the reply; none where it is off."""
    if not ticket_material.is_offered(visit.ctx, ticket):
        return {"ticket_acts": [], "text_acts": []}
    acts = writing_acts.ACTS
    return {
        "ticket_acts": [acts[name] for name in writing_acts.OF_TICKET],
        "text_acts": [acts[name] for name in (writing_acts.DRAFT, *writing_acts.OF_TEXT)],
    }


def _status_names(visit: Visit, ticket: Ticket) -> dict[str, Any]:
    """Returns the name of the status, None for none, and the names to choose from: for each state, and after a
    reply."""
    named = {each.id: each for each in ticket_statuses.all_of(visit.ctx)}
    group_id, own = ticket["group_id"], ticket["status_name_id"]
    offered = [each for each in named.values() if each.is_used_by(group_id) or each.id == own]
    return {
        "status_name": named.get(own),
        "answer_statuses": reply_form.statuses(offered),
        "status_names": [[each for each in offered if each.status_id == state] for state in range(len(WORDS))],
    }


def _why_unanswerable(visit: Visit, ticket: Sheet) -> str:
    """Returns the reason why the caller cannot reply to a ticket that they may read, and who can change that."""
    if ticket.keys["group_id"] in visit.actor.member_of:
        return _("Your role does not allow you to reply to tickets. An administrator can change that.")
    return _(
        "You can read this ticket but not reply to it: you are not a member of the group {group}. One "
        "of its managers or an administrator can add you.",
        group=ticket.keys.get("group__label") or "",
    )


def _status(written: ReplyForm | None) -> int:
    if written is None:
        return 200
    return 409 if written.unseen or written.question else written.form.status


def _with_unseen(visit: Visit, written: ReplyForm, said: Conversation, mark: Mark) -> ReplyForm:
    """Returns the reply with the mark of what its author has seen: of this page, or of the submitted form if it is
    shown again for another reason than new messages."""
    before = unseen.parse(written.seen)
    if before is None or written.is_stopped:
        entries = conversation.newer(said.entries, before, visit.actor.worker_id) if before is not None else ()
        return replace(written, seen=str(mark), unseen=entries)
    return written


def render_reply_form(visit: Visit, ticket: Sheet) -> PageResponse:
    """Renders the reply form alone. Raises Forbidden if the caller may not reply."""
    written = reply_form.of_ticket(visit, ticket, answered.newest(visit.ctx, ticket.id))
    if written is None:
        raise Forbidden(_("You cannot reply to this ticket."))
    written = replace(with_choices(visit, written, ticket.keys), seen=str(unseen.mark(visit.ctx, ticket.id)))
    return render(
        visit,
        "ticket_reply.html",
        found=ticket,
        written=written,
        here=paths.ticket(ticket.keys["mask"]),
        answer_statuses=reply_form.statuses(ticket_statuses.of_group(visit.ctx, ticket.keys["group_id"])),
        send_buttons=send_buttons(visit, written.kind),
        **_assistant(visit, ticket.keys),
    )


def with_choices(visit: Visit, written: ReplyForm, ticket: dict[str, Any] | None = None) -> ReplyForm:
    """Returns the form with its options. ticket: None for a new one."""
    if written.kind == "note":
        return written
    choices = written.choices
    if choices is reply_choices.NO_CHOICES:  # a submitted form
        choices = (
            reply_choices.of_bucket(visit, written.form.get("bucket"))
            if ticket is None
            else ReplyChoices(reply_choices.way_of_ticket(visit, ticket))
        )
    return replace(written, choices=reply_choices.read(visit, written.kind, written.message_id, written.form, choices))


def _owner_away(visit: Visit, owner_id: int) -> str:
    """Returns the end of the owner's absence and their stand-in; "" if the owner is present, or nobody owns the
    ticket."""
    absence = profile.absence_of(visit.ctx, owner_id) if owner_id else None
    if absence is None:
        return ""
    until = ui.moment(visit, absence.until) if absence.until else ""
    sentence = (
        _("The owner is away until {time}.", time=until) if until else _("The owner is away until further notice.")
    )
    who = _("{name} is standing in.", name=absence.stand_in) if absence.stand_in else _("No stand-in.")
    return f"{sentence} {who}"


def of_mask(visit: Visit) -> Sheet:
    """Returns the ticket in the address. Raises NotFound, Forbidden."""
    return sheet.sheet(visit.ctx, TICKET, _id(visit), "requesters", "watchers", "rating")


def ticket_of_mask(visit: Visit) -> Ticket:
    """Returns the keys of the ticket in the address, with its requesters. Raises NotFound, Forbidden."""
    return records.retrieve(visit.ctx, TICKET, _id(visit), "requesters")


def _id(visit: Visit) -> int:
    mask = unquote(visit.arguments["mask"])
    id = masks.ticket_id(visit.ctx, mask)
    if id is None:
        raise NotFound(_("There is no ticket '{mask}'.", mask=mask[:80]))
    return id


# -- the conversation -------------------------------------------------------------------------------------------------


def _conversation(visit: Visit, ticket: Sheet) -> Conversation:
    back = visit.query.integer("back", 0, 0, conversation.MAX_BACK)
    said = conversation.read_conversation(visit.ctx, ticket, back, _has_log(visit))
    requested = [f"{uri}{id_in(visit.query.text(uri, ''))}" for uri in ("message", "comment")]
    return replace(said, unfolded=said.unfolded.union(said.places if _is_unfolded(visit) else requested))


def _is_unfolded(visit: Visit) -> bool:
    """Whether the page shows all its messages in full."""
    return visit.query.text("open", "") == "all"


def _has_log(visit: Visit) -> bool:
    """Whether the conversation includes changes."""
    return visit.query.text("log", "1") != "0"


def _beside(visit: Visit, said: Conversation) -> tuple[str, str]:
    """Returns the addresses of earlier and later messages, "" for none."""
    back = said.later // conversation.STEP
    earlier = _address(visit, back=str(back + 1)) if said.earlier else ""
    return earlier, _address(visit, back=str(max(back - 1, 0) or "")) if said.later else ""


def _address(visit: Visit, **changes: str) -> str:
    """Returns the address of this page with other parameters, without the message in it."""
    return visit.address(message="", **changes)


def _elsewhere(visit: Visit, ticket: Sheet) -> str:
    """Returns the address of the requested message, comment or draft if it is not on this page: further back, or on a
    separate page."""
    here = visit.query.integer("back", 0, 0, conversation.MAX_BACK)
    for uri in ("message", "draft", "comment"):
        id = id_in(visit.query.text(uri, ""))
        if id:
            back = conversation.page_of(visit.ctx, ticket, uri, id, here)
            if back is None:
                return paths.record(uri, id)
            return f"{visit.path}?{urlencode({'back': back, uri: id})}#{uri}{id}" if back != here else ""
    return ""


def _samples(visit: Visit, ticket: Sheet, said: Conversation, written: ReplyForm | None) -> list[Sample]:
    reply = written if said.answered else None
    if reply is not None and reply.kind == "note":
        reply = reply_form.begun(visit, ticket.keys, said.answered)
    return reply_samples.of_ticket(ticket.keys, reply)
