"""The conversation of a ticket in order: messages, notes, unsent mail and changes."""

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from itertools import groupby
from typing import Any

from server.context import Context
from server.contexts import WORKER
from server.dataclass import dataclass
from server.mail.addresses import parse_list
from server.markup import quoted
from server.markup.quoted import Kind
from server.outbox import delivery
from server.outbox.delivery import Delivery
from server.record_types.shared.entries import on_ticket
from server.record_types.shared.sending_addresses import FORWARD, REPLY
from server.records import records, sheet
from server.records.records import SearchRequest
from server.records.sheet import File, Sheet
from server.tickets import answered, latest_words, reply_html
from server.tickets.note_html import note_html
from server.tickets.unseen import Mark
from server.translation import N_, Words

STEP = 20  # messages on a page, and with each step back
MAX_BACK = records.MAX_PAGE - 1  # steps
RECIPIENTS = (("to", N_("to")), ("cc", N_("cc")))
MAX_EVENTS, MAX_DRAFTS = 100, 20
MAX_TEXT_CHARS = 12_000  # characters of one text, and of all messages, newest first
EXCERPT_CHARS = 200
MAX_OPEN = 4  # messages and notes shown unfolded
LEAST_CHARS = 400  # characters of each message in any case
MESSAGE_KEYS = "_label,changes,content,headers,sender_,worker_,attachments~25"
MAX_WORDS_CHARS = 120  # first words of a folded entry
FIRST_CHARS = 500  # characters of an HTML mail's text that first words are read from
PLACES = {"message": "message", "note": "comment", "draft": "draft", "event": "activity"}
ORDER = ("message", "note", "event", "draft")  # of entries of one second
MAX_RECIPIENTS_CHARS = 300  # characters shown of To and Cc
CLOCKS_DIFFER_SECONDS = (
    3600  # seconds between the sender's date and the arrival; if they differ by more, the page shows both
)
# Log entries that duplicate messages, notes and drafts.
SHOWN_ELSEWHERE = (
    "ticket.message.handed_in",
    "ticket.message.inbound",
    "ticket.message.outbound",
    "comment.create",
    "ticket.merge",
)


@dataclass(frozen=True, slots=True)
class Entry:
    """An item of the conversation. kind: message, note, draft or event. who: the author's name, with `who_id` of a
    worker for the picture. recipients: (header, names) of a message. parts: of the text, as marked by markup/quoted.py;
    a frame shows the full message if `has_html`. html: sanitized, of a note, or of a worker's
    message that needs no frame. original:
    the author of a mail that a worker forwarded, unless they get the replies. sent_at: the sender's date if it differs
    from `at` by an hour or more."""

    kind: str
    id: int
    at: int
    who: str
    who_id: int = 0
    email: str = ""
    is_outgoing: bool = False
    recipients: tuple[tuple[Words, str], ...] = ()
    parts: tuple[tuple[Kind, str], ...] = ()
    cut: int = 0
    has_html: bool = False
    html: str = ""
    files: tuple[File, ...] = ()
    delivery: Delivery | None = None
    notes: tuple[str, ...] = ()
    original: str = ""
    keys: dict[str, Any] = field(default_factory=dict)
    sent_at: int = 0

    @property
    def excerpt(self) -> str:
        """The beginning of the text, on one line."""
        text = next((text for kind, text in self.parts if kind == "said" and text.strip()), "")
        return quoted.beginning(text or str(self.keys.get("content") or ""), EXCERPT_CHARS)

    @property
    def place(self) -> str:
        """The id of its element on the page, such as `message5`."""
        return f"{PLACES[self.kind]}{self.id}"

    @property
    def first_words(self) -> str:
        """The first words on one line, without salutation and quotations, for a folded entry."""
        text = str(self.keys.get("content") or "")[:FIRST_CHARS]
        parts = self.parts or quoted.parts(text)
        return latest_words.first_of(parts, MAX_WORDS_CHARS) or quoted.beginning(text, MAX_WORDS_CHARS)

    @property
    def is_reply(self) -> bool:
        """Whether a worker wrote it to the requester."""
        return self.is_outgoing and not self.keys.get("is_autoreply") and not self.keys.get("is_notice")


@dataclass(frozen=True, slots=True)
class Conversation:
    """entries: oldest first. earlier, later: the numbers of messages before and after them. total: of all messages.
    answered: the message that a reply refers to, 0 for none. unfolded: the places of the entries that are shown in
    full."""

    entries: tuple[Entry, ...]
    earlier: int
    later: int
    total: int
    answered: int
    unfolded: frozenset[str] = frozenset()

    @property
    def runs(self) -> list[list[Entry]]:
        """The entries in groups: successive changes share a group, every other entry has its own."""
        runs: list[list[Entry]] = []
        for is_event, entries in groupby(self.entries, key=lambda each: each.kind == "event"):
            run = list(entries)
            runs += [run] if is_event else [[each] for each in run]
        return runs

    @property
    def places(self) -> list[str]:
        """The places of the messages and notes, which can be folded."""
        return [each.place for each in self.entries if each.kind in ("message", "note")]


def read_conversation(ctx: Context, ticket: Sheet, back: int = 0, has_events: bool = True) -> Conversation:
    """Reads STEP messages of a ticket and the other entries between them. back: number of steps before the newest
    messages. has_events: whether to include changes."""
    ticket_id, comments = ticket.id, ticket.comments
    request = SearchRequest(f"ticket.id:{ticket_id} sort:-created,-id", STEP, back + 1, MESSAGE_KEYS)
    page = records.search(ctx, "message", request)
    messages, total = page["results"], page["total"]
    waiting = delivery.of_ticket(ctx, ticket_id)
    of_message = {each.message_id: each for each in waiting if each.message_id}
    later = min(back * STEP, total)
    earlier = total - later - len(messages)
    since = messages[-1]["created"] if earlier else 0
    until = _first_after(ctx, ticket_id, later) if later else ctx.now + 1
    entries = [_note(each) for each in comments] + (_events(ctx, ticket) if has_events else [])
    entries = [each for each in entries if since <= each.at < until]
    sent = reply_html.read(ctx, [each["html_attachment_id"] for each in messages if _is_sent_html(each)])
    chars_left = MAX_TEXT_CHARS
    for each in messages:
        html = sent.get(each["html_attachment_id"], "")
        entries.append(_message(each, of_message.get(each["id"]), max(chars_left, LEAST_CHARS), ticket, html))
        chars_left -= sum(len(text) for _kind, text in entries[-1].parts)
    entries += [] if later else _drafts(ctx, ticket_id, waiting)
    entries.sort(key=lambda each: (each.kind == "draft", each.at, ORDER.index(each.kind), each.id))
    incoming = [each["id"] for each in messages if not (each["is_outgoing"] or each["is_notice"])] if not later else []
    return Conversation(
        tuple(entries),
        earlier,
        later,
        total,
        incoming[0] if incoming else answered.newest(ctx, ticket_id),
        frozenset() if later else unfolded(entries),
    )


def unfolded(entries: Sequence[Entry]) -> frozenset[str]:
    """Returns the places of the entries that a page of the newest messages shows in full: those since the team's last
    reply, the newest message, and mail that has not left. Automatic messages of the service count only if there are no
    others."""
    written = [each for each in reversed(entries) if each.kind in ("message", "note")]
    by_people = [each for each in written if not each.is_outgoing or each.is_reply] or written[:1]
    last = next((place for place, each in enumerate(by_people) if each.is_reply), len(by_people))
    since = by_people[:last]
    has_message = any(each.kind == "message" for each in since)
    shown = since[:MAX_OPEN] if has_message else by_people[: last + 1][-MAX_OPEN:]
    return frozenset(each.place for each in (*shown, *(each for each in written if each.delivery)))


def newer(entries: Sequence[Entry], mark: Mark, worker_id: int) -> tuple[Entry, ...]:
    """Returns the entries that others added after a mark."""
    ids = {"message": mark.message, "note": mark.comment, "draft": mark.draft}
    return tuple(
        each
        for each in entries
        if each.kind in ids
        and each.id > ids[each.kind]
        and each.who_id != worker_id
        and (each.kind != "draft" or each.delivery is not None)
    )


def page_of(ctx: Context, ticket: Sheet, uri: str, id: int, here: int) -> int | None:
    """Returns how many steps back a message is; for a comment or draft of the ticket, `here`. None for a record that is
    on no page of the ticket."""
    if uri == "message":
        messages = records.search(ctx, "message", SearchRequest(f"ticket.id:{ticket.id} id:{id}"))["results"]
        return back_to(ctx, ticket.id, messages[0]) if messages else None
    entries: Sequence[Mapping[str, Any]] = ticket.comments
    if uri == "draft":
        request = SearchRequest(f"ticket.id:{ticket.id} sort:-updated", MAX_DRAFTS)
        entries = records.search(ctx, "draft", request)["results"]
    return here if any(each["id"] == id for each in entries) else None


def back_to(ctx: Context, ticket_id: int, message: Mapping[str, Any]) -> int:
    """Returns the number of steps back to a message."""
    id, created = message["id"], message["created"]
    own = f"ticket.id:{ticket_id}"
    after = records.count(ctx, "message", f'{own} created:"{created + 1} to now"')
    at_once = SearchRequest(f'{own} created:"{created} to {created}"', 100)
    after += sum(1 for each in records.search(ctx, "message", at_once)["results"] if each["id"] > id)
    return min(after // STEP, MAX_BACK)


def _first_after(ctx: Context, ticket_id: int, later: int) -> int:
    """Returns the time of the first of the later messages."""
    request = SearchRequest(f"ticket.id:{ticket_id} sort:-created,-id", 1, later)
    messages = records.search(ctx, "message", request)["results"]
    return int(messages[0]["created"]) if messages else ctx.now + 1


def _is_sent_html(keys: Mapping[str, Any]) -> bool:
    return bool(keys["is_outgoing"] and keys["worker_id"] and keys["html_attachment_id"])


def _message(keys: dict[str, Any], delivery: Delivery | None, most: int, ticket: Sheet, html: str) -> Entry:
    text = str(keys.get("content") or "")
    is_out, has_html = bool(keys["is_outgoing"]), bool(keys.get("html_attachment_id"))
    email, shown = str(keys.get("sender_email") or ""), reply_html.OWN_FILES.findall(html)
    who = keys.get("worker__label") if is_out else _sender(keys, email)
    return Entry(
        "message",
        keys["id"],
        keys["created"],
        str(who or keys.get("sender__label") or ""),
        int(keys.get("worker_id") or 0) if is_out else 0,
        email,
        is_out,
        _recipients(keys),
        () if has_html else tuple(quoted.parts(text[:most])),
        0 if has_html else max(len(text) - most, 0),
        has_html and not html,
        html,
        tuple(each for each in _files(keys) if str(each.id) not in shown),
        delivery,
        tuple(keys.get("notes") or ()),
        _original(keys, ticket),
        keys,
        _sender_date(keys),
    )


def _original(keys: dict[str, Any], ticket: Sheet) -> str:
    author = str(keys.get("forwarded_from") or "")
    emails = [each["email"] for each in (ticket.keys.get("requesters") or {}).values()]
    return "" if any(each.address in emails for each in parse_list(author)) else author


def _sender(keys: dict[str, Any], email: str) -> str:
    """Returns the name of a message's author: of their contact, else the name in the mail. An author with a worker's
    address cannot choose a name."""
    name = str(keys.get("sender__label") or "").removesuffix(f" <{email}>")
    is_named = bool(name and name != email) or bool(keys.get("sender_worker_id"))
    return name if is_named else str(keys.get("from_name") or name)


def _sender_date(keys: dict[str, Any]) -> int:
    sent_at = int(keys["sent_at"])
    return sent_at if sent_at and abs(sent_at - keys["created"]) >= CLOCKS_DIFFER_SECONDS else 0


def _recipients(keys: dict[str, Any]) -> tuple[tuple[Words, str], ...]:
    """The recipients of a message, from its headers."""
    headers = keys.get("headers") or {}
    texts = ((label, " ".join(str(headers.get(name) or "").split())) for name, label in RECIPIENTS)
    return tuple((label, text[:MAX_RECIPIENTS_CHARS]) for label, text in texts if text)


def _files(keys: dict[str, Any]) -> list[File]:
    """Returns the files without the HTML part, which is displayed."""
    return [each for each in sheet.files(keys) if each.id != keys.get("html_attachment_id")]


def _note(keys: dict[str, Any]) -> Entry:
    is_worker = keys.get("author__context") == WORKER
    author = str(keys.get("author__label") or "Helpdesk")
    text, author_id = str(keys["comment"]), keys["author_id"] if is_worker else 0
    return replace(_entry("note", keys, keys["created"], text, author, author_id), html=note_html(text))


def _entry(
    kind: str, keys: dict[str, Any], at: int, text: str, who: str, who_id: Any, delivery: Delivery | None = None
) -> Entry:
    """An entry with a plain text."""
    return Entry(
        kind,
        keys["id"],
        at,
        who,
        int(who_id or 0),
        parts=(("said", text[:MAX_TEXT_CHARS]),),
        cut=max(len(text) - MAX_TEXT_CHARS, 0),
        delivery=delivery,
        keys=keys,
    )


def _drafts(ctx: Context, ticket_id: int, waiting: list[Delivery]) -> list[Entry]:
    """Returns drafts and queued replies, except queued ones that are already shown as messages and the worker's own
    draft, which is in the form below."""
    request = SearchRequest(f"ticket.id:{ticket_id} sort:-updated", MAX_DRAFTS, 1, "content,worker_")
    of_draft = {each.draft_id: each for each in waiting}
    in_form: set[str] = set()  # kinds of which the newest draft is in the form
    entries = []
    for keys in records.search(ctx, "draft", request)["results"]:
        queued = of_draft.get(keys["id"])
        is_own = keys.get("worker_id") == ctx.actor.worker_id and keys["type"] in (REPLY, FORWARD)
        is_own = is_own and queued is None and keys["type"] not in in_form
        in_form |= {keys["type"]} if is_own else set()
        if (queued is not None and queued.message_id) or (queued is None and is_own):
            continue
        text, who = str(keys.get("content") or ""), str(keys.get("worker__label") or "")
        entries.append(_entry("draft", keys, keys["updated"], text, who, keys["worker_id"], queued))
    return entries


def _events(ctx: Context, ticket: Sheet) -> list[Entry]:
    """The newest entries of the activity log of a ticket."""
    request = SearchRequest(f"target.ticket:(id:{ticket.id}) sort:-created", MAX_EVENTS, 1, "params")
    log_entries = records.search(ctx, "activity_log", request)["results"]
    return [
        Entry("event", each["id"], each["created"], on_ticket(each["activity_point"], each["params"]), keys=each)
        for each in log_entries
        if each["activity_point"] not in SHOWN_ELSEWHERE
    ]
