"""The content of messages to chat programs: who did what on which ticket. Notes are left out, and so are the words of
customers, unless the webhook includes them."""

from typing import Any

from server.access.service_actor import own_context
from server.context import Context, Service
from server.dataclass import dataclass
from server.errors import Forbidden, NotFound
from server.markup import quoted
from server.outgoing import chat_events
from server.outgoing.chat_events import ASSIGNED, CLOSED, CREATED, DUE, LATE, RATED, WROTE, LoggedEntry
from server.outgoing.chat_text import clean
from server.outgoing.deliveries import OutgoingDelivery, Receiver
from server.records import records
from server.records.catalogs import languages
from server.records.records import SearchRequest
from server.tickets.types.rating import BAD
from server.tickets.types.ticket_parts.spam_verdict import LIKELY_SPAM
from server.translation import _, speaking

MAX_HEADLINE_CHARS = 150
MAX_TITLE_CHARS = 200
MAX_FACT_CHARS = 100
MAX_TEXT_CHARS = 500
MAX_READ_CHARS = 5_000  # read from a message, most of which may be a quotation
OLD_SECONDS = 86_400  # tickets and messages older than this when they arrive were imported
TEST = "test"


@dataclass(frozen=True, slots=True)
class ChatNotice:
    """The content of a message. headline: what happened. title: number and subject of the ticket. facts: label and
    value. text: the beginning of the customer's words, or blank. is_urgent: whether a service target was missed."""

    headline: str
    title: str
    url: str
    facts: tuple[tuple[str, str], ...] = ()
    text: str = ""
    is_urgent: bool = False


def notice_of(service: Service, receiver: Receiver, each: OutgoingDelivery) -> ChatNotice | None:
    """The content of a delivery in the language of its webhook; None if nothing has to be sent."""
    with speaking(languages(service).catalog_for(receiver.language)):
        if each.event == TEST:
            return sample_notice(service, TEST)
        return _of_entry(service, receiver, each) if each.entry else _of_change(service, receiver, each)


def sample_notice(service: Service, event: str, has_text: bool = False) -> ChatNotice:
    """An example of the message about an event, in the current language."""
    if event == TEST:
        return ChatNotice(_("Test of an outgoing webhook"), _("Helpdesk can write here."), service.base_url)
    name, worker, group = "Ann Lee", "Milo Brandt", _("Support")
    headlines = {
        CREATED: _("New ticket from {name}", name=name),
        WROTE: _("{name} wrote", name=name),
        ASSIGNED: _("Assigned to {worker}", worker=worker),
        DUE: _("Due in {minutes} minutes: {goal}", minutes=20, goal=_("first response")),
        LATE: _("Overdue: {goal}", goal=_("first response")),
        CLOSED: _("Closed by {name}", name=worker),
        RATED: _("{name} was not satisfied", name=name),
    }
    words = {RATED: _("I waited a week for a reply.")}
    facts = [(_("Group"), group)]
    if event not in (CREATED, ASSIGNED):
        facts.append((_("Assigned to"), worker))
    if event in (CREATED, WROTE):
        words[event] = _("The pump in hall 2 leaks since this morning.")
    text = words.get(event, "") if has_text else ""
    title = f"KTE-20418-312 {_('The pump leaks')}"
    url = f"{service.base_url}/tickets/KTE-20418-312"
    return ChatNotice(headlines[event], title, url, tuple(facts), text, event == LATE)


def _of_change(service: Service, receiver: Receiver, each: OutgoingDelivery) -> ChatNotice | None:
    """The content about a new ticket or a new message."""
    ctx = own_context(service)
    message: dict[str, Any] | None = None
    ticket_id = each.record_id
    if each.uri == "message":
        message = _message(ctx, each.record_id)
        if message is None or message["is_outgoing"] or message["is_notice"] or message["is_autoreply"]:
            return None
        ticket_id = message["ticket_id"]
    ticket = _ticket(ctx, receiver, ticket_id)
    if ticket is None or _is_spam(ticket):
        return None
    if message is None:
        message = _message(ctx, ticket["initial_message_id"]) if ticket["initial_message_id"] else None
        name = _name_of(message) if message is not None else ""
        headline = _("New ticket from {name}", name=name) if name else _("New ticket")
        came_at = int(message["created"] if message is not None else ticket["created"])
    else:
        if ticket["initial_message_id"] == message["id"]:
            return None
        headline, came_at = _("{name} wrote", name=_name_of(message)), int(message["created"])
    if came_at < each.at - OLD_SECONDS:
        return None
    is_written = message is not None and not message["is_outgoing"] and not message["was_encrypted"]
    text = _words_of(message) if message is not None and receiver.has_text and is_written else ""
    return _notice(ticket, headline, text)


def _of_entry(service: Service, receiver: Receiver, each: OutgoingDelivery) -> ChatNotice | None:
    """The content about an entry of the activity log."""
    ctx = own_context(service)
    entry = service.store.read(lambda tx: chat_events.entry_of(service.registry, tx, each.entry))
    ticket = _ticket(ctx, receiver, each.record_id)
    if entry is None or ticket is None:
        return None
    text = ""
    if entry.event == RATED:
        rating = ticket["rating"]
        if rating is None or rating["score"] != BAD:
            return None
        text = rating["comment"] if receiver.has_text else ""
    is_late = entry.event == LATE
    return _notice(ticket, _headline(entry), text, is_urgent=is_late, has_owner=entry.event != ASSIGNED)


def _headline(entry: LoggedEntry) -> str:
    variables = entry.variables
    if entry.event == ASSIGNED:
        return _("Assigned to {worker}", worker=variables.get("worker", ""))
    if entry.event == CLOSED:
        return _("Closed by {name}", name=variables.get("actor", ""))
    if entry.event == RATED:
        return _("{name} was not satisfied", name=variables.get("actor", ""))
    goal = _(variables.get("goal") or "first response")
    if entry.event == LATE:
        return _("Overdue: {goal}", goal=goal)
    return _("Due in {minutes} minutes: {goal}", minutes=variables.get("minutes", ""), goal=goal)


def _notice(
    ticket: dict[str, Any], headline: str, text: str = "", *, is_urgent: bool = False, has_owner: bool = True
) -> ChatNotice:
    facts = [(_("Group"), str(ticket.get("group__label") or ""))]
    if has_owner:
        facts.append((_("Assigned to"), str(ticket.get("owner__label") or "")))
    return ChatNotice(
        clean(headline, MAX_HEADLINE_CHARS),
        clean(f"{ticket['mask']} {ticket['subject']}", MAX_TITLE_CHARS),
        str(ticket["record_url"]),
        tuple((label, clean(value, MAX_FACT_CHARS)) for label, value in facts if value),
        clean(text, MAX_TEXT_CHARS),
        is_urgent,
    )


def _ticket(ctx: Context, receiver: Receiver, id: int) -> dict[str, Any] | None:
    """The ticket; None if it is gone, deleted, or does not match the search of the webhook."""
    query = f"id:{id} ({receiver.query})" if receiver.query else f"id:{id}"
    request = SearchRequest(query, limit=1, expand="group_,owner_,rating")
    tickets = records.search(ctx, "ticket", request)["results"]
    return tickets[0] if tickets and tickets[0]["status"] != "deleted" else None


def _message(ctx: Context, id: int) -> dict[str, Any] | None:
    try:
        return records.retrieve(ctx, "message", id, "content,sender_,worker_")
    except (Forbidden, NotFound):
        return None


def _is_spam(ticket: dict[str, Any]) -> bool:
    is_likely = not ticket["spam_training"] and ticket["spam_score"] > LIKELY_SPAM
    return bool(is_likely or ticket["spam_training"] == "S")


def _name_of(message: dict[str, Any]) -> str:
    """Returns the name of the author: of the worker, or as in the email. Mail from the address of a worker shows the
    address, since any sender can use the name."""
    if message["is_outgoing"]:
        return str(message.get("worker__label") or "")
    if message.get("sender_worker_id"):
        return str(message.get("sender_email") or "")
    return str(message["from_name"] or str(message.get("sender__label") or "").partition(" <")[0])


def _words_of(message: dict[str, Any]) -> str:
    """The customer's own words, without quotations and the signature."""
    parts = quoted.parts(str(message.get("content") or "")[:MAX_READ_CHARS])
    return " ".join(text for kind, text in parts if kind == "said")
