"""Messages: the mails of a ticket, received and sent, with their original headers.

Only the declaration; headers, counters of the ticket and expands are in message_parts/. Creating a message sends
nothing."""

import json
from collections.abc import Sequence

from server import contexts
from server.errors import Invalid
from server.fields import Bit, CreatedAt, Id, Seconds, Text, Timestamp, Uint
from server.outbox.held_back import hold_back
from server.record_types.record_type import (
    Access,
    Change,
    DictionaryContext,
    Event,
    Key,
    Record,
    RecordType,
    Subtotals,
    Writing,
)
from server.record_types.shared import paths
from server.record_types.shared.named_records import address_of, worker_named
from server.record_types.shared.relation_tables import ATTACHED
from server.record_types.shared.secrets import random_text
from server.record_types.traits import Attachments, Comments, CustomFields, Links, Search
from server.search.filters import (
    BelongsTo,
    BytesFilter,
    ChoiceFilter,
    DeepFilter,
    DurationFilter,
    FlagFilter,
    HasMany,
    HasManyThrough,
    HiddenFilter,
    NumberFilter,
    WordsFilter,
    WorkerFilter,
)
from server.store import blobs
from server.store.tables import Column, Index
from server.tickets import rule_events
from server.tickets.types.message_parts import authorship, counters, revisions, stored_headers, waits
from server.tickets.types.message_parts.message_expands import EXPANDS
from server.tickets.types.message_parts.message_filters import (
    MESSAGE_TEXT,
    MessageIdFilter,
    NotesFilter,
    TicketColumnFilter,
    id_hash,
)
from server.tickets.types.ticket_parts import merges

CONTEXT = contexts.MESSAGE
TOKEN_CHARS = 10


class Message(RecordType):
    """One mail of a ticket, received or sent."""

    uri = "message"
    aliases = ("messages", "msg", "msgs", "email", "emails")
    lookup = "token"
    traits = (Comments(), CustomFields(), Links(), Attachments(), Search())
    access = Access(read="ticket", write=("privilege", "ticket"), update=("ticket",))
    # Content and headers are the last columns, so that large values do not slow down reads of the other columns.
    fields = {
        "content": Text(
            "Plain-text body; required, but may be blank.", 16777215, required=True, blank_ok=True, stored=False
        ),
        "created": CreatedAt(
            "Time of the message: when an email arrived, or when it was sent; now when omitted. Messages are in this "
            "order."
        ),
        "hash_header_message_id": Text(
            "SHA-1 of the Message-Id in hex, by which replies find their ticket; taken from the headers when omitted.",
            40,
            filter=None,
        ),
        "headers": Text("Raw headers, one per line.", 16777215, required=True, stored=False),
        "html_attachment_id": Id(
            "Attachment with the HTML part.", "attachment", zero_ok=True, nested=None, filter=None
        ),
        "is_broadcast": Bit("Sent as a broadcast."),
        "is_not_sent": Bit("Saved without being sent."),
        "is_outgoing": Bit("Written by a worker."),
        "response_time": Seconds("Seconds the reply took.", filter_note="Time the reply took."),
        "sender": Text("Sender by email address; created if missing.", alternative_to="sender_id"),
        "sender_id": Id("Address of the sender.", "address", required=True, alternatives=("sender",)),
        "sent_at": Timestamp(
            "When it was written according to the Date header; 0 if that cannot be read. Set by the service.",
            immutable=True,
            origin="ours",
            filter=None,
        ),
        "signed_at": Timestamp("When it was signed; set by the service.", immutable=True, filter="signed.at"),
        "signed_key_fingerprint": Text(
            "Key it was signed with; set by the service.",
            64,
            immutable=True,
            filter="signed.fingerprint",
            match="exact",
        ),
        "storage_size": Uint("Size of the body in bytes; that of the content when omitted.", filter=None),
        "ticket_id": Id(
            "Ticket it belongs to.",
            "ticket",
            required=True,
            alternatives=("ticket_mask",),
            deep="Its ticket matches the query.",
        ),
        "ticket_mask": Text("Ticket by mask. No match is an error.", alternative_to="ticket_id"),
        "token": Text(
            "Random text shared with the draft it came from, 10 characters.",
            16,
            auto="generated",
            filter_note="Random text shared with the draft it came from.",
            match="exact",
        ),
        "was_encrypted": Bit("Arrived or was sent encrypted.", filter="isEncrypted"),
        "worker": Text("Worker by full name or email address; exactly one must match.", alternative_to="worker_id"),
        "worker_id": Id(
            "Worker who sent it; 0 for received email.",
            "worker",
            alternatives=("worker",),
            zero_ok=True,
            deep="The worker who sent it matches the query.",
        ),
    }
    columns = (
        Column("message_id", "TEXT", nocase=True),  # with angle brackets, case preserved
        Column("in_reply_to", "TEXT"),
        Column("is_stranger"),  # the sender knew the mask but is not a requester
        Column("is_autoreply"),
        Column("is_forward"),  # sent to third parties, so not a response to the requester
        Column("is_notice"),  # written by a program, such as an absence or a receipt; does not change the ticket
        Column("from_name", "TEXT"),  # display name of the sender, made safe to show
        *waits.COLUMNS,
        Column("html_template_id"),  # the template it is sent with
        Column("body_digest", "TEXT"),  # digest of a received body; different mails may have the same Message-ID
        Column("form_id"),  # the contact form by which it came
        Column("consent_version"),  # version of the consent text that its author agreed to
        Column("forwarded_from", "TEXT"),  # the author of a mail that a worker forwarded, as in a header
        Column("raw_blob_id"),  # the mail as it arrived
        Column("bcc", "TEXT"),
        Column("other_words", "TEXT"),  # searchable words that only the other part (HTML or plain text) has
        Column("notes", "TEXT", "[]"),  # what was repaired or left out, as a JSON list of sentences
        Column("content", "TEXT"),
        Column("headers", "TEXT"),
    )
    indexes = (
        Index(("ticket_id", "is_outgoing", "created"), "the messages of a ticket, and when the last ones were written"),
        Index(("sender_id", "created"), "the newest message of a sender"),
        Index(("worker_id", "ticket_id"), "tickets that a worker has replied to"),
        # Has what reports count, so that they read the index alone.
        Index(
            ("created", "is_outgoing", "worker_id", "is_first_response", "target_result", "waited", "ticket_id"),
            "messages in order of time, and the replies of workers",
        ),
        Index(("hash_header_message_id",), "the message that a reply names, and duplicates"),
        Index(("message_id",), "the same by the id itself"),
        Index(("token",), "the message that a draft became"),
        Index(("html_attachment_id",), "the message of a HTML part", where="html_attachment_id > 0"),
    )
    text = MESSAGE_TEXT
    keys = (
        Key("content", "text", "Plain body.", lambda record, view: record["content"], on_expand=True),
        Key("content_html", "text", "HTML part, sanitized.", on_expand=True),
        Key(
            "headers",
            "object",
            "Values by lower-case header name.",
            lambda record, view: stored_headers.as_map(record["headers"]),
            on_expand=True,
        ),
        Key("is_autoreply", "bit", "An automatic reply of the service.", column="is_autoreply"),
        Key(
            "is_forward",
            "bit",
            "A message that was forwarded, which does not count as a response.",
            column="is_forward",
        ),
        Key(
            "is_notice",
            "bit",
            "Automatic email other than a failure: an absence, a receipt, a delay. The ticket is not changed.",
            column="is_notice",
        ),
        Key("from_name", "text", "Name that its sender wrote under; senders can choose any name.", column="from_name"),
        Key("form_id", "number", "Contact form by which it came; 0 for email.", column="form_id"),
        Key(
            "consent_version",
            "number",
            "Version of the consent text of that form, to which its author agreed; 0 for none.",
            column="consent_version",
        ),
        Key(
            "forwarded_from",
            "text",
            "Name and address of the author of an email that a worker forwarded here, taken from its "
            "text; blank for other email.",
            column="forwarded_from",
        ),
        Key(
            "is_stranger",
            "bit",
            "From somebody new to the ticket: neither a requester, nor a worker, nor a recipient.",
            column="is_stranger",
        ),
        Key(
            "notes",
            "array",
            "What was left out, repaired or noticed when the email arrived, and why it was not sent "
            "to somebody; one sentence each.",
            lambda record, view: json.loads(record["notes"]),
        ),
        Key("reply_cc", "text", "Copy recipients a reply would use.", on_expand=True),
        Key("reply_to", "text", "Recipients a reply would use.", on_expand=True),
        Key(
            "ticket_url",
            "url",
            "Web address of the message on its ticket.",
            lambda record, view: view.address(
                paths.within(paths.record("ticket", record["ticket_id"]), "message", record["id"])
            ),
        ),
    )
    expands = (*EXPANDS, revisions.CHANGES, revisions.FORMER)
    for_admins = frozenset(("former",))
    tables = (revisions.MESSAGE_FORMER,)
    filters = (
        WordsFilter("text", "Words of the body.", MESSAGE_TEXT, "content", default=True),
        DeepFilter(
            "attachments",
            "Has a matching attachment.",
            "attachment",
            HasManyThrough("attached", "record_id", "attachment_id", (("context", CONTEXT),)),
        ),
        WordsFilter("content", "Words of the body.", MESSAGE_TEXT, "content"),
        WordsFilter("header.cc", "Words of the Cc header.", MESSAGE_TEXT, "header_cc"),
        WordsFilter("header.deliveredTo", "Words of the Delivered-To header.", MESSAGE_TEXT, "header_delivered_to"),
        WordsFilter("header.from", "Words of the From header.", MESSAGE_TEXT, "header_from"),
        MessageIdFilter(
            "header.messageId", "An id in angle brackets, case-sensitive, or the hash of one; wildcards allowed."
        ),
        WordsFilter("header.to", "Words of the To header.", MESSAGE_TEXT, "header_to"),
        NumberFilter("form.id", "Contact form by which it came, by id; 0 for email.", "form_id"),
        FlagFilter("isAutoreply", "An automatic reply of the service.", "is_autoreply"),
        FlagFilter("isFirstResponse", "The first reply of a worker to a ticket.", "is_first_response"),
        FlagFilter("isNotice", "Automatic email other than a failure, such as an absence notice.", "is_notice"),
        FlagFilter("isStranger", "From somebody new to the ticket.", "is_stranger"),
        NotesFilter(
            "mailNotes",
            "Words of the remarks made when the email arrived or was sent (`notes`); any or none.",
            "notes",
            sortable=False,
        ),
        DeepFilter(
            "notes",
            "A comment on the message matches.",
            "comment",
            HasMany("comment", "target_id", (("target__context", CONTEXT),)),
        ),
        DeepFilter("sender", "Its sender matches the query.", "address", BelongsTo("sender_id"), aliases=("from",)),
        BytesFilter("size", "Takes size units: 512KB, >1MB, 1MB...2MB.", "storage_size", sortable=False),
        ChoiceFilter(
            "target",
            "Whether a reply that requesters waited for met the service target of its ticket: met, late; none for "
            "other messages.",
            "target_result",
            waits.RESULTS,
        ),
        TicketColumnFilter("ticket.bucket.id", "Bucket of the ticket, by id.", "bucket_id", "bucket"),
        HiddenFilter("ticket.bucket.name", "Grouping only.", "bucket", "ticket.bucket.id"),
        TicketColumnFilter("ticket.group.id", "Group of the ticket, by id.", "group_id", "group"),
        HiddenFilter("ticket.group.name", "Grouping only.", "group", "ticket.group.id"),
        TicketColumnFilter("ticket.target.id", "Service target of the ticket, by id.", "target_id", "service_target"),
        DurationFilter(
            "waited",
            "How long requesters waited for a reply of a worker; 0 if nobody waited.",
            "waited",
        ),
        WorkerFilter("worker.id", "Worker who sent it; 0 for received email.", "worker_id"),
    )
    subtotals = Subtotals(
        search=(
            "fieldset",
            "isBroadcast",
            "isEncrypted",
            "isNotSent",
            "isOutgoing",
            "isStranger",
            "links",
            "ticket.bucket.id",
            "ticket.bucket.name",
            "ticket.group.id",
            "ticket.group.name",
            "ticket.id",
            "worker.id",
        ),
        also=("size", "ticket.bucket.id", "ticket.bucket.name", "ticket.group.id", "ticket.group.name"),
        virtual=("bucket", "group", "ticket.bucket", "ticket.group", "ticket.mask"),
        aliases={"sender": "sender.id", "ticket": "ticket.id", "worker": "worker.id"},
    )
    events = (
        Event("ticket.message.inbound", "received by the parser"),
        Event("ticket.message.outbound", "sent by compose or reply"),
        Event("ticket.message.changed", "its words, or who wrote them and when, were changed"),
        Event("ticket.message.moved", "moved to another ticket; an entry on each"),
    )
    label_on_expand = True

    def privileged(self, change: Change, writing: Writing) -> None:
        """Requires read access to the HTML attachment, because the message makes it readable to others."""
        if change.new.get("html_attachment_id") and change.changes("html_attachment_id"):
            writing.require("read", "attachment", change.new["html_attachment_id"])

    def prepare(self, change: Change, writing: Writing) -> None:
        """Resolves ticket, sender and worker from names, derives ids and size from headers and content, generates a
        token."""
        new, extras = change.new, change.extras
        new |= {name: extras.pop(name) for name in ("content", "headers") if name in extras}
        if "ticket_mask" in extras and "ticket_id" not in new:
            new["ticket_id"] = _ticket_with_mask(writing, extras["ticket_mask"])
        if "sender" in extras and "sender_id" not in new:
            new["sender_id"] = address_of(writing, extras["sender"], "sender")
        if "worker" in extras and "worker_id" not in new:
            new["worker_id"] = worker_named(writing, extras["worker"], "worker")
        if "headers" in new and not {"message_id", "in_reply_to"} <= new.keys():
            fields = stored_headers.head(new["headers"])
            new.setdefault("message_id", stored_headers.own_id(fields))
            new.setdefault("in_reply_to", stored_headers.answered_id(fields))
        if "message_id" in new and not new.get("hash_header_message_id"):
            new["hash_header_message_id"] = id_hash(new["message_id"])
        if "content" in new:
            if not change.is_create:
                new["other_words"] = ""  # removed text must not stay searchable
            new.setdefault("storage_size", len(new["content"].encode("utf-8", "replace")))
        authorship.require_own(change, writing)
        if change.is_create:
            waits.apply(change, writing)
        if change.is_create and not new.get("token"):
            new["token"] = random_text(TOKEN_CHARS)

    def after_write(self, change: Change, writing: Writing) -> None:
        """Updates the counters and pointers of the ticket, and attaches a submitted HTML part to the message."""
        file_id = change.value("html_attachment_id") if "html_attachment_id" in change.sent else 0
        if file_id:
            writing.tx.add(ATTACHED, {"attachment_id": file_id, "context": CONTEXT, "record_id": change.id})
        if change.sent and not change.is_create:
            revisions.store(change, writing)
        if change.is_create:
            is_answer = counters.add(change, writing)
            if is_answer:
                rule_events.record_message(change, writing)
            if is_answer and not change.value("is_outgoing"):
                hold_back(writing, change.value("ticket_id"))
        elif any(change.changes(column) for column in counters.WATCHED):
            for ticket_id in {change.was("ticket_id"), change.value("ticket_id")}:
                counters.recount(writing, ticket_id)

    def check_delete(self, record: Record, writing: Writing) -> None:
        """Deletes the former values first, because they reference the row."""
        revisions.forget(writing.tx, record["id"])

    def after_delete(self, record: Record, writing: Writing) -> None:
        if record["raw_blob_id"]:
            blobs.forget(writing.tx, record["raw_blob_id"])
        counters.recount(writing, record["ticket_id"])

    def texts(self, record: Record, writing: Writing) -> dict[str, str]:
        content = f"{record['content']}\n{record['other_words']}" if record["other_words"] else record["content"]
        return {"content": content, **stored_headers.index_texts(record["headers"])}

    def label(self, record: Record) -> str:
        return f"Message {record['id']}"

    def labels(self, view: DictionaryContext, records: Sequence[Record]) -> dict[int, str]:
        """Returns `<sender> wrote on <ticket>` by id."""
        senders = _labels(view, "address", {record["sender_id"] for record in records})
        tickets = _labels(view, "ticket", {record["ticket_id"] for record in records})
        return {
            record["id"]: f"{senders.get(record['sender_id'], '')} wrote on {tickets.get(record['ticket_id'], '')}"
            for record in records
        }


def _labels(view: DictionaryContext, uri: str, ids: set[int]) -> dict[int, str]:
    record_type = view.type(uri)
    rows = view.tx.get_many(record_type.table, ids)
    return {row[0]: record_type.label(record_type.record(row)) for row in rows}


def _ticket_with_mask(writing: Writing, mask: str) -> int:
    """Returns the ticket with a mask; for a merged one, the surviving ticket. Raises Invalid."""
    ticket = writing.find("ticket", mask=mask.strip()) if mask.strip() else None
    ticket = merges.survivor(lambda id: writing.record("ticket", id), ticket)
    if ticket is None:
        raise Invalid(f"ticket_mask: there is no ticket '{mask[:80]}'", field="ticket_mask")
    return int(ticket["id"])
