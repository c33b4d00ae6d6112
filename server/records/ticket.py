"""DOC"""

from server.fields.link import Id
from server.fields.number import Float, Number, Uint
from server.fields.structure import Fieldsets
from server.fields.text import Text
from server.fields.time import TimeText, Timestamp
from server.records.base import Access, Event, Expand, Key, Nested, RecordType, Subtotals
from server.search.filters.choice import ChoiceFilter
from server.search.filters.date import DateFilter
from server.search.filters.deep import DeepFilter
from server.search.filters.fulltext import WordsFilter
from server.search.filters.number import ChooserFilter, DecimalFilter, DurationFilter, NumberFilter
from server.search.filters.text import TextFilter
from server.search.filters.ways import Behind, First, PointingHere, Through
from server.search.filters.worker import WorkerFilter


class Ticket(RecordType):
    """DOC"""

    uri, context = "ticket", "svc.contexts.ticket"
    aliases = ("tickets", "mail", "conversation", "conversations", "convo", "convos")
    label_names = ("Ticket", "Tickets")
    lookup = "mask"
    features = frozenset(("attachments", "comments", "custom_fields", "links", "search", "watchers",))
    operations = {"retrieve": True, "search": True, "create": True, "update": True, "delete": "soft"}
    access = Access(
        read="any worker when the group is public; else group members and admins",
        create="priv (source does not ask for membership in the target group)",
        update="group members and admins",
        delete="priv + group members and admins",
    )
    fields = {
        "bucket": Text("Bucket by name; needs `group` or `group_id` in the same request. No match is an error.", alternative_to="bucket_id"),
        "bucket_id": Id("Bucket holding the ticket; also sets the group to that bucket's group, so it satisfies `group_id`. Unknown or 0 is an error.", "bucket", auto="derived", alternatives=("bucket",), shown=False),
        "closed": Timestamp("First time the ticket became closed; filled by the service on the first change to closed."),
        "created": Timestamp("When the ticket was opened.", auto="now"),
        "elapsed_resolution_first": Uint("Seconds from opening to the first close; kept by the service.", immutable=True),
        "elapsed_response_first": Uint("Seconds from opening to the first worker reply; kept by the service.", immutable=True),
        "elapsed_status_open": Uint("Seconds spent open so far, not counting the present open spell; kept by the service.", immutable=True),
        "fieldsets": Fieldsets("Ids of custom fieldsets to attach, array or comma-separated; a `-` prefix detaches."),
        "group": Text("Group by name, case-insensitive. No match is an error. Satisfies the group requirement.", alternative_to="group_id"),
        "group_id": Id("Group holding the ticket. Given without a bucket, the ticket goes to that group's default bucket.", "group", required=True, alternatives=("group",), shown=False),
        "importance": Number("0 least, 100 most.", default=50, min=0, max=100),
        "mask": Text("Public reference. Omitted: generated from the mask pattern (default LLL-NNNNN-NNN; letters without O, digits 1-9).", unique=True, auto="generated"),
        "org": Text("Organization by exact name; created when there is none.", alternative_to="org_id"),
        "org_id": Id("Organization of the ticket; 0 clears.", "org", alternatives=("org",), zero_ok=True, shown=False),
        "owner_id": Id("Assigned worker; 0 unassigns.", "worker", zero_ok=True, shown=False),
        "participant_ids": Text("Comma-separated address ids to add; a `-` prefix removes.", 65535, shown=False),
        "participants": Text("Comma-separated addresses to add as requesters; unknown addresses are created; helpdesk sending addresses and excluded patterns are skipped.", 65535, form="emails", shown=False),
        "reopen_at": TimeText("Name the seed uses; Unix seconds or time text.", alternative_to="reopen_date", origin="ours"),
        "reopen_date": Timestamp("When a non-open ticket returns to open. Through the records API this takes a Unix timestamp only; compose and reply also take time text."),
        "spam_score": Float("Likelihood of spam, 0.0001 to 0.9999; normally set by the service.", min=0, max=1),
        "spam_training": Text("S spam, N not spam, blank untrained.", 1, allowed=("", "N", "S")),
        "status": Text("By word: only the first letter counts (o, w, c, d), any case. Ours also takes the numbers 0 to 3, as the seed does. Anything else is an error.", alternative_to="status_id", allowed=("open", "waiting", "closed", "deleted")),
        "status_id": Number("0 open, 1 waiting, 2 closed, 3 deleted.", alternatives=("status",), min=0, max=3),
        "subject": Text("Subject line; also part of the label.", required=True),
        "updated": Timestamp("Last activity. Set at creation and by new messages; a plain record update does not bump it.", auto="now"),
    }
    nested = (
        Nested("bucket", "bucket", "Bucket."),
        Nested("group", "group", "Group."),
        Nested("initial_message", "message", "First message."),
        Nested("initial_response_message", "message", "First reply by a worker."),
        Nested("latest_message", "message", "Newest message."),
        Nested("org", "org", "Organization."),
        Nested("owner", "worker", "Assigned worker."),
    )
    keys = (
        Key("closed_at", "timestamp", "Same value as `closed`."),
        Key("last_opened_at", "timestamp", "Last time it became open."),
        Key("num_messages", "number", "Messages on the ticket."),
        Key("num_messages_in", "number", "Received messages."),
        Key("num_messages_out", "number", "Sent messages."),
        Key("reopen_at", "timestamp", "Same as `reopen_date`, under the name the seed uses.", origin="ours"),
        Key("status", "text", "open, waiting, closed or deleted."),
        Key("url", "url", "Web address of the ticket, by mask."),
    )
    expands = (
        Expand("requesters", "map", "Map of address id to {id, email, name, contact_id, org_id}.", LOADER),
        Expand("requester_emails", "text", "Requester addresses joined with comma and space; also adds `requesters`.", LOADER),
        Expand("participants", "records", "Array of address dictionaries with their contact loaded.", LOADER, "address"),
        Expand("signature", "text", "Reply signature of the group or bucket for the calling worker.", LOADER),
        Expand("signature_html", "text", "The same as HTML.", LOADER),
        Expand("_messages", "records", "All messages, keyed by id. The source leaks raw storage objects here; return message dictionaries.", LOADER, "message"),
        Expand("latest_incoming_activity", "timestamp", "Time of the newest received message.", LOADER),
        Expand("latest_outgoing_activity", "timestamp", "Time of the newest sent message.", LOADER),
    )
    filters = (
        WordsFilter("text", "Words are looked up in the text of all messages of the ticket.", INDEX, default=True),
        DeepFilter("bucket", "Record behind `bucket` matches the query in parentheses.", "bucket", Behind("bucket_id")),
        ChooserFilter("bucket.id", "By id; comparison and sets as for numbers.", "bucket_id", target="bucket"),
        DateFilter("closed", "First time closed; 0 when never.", "closed"),
        DeepFilter("comments", "Any comment on the ticket.", "comment", PointingHere("comment", "target_id", ON_TICKET)),
        DeepFilter("comments.first", "The oldest comment.", "comment", First("comment", "target_id", ON_TICKET)),
        DeepFilter("comments.last", "The newest comment.", "comment", First("comment", "target_id", ON_TICKET, is_last=True)),
        DateFilter("created", "When the record was made.", "created"),
        DeepFilter("group", "Record behind `group` matches the query in parentheses.", "group", Behind("group_id")),
        ChooserFilter("group.id", "By id; comparison and sets as for numbers.", "group_id", target="group"),
        NumberFilter("id", "Record id.", "id"),
        NumberFilter("importance", "0 least, 100 most.", "importance"),
        MANUAL_virtual("inGroupsOf", "Tickets in groups the worker belongs to; takes me, current, an id or part of a name."), aliases=("inGroupsOfWorker",),
        DateFilter("lastOpenedAt", "Last time it became open.", "last_opened_at"),
        TextFilter("mask", "Bare word matches as prefix.", "mask", "prefix"),
        DeepFilter("messages", "Any message.", "message", PointingHere("message", "ticket_id")),
        NumberFilter("messages.count", "Messages on the ticket.", "num_messages"),
        NumberFilter("messages.count.in", "Received messages.", "num_messages_in"),
        NumberFilter("messages.count.out", "Sent messages.", "num_messages_out"),
        DeepFilter("messages.first", "The first message.", "message", Behind("initial_message_id")),
        DeepFilter("messages.firstOutgoing", "The first worker reply.", "message", Behind("initial_response_message_id")),
        DeepFilter("messages.last", "The newest message.", "message", Behind("latest_message_id")),
        DeepFilter("org", "Record behind `org` matches the query in parentheses.", "org", Behind("org_id")),
        ChooserFilter("org.id", "By id; comparison and sets as for numbers.", "org_id", target="org"),
        DeepFilter("owner", "Record behind `owner` matches the query in parentheses.", "worker", Behind("owner_id")),
        WorkerFilter("owner.id", "Assigned worker; 0 when nobody.", "owner_id"),
        DeepFilter("participant", "Requester matches the address query.", "address", Through("requester", "ticket_id", "address_id")),
        ChooserFilter("participant.id", "Requester by address id.", "", target="address"),
        DateFilter("reopen", "When it returns to open; 0 when not planned.", "reopen_date"),
        DurationFilter("resolution.first", "Seconds from opening to the first close.", "elapsed_resolution_first"),
        DurationFilter("response.first", "Seconds from opening to the first worker reply.", "elapsed_response_first"),
        NumberFilter("responsibility", "Calling worker's responsibility level (0-100) for the bucket; also hides buckets with level 0.", "", sortable=True),
        DecimalFilter("spam.score", "Value is a percentage 0-100 of the stored score.", "spam_score"),
        ChoiceFilter("spam.training", "By first letter s, n, u.", "spam_training", CHOICES),
        ChoiceFilter("status", "First letter is enough; sets `[o,w]` and negation allowed.", "status", CHOICES, sortable=False),
        NumberFilter("status.id", "0 open, 1 waiting, 2 closed, 3 deleted.", "status_id"),
        TextFilter("subject", "Subject line.", "subject", "partial"),
        DurationFilter("timeSpentOpen", "Seconds spent open so far, not counting the present open spell.", "elapsed_status_open"),
        DateFilter("updated", "Last activity: creation or newest message.", "updated"),
        NumberFilter("watchers.count", "How many watchers.", ""),
        WorkerFilter("worker.commented", "Worker wrote a comment on it.", ""),
        WorkerFilter("worker.replied", "Worker sent a message on it.", ""),
    )
    subtotals = Subtotals(
        search=("bucket.id", "fieldset", "group.id", "links", "org.id", "owner.id", "spam.training", "status", "subject", "watchers"),
        also=("participant",),
        virtual=("group_bucket", "participant", "participant.id", "status"),
        aliases={"bucket": "bucket.id", "group": "group.id", "org": "org.id", "owner": "owner.id"},
    )
    events = (
        Event("ticket.owner.assigned", "owner set to another worker"),
        Event("ticket.owner.unassigned", "owner cleared"),
        Event("ticket.moved", "group or bucket changed"),
        Event("ticket.status.open", "status became open"),
        Event("ticket.status.waiting", "status became waiting"),
        Event("ticket.status.closed", "status became closed"),
        Event("ticket.status.deleted", "status became deleted by an update"),
        Event("ticket.participant.added", "requester added"),
        Event("ticket.participant.removed", "requester removed"),
        Event("ticket.message.inbound", "message received by the parser"),
        Event("ticket.message.outbound", "reply or compose sent"),
        Event("ticket.message.relay", "message relayed to a worker"),
        Event("ticket.merge", "merged (older point)"),
        Event("ticket.split", "a message was split off"),
        Event("ticket.split.from", "declared; not written by current code"),
    )
    org_column = "org_id"
    label_column = "subject"
