"""The automatic acknowledgement that a group sends for the first mail of a ticket.

It begins as a queued draft in the transaction that creates the ticket, so that each ticket has exactly one and a crash
loses none. Its text is filled in when it is due, outside of any transaction. Follows RFC 3834."""

import re
from dataclasses import replace
from datetime import UTC
from typing import Any

from server.context import Context
from server.contexts import GROUP
from server.dataclass import dataclass
from server.errors import HelpdeskError, Invalid, TimedOut, Unavailable
from server.outbox import queue_rows
from server.outbox.content import Placeholders
from server.outbox.draft_kinds import Save
from server.outbox.sender import sender_of, way_of
from server.people.acknowledgement_text import ABOUT, ALWAYS, INSIDE
from server.people.administrators import administrators
from server.record_types.calendars.availability import covers, free
from server.record_types.calendars.calendar_rows import occurrences
from server.record_types.record_type import Record
from server.record_types.shared.sending_addresses import REPLY
from server.records.reading import RecordReader
from server.records.writing import RecordWriter
from server.store.statements import slot
from server.store.tables import table_named
from server.store.transaction import Transaction
from server.tickets import drafts, reply_limits, requesters, send_filter
from server.tickets.letter import Recipients
from server.tickets.reply import ReplyPlan, prepare, save
from server.tickets.request_values import MAX_SUBJECT
from server.tickets.types.ticket_parts.spam_verdict import LIKELY_SPAM, SPAM
from server.tickets.types.ticket_parts.status import DELETED

POINT = "group.acknowledgement.error"
MARK = "is_acknowledgement"  # a key of the params of a draft
MAX_ERROR_CHARACTERS = 500
# Characters that turn text of a stranger, such as the subject, into a link, an image or a command. The rest of
# Markdown is harmless and occurs in names and addresses.
_ACTIVE = re.compile(r"[\[\]<>]|(?<=:)//|^[#\s]+")


@dataclass(frozen=True, slots=True)
class Acknowledgement:
    """Recipient, subject and text of an acknowledgement."""

    email: str
    subject: str
    content: str


def begin(writing: RecordWriter, ticket_id: int, message_id: int, sender_id: int) -> None:
    """Queues the acknowledgement of a ticket that a mail created, in the same transaction.

    Does nothing if the group sends none, or if the sender is not a requester (an address of the service or an excluded
    one)."""
    if not _is_to_begin(writing, ticket_id, sender_id):
        return
    params = {MARK: 1, "is_autoreply": 1, "is_applied": 1, "in_reply_message_id": message_id, "ticket_id": ticket_id}
    due = {"is_queued": 1, "queue_delivery_date": writing.now}
    name = writing.label("ticket", ticket_id)
    id = writing.as_service().create(
        "draft",
        {
            "type": REPLY,
            "name": name,
            "params": params,
            "ticket_id": ticket_id,
            **due,
        },
    )
    queue_rows.put(writing.tx, id, {"checked": queue_rows.digest(params)})
    writing.wake()


def is_sent(reading: RecordReader, group_id: int, bucket_id: int) -> bool:
    """Whether email that begins a ticket here is acknowledged, at some hours at least, and can be sent."""
    group = reading.record("group", group_id)
    if group is None or not group["ack_enabled"]:
        return False
    bucket = reading.record("bucket", bucket_id or group["default_bucket_id"])
    try:
        sender = sender_of(reading.tx, reading.registry, group, bucket)
    except HelpdeskError:
        return False
    return way_of(reading.tx, reading.registry, sender.address_id) is not None


def is_acknowledgement(draft: Record) -> bool:
    """Whether a draft is an acknowledgement. Trustworthy only for drafts whose params only the service wrote."""
    return isinstance(draft["params"], dict) and bool(draft["params"].get(MARK))


def acknowledgement_write(by: Context, draft: Record) -> Save:
    """Returns the write that stores the message of an acknowledgement, or one that does nothing if none is due.

    An error in its text is reported to administrators and leaves the ticket unchanged."""
    try:
        acknowledgement = by.service.store.read(lambda tx: _read(RecordReader(by, tx), draft))
        if acknowledgement is None:
            return _nothing
        plan = _plan(by, draft, acknowledgement)
    except (TimedOut, Unavailable):
        raise  # the queue tries again
    except HelpdeskError as error:
        text = error.message[:MAX_ERROR_CHARACTERS]
        return lambda writing, id: _record_error(writing, draft["ticket_id"], text)
    return lambda writing, id: _save(writing, plan, id)


def words_of(ctx: Context, tx: Transaction, group: Record, ticket: Record) -> tuple[str, str]:
    """Returns subject and text of a group's acknowledgement of a ticket, placeholders filled in.

    Values are inserted as plain text on one line, so that a sender with a forged address cannot make the service send
    links to the victim. Raises Invalid if no text is left."""
    records = {"ticket": ticket["id"], "group": group["id"], "bucket": ticket["bucket_id"]}
    assert records.keys() == set(ABOUT)
    values = Placeholders(ctx, tx, records, own=ABOUT[0], shown=harmless)
    subject, text = values.fill(group["ack_subject"]), values.fill(group["ack_text"])
    if not text.strip():
        raise Invalid("ack_text: the rendered text is empty; add some text", field="ack_text")
    return " ".join(subject.split())[:MAX_SUBJECT], text


def trial(ctx: Context, group_id: int) -> ReplyPlan:
    """Returns the acknowledgement that a group would send for the first mail of its newest ticket.

    Runs no automations and checks no permission of the caller. Raises Invalid for a group without such a ticket, and
    the error that prevents sending."""

    def read(tx: Transaction) -> dict[str, Any]:
        reading = RecordReader(ctx, tx)
        group, ticket = reading.record("group", group_id), _newest(reading, group_id)
        if group is None or ticket is None:
            raise Invalid(f"no ticket has arrived in group {group_id} by email yet")
        subject, content = words_of(ctx, tx, group, ticket)
        return {"subject": subject, "content": content, "in_reply_message_id": ticket["initial_message_id"]}

    params = ctx.service.store.read(read) | {"is_autoreply": 1, "is_applied": 1, "format": drafts.PARSEDOWN}
    return prepare(ctx, drafts.reply_of(ctx, {"type": REPLY, "params": params, "to": ""}), is_checked=True)


def harmless(value: str) -> str:
    """A value as plain text on one line, in Markdown too.

    >>> harmless("[Boat](https://x.example)\\n#signature")
    'Boat(https:x.example) #signature'
    >>> harmless("#signature"), harmless("ann_kite@x.example *")
    ('signature', 'ann_kite@x.example *')
    """
    return " ".join(_ACTIVE.sub("", value).split())


# -- read --------------------------------------------------------------------------------------------------------------


def _read(reading: RecordReader, draft: Record) -> Acknowledgement | None:
    ticket = reading.record("ticket", draft["ticket_id"])
    message = reading.record("message", draft["params"]["in_reply_message_id"])
    group = reading.record("group", ticket["group_id"]) if ticket else None
    if ticket is None or message is None or group is None or not group["ack_enabled"]:
        return None
    if ticket["status_id"] == DELETED or ticket["spam_training"] == SPAM or ticket["spam_score"] >= LIKELY_SPAM:
        return None
    if not _is_time(reading, group, ticket["created"]):
        return None
    sender = reading.record("address", message["sender_id"])
    if sender is None or sender["is_banned"] or sender["is_defunct"]:
        return None
    return Acknowledgement(sender["email"], *words_of(reading.ctx, reading.tx, group, ticket))


def _newest(reading: RecordReader, group_id: int) -> Record | None:
    """The newest ticket of a group that began with a mail."""
    table = reading.registry.type("ticket").table
    rows = reading.tx.rows(
        lambda: (
            table.sql.select(table.sql.id)
            .where(table.sql.group_id == slot(0), table.sql.num_messages_in > 0, table.sql.status_id != DELETED)
            .order_by(table.sql.id.desc())
            .limit(1)
        ),
        (group_id,),
    )
    return reading.record("ticket", rows[0][0]) if rows else None


def _is_time(reading: RecordReader, group: Record, now: int) -> bool:
    """Whether a group acknowledges mail that arrived at this second. Raises Invalid if its calendar was deleted."""
    if group["ack_hours"] == ALWAYS:
        return True
    calendar = reading.record("calendar", group["ack_calendar_id"])
    if calendar is None:
        raise Invalid(f"there is no calendar {group['ack_calendar_id']}; choose another", field="ack_calendar_id")
    ranges = free(occurrences(reading.tx, [calendar], now, now + 1, UTC)[calendar["id"]])
    return covers(ranges, now, now + 1) == (group["ack_hours"] == INSIDE)


def _plan(by: Context, draft: Record, acknowledgement: Acknowledgement) -> ReplyPlan:
    """Prepares the mail with the changes that automations make; it goes to the sender only, even if they add
    recipients."""
    params: dict[str, Any] = {
        **draft["params"],
        "subject": acknowledgement.subject,
        "content": acknowledgement.content,
        "format": drafts.PARSEDOWN,
    }
    filled = {**draft, "params": params}
    plan = prepare(by, drafts.reply_of(by, send_filter.apply_changes(by, filled) or filled), is_checked=True)
    recipients = plan.read.recipients
    to = tuple(each for each in recipients.to if each.address.lower() == acknowledgement.email.lower())
    return replace(plan, read=replace(plan.read, recipients=Recipients(to, is_unsent=recipients.is_unsent)))


def _is_to_begin(reading: RecordReader, ticket_id: int, sender_id: int) -> bool:
    """Whether an acknowledgement is due, in one statement because every first mail needs it."""
    ticket, group = table_named("ticket"), table_named("group").alias("acknowledging")
    match = reading.tx.value(
        lambda: (
            ticket.select(ticket.c.id)
            .join(group, on=(group.c.id == ticket.c.group_id))
            .where(ticket.c.id == slot(0), group.c.ack_enabled == 1)
        ),
        (ticket_id,),
    )
    return match is not None and requesters.is_requester(reading.tx, ticket_id, sender_id)


# -- written -----------------------------------------------------------------------------------------------------------


def _nothing(writing: RecordWriter, draft_id: int) -> int:
    return 0


def _save(writing: RecordWriter, plan: ReplyPlan, draft_id: int) -> int:
    """Stores and queues the message, unless it cannot leave: then it would only be clutter on the ticket, or, for lack
    of a mail server, leave days later."""
    if plan.read.facts.way is None or reply_limits.allowed_recipients(writing, plan.read.recipients).is_empty:
        return 0
    return save(writing, plan, draft_id)[0]


def _record_error(writing: RecordWriter, ticket_id: int, text: str) -> int:
    """Logs the error in the activity of the group and notifies administrators, once per error and not once per mail."""
    ticket = writing.record("ticket", ticket_id)
    group = writing.record("group", ticket["group_id"]) if ticket else None
    if group is not None and group["ack_error"] != text:
        writing.set("group", group["id"], {"ack_error": text})
        variables = {"target": group["name"], "error": text}
        writing.log(POINT, GROUP, group["id"], variables, also_notify=administrators(writing.tx))
    return 0
