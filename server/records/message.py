"""DOC"""

from server.fields.flag import Bit
from server.fields.link import Id
from server.fields.number import Uint
from server.fields.text import Text
from server.fields.time import Timestamp
from server.records.base import Access, Event, Key, Nested, RecordType, Subtotals
from server.search.filters.date import DateFilter
from server.search.filters.deep import DeepFilter
from server.search.filters.flag import FlagFilter
from server.search.filters.fulltext import WordsFilter
from server.search.filters.number import BytesFilter, ChooserFilter, DurationFilter, NumberFilter
from server.search.filters.text import TextFilter
from server.search.filters.ways import Behind, PointingHere, Through
from server.search.filters.worker import WorkerFilter


class Message(RecordType):
    """DOC"""

    uri, context = "message", "svc.contexts.message"
    aliases = ("messages", "msg", "msgs", "email", "emails")
    label_names = ("Message", "Messages")
    lookup = "token"
    features = frozenset(("attachments", "comments", "custom_fields", "links", "search",))
    access = Access(
        read="as the ticket",
        create="priv + may write the ticket",
        update="as the ticket",
        delete="priv + as the ticket",
    )
    fields = {
        "content": Text("Plain body; may be blank but must be present.", 16777215, required=True, blank_ok=True, shown=False),
        "created": Timestamp("Time of the message; now when omitted.", auto="now"),
        "hash_header_message_id": Text("SHA-1 hex of the Message-Id; replies are threaded by it.", 40),
        "headers": Text("Raw header block, one header per line.", 16777215, required=True, shown=False),
        "html_attachment_id": Id("Attachment with the HTML part.", "attachment", zero_ok=True),
        "is_broadcast": Bit("Sent as a broadcast."),
        "is_not_sent": Bit("Saved without being emailed."),
        "is_outgoing": Bit("Written by a worker."),
        "response_time": Uint("Seconds the reply took."),
        "sender": Text("Sender by email; created when there is none.", alternative_to="sender_id"),
        "sender_id": Id("Address of the sender.", "address", required=True, alternatives=("sender",), shown=False),
        "signed_at": Timestamp("When it was signed; kept by the service.", immutable=True),
        "signed_key_fingerprint": Text("Key it was signed with; kept by the service.", 64, immutable=True),
        "storage_size": Uint("Size of the body in bytes."),
        "ticket_id": Id("Ticket it belongs to.", "ticket", required=True, alternatives=("ticket_mask",), shown=False),
        "ticket_mask": Text("Ticket by mask. No match is an error.", alternative_to="ticket_id"),
        "token": Text("Random id shared with the draft it came from (10 characters).", 16, auto="generated"),
        "was_encrypted": Bit("Arrived or left encrypted."),
        "worker": Text("Worker by name; must match exactly one.", alternative_to="worker_id"),
        "worker_id": Id("Worker who sent it; 0 for received mail.", "worker", alternatives=("worker",), zero_ok=True, shown=False),
    }
    nested = (
        Nested("sender", "address", "Address of the sender."),
        Nested("ticket", "ticket", "Ticket."),
        Nested("worker", "worker", "Worker who sent it."),
    )
    keys = (
        Key("content", "text", "Plain body.", on_expand=True),
        Key("content_html", "text", "HTML part as text.", on_expand=True),
        Key("headers", "object", "Map of lower-case header name to value.", on_expand=True),
        Key("reply_cc", "text", "Copy recipients a reply would use.", on_expand=True),
        Key("reply_to", "text", "Recipients a reply would use.", on_expand=True),
        Key("ticket_url", "url", "Web address of the message on its ticket."),
    )
    filters = (
        WordsFilter("text", "Full text over the body.", INDEX, default=True),
        DeepFilter("attachments", "Has a matching attachment.", "attachment", Through("attached", "record_id", "attachment_id", (("context", "svc.contexts.message"),))),
        WordsFilter("content", "Text of the body.", INDEX),
        DateFilter("created", "When the record was made.", "created"),
        WordsFilter("header.cc", "Text of the Cc header.", INDEX),
        WordsFilter("header.deliveredTo", "Text of the Delivered-To header.", INDEX),
        WordsFilter("header.from", "Text of the From header.", INDEX),
        TextFilter("header.messageId", "`<id>` is hashed before comparing; a bare value is compared with the stored hash; wildcards allowed.", "", "exact"),
        WordsFilter("header.to", "Text of the To header.", INDEX),
        NumberFilter("id", "Record id.", "id"),
        FlagFilter("isBroadcast", "Sent as a broadcast.", "is_broadcast"),
        FlagFilter("isEncrypted", "Arrived or left encrypted.", "was_encrypted"),
        FlagFilter("isNotSent", "Saved without being emailed.", "is_not_sent"),
        FlagFilter("isOutgoing", "Written by a worker.", "is_outgoing"),
        DeepFilter("notes", "Comment on the message.", "comment", PointingHere("comment", "target_id", (("target__context", "svc.contexts.message"),))),
        DurationFilter("responseTime", "Seconds the reply took.", "response_time"),
        DeepFilter("sender", "Record behind `sender` matches the query in parentheses.", "address", Behind("sender_id"), aliases=("from",)),
        ChooserFilter("sender.id", "By id; comparison and sets as for numbers.", "sender_id", target="address"),
        DateFilter("signed.at", "When it was signed.", "signed_at"),
        TextFilter("signed.fingerprint", "Key it was signed with.", "signed_key_fingerprint", "exact"),
        BytesFilter("size", "Takes size units: 512KB, >1MB, 1MB...2MB.", "storage_size", sortable=False),
        DeepFilter("ticket", "Record behind `ticket` matches the query in parentheses.", "ticket", Behind("ticket_id")),
        ChooserFilter("ticket.bucket.id", "Bucket of the ticket. Meant for subtotals.", "", target="bucket"),
        MANUAL_hidden("ticket.bucket.name", "Grouping only."),
        ChooserFilter("ticket.group.id", "Group of the ticket. Meant for subtotals.", "", target="group"),
        MANUAL_hidden("ticket.group.name", "Grouping only."),
        ChooserFilter("ticket.id", "By id; comparison and sets as for numbers.", "ticket_id", target="ticket"),
        TextFilter("token", "Random id shared with the draft it came from (10 characters).", "token", "exact"),
        DeepFilter("worker", "Record behind `worker` matches the query in parentheses.", "worker", Behind("worker_id")),
        WorkerFilter("worker.id", "Worker who sent it; 0 for received mail.", "worker_id"),
    )
    subtotals = Subtotals(
        search=("fieldset", "isBroadcast", "isEncrypted", "isNotSent", "isOutgoing", "links", "ticket.bucket.id", "ticket.bucket.name", "ticket.group.id", "ticket.group.name", "ticket.id", "worker.id"),
        also=("size", "ticket.bucket.id", "ticket.bucket.name", "ticket.group.id", "ticket.group.name"),
        virtual=("bucket", "group", "ticket.bucket", "ticket.group", "ticket.mask"),
        aliases={"sender": "sender.id", "ticket": "ticket.id", "worker": "worker.id"},
    )
    events = (
        Event("ticket.message.inbound", "received by the parser"),
        Event("ticket.message.outbound", "sent by compose or reply"),
    )
    label_on_expand = True
