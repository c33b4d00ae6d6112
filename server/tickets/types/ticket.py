"""Tickets: conversations with requesters, handled by a group.

Only the declaration; the effects of a change of status, place or participants are in ticket_parts/. Sends no mail."""

import re
from datetime import UTC, datetime
from typing import Any

import peewee

from server import contexts
from server.errors import Conflict
from server.fields import (
    CreatedAt,
    Fieldsets,
    Float,
    Id,
    Listed,
    Name,
    Number,
    Seconds,
    Text,
    Timestamp,
    TimeText,
    Word,
)
from server.mail.mask import new_mask
from server.record_types.record_type import (
    Access,
    Change,
    Event,
    Key,
    NestedRecord,
    Record,
    RecordType,
    Reopening,
    Subtotals,
    Writing,
)
from server.record_types.shared import paths
from server.record_types.shared.dangling_references import redirect
from server.record_types.shared.named_records import org_named
from server.record_types.shared.points import NAMED
from server.record_types.shared.relation_tables import REQUESTER, TICKET_TAG
from server.record_types.traits import Attachments, Comments, CustomFields, Exported, Links, Search, Tags, Watchers
from server.record_types.traits.tagging import CHANGED as TAGS_CHANGED
from server.records import event_publishing
from server.search.filters import (
    BelongsTo,
    ByIdFilter,
    ChoiceFilter,
    ChooserFilter,
    DateFilter,
    DecimalFilter,
    DeepFilter,
    FlagFilter,
    HasMany,
    HasManyThrough,
    HasOne,
    NamedChoiceFilter,
    NumberFilter,
    WorkerFilter,
)
from server.store.statements import slot
from server.store.tables import Column, Index, table_named
from server.store.transaction import Transaction
from server.tickets import assignment, due_times, rule_events
from server.tickets.types.ticket_parts import (
    before,
    participants,
    place,
    rating_schedule,
    spam_verdict,
    status,
    status_names,
)
from server.tickets.types.ticket_parts.bare_words import TICKET_TEXT, MaskFilter, TicketWords
from server.tickets.types.ticket_parts.ticket_expands import EXPANDS
from server.tickets.types.ticket_parts.ticket_filters import (
    InGroupsFilter,
    RatingFilter,
    ResponsibilityFilter,
    WatcherCountFilter,
)
from server.translation import N_

CONTEXT = contexts.TICKET
MAX_DRAWS = 100  # attempts to find an unused mask
ON_TICKET = (("target__context", CONTEXT),)
BY_WORKER = (("target__context", CONTEXT), ("author__context", contexts.WORKER))
REQUESTERS = HasManyThrough("requester", "ticket_id", "address_id")
STATUSES = {word: number for number, word in enumerate(status.WORDS)}
_LINE_ENDS = re.compile(r"[\r\n]+")


class Ticket(RecordType):
    """A conversation with its requesters: its place, its owner and its status.

    Deleting sets the status deleted; the purge removes it for good."""

    uri = "ticket"
    aliases = ("tickets", "mail", "conversation", "conversations", "convo", "convos")
    lookup = "mask"
    traits = (
        Comments(),
        CustomFields(),
        Links(),
        Watchers(),
        Attachments(),
        Tags(TICKET_TAG, "ticket.tag"),
        Search(),
    )
    operations = {"retrieve": True, "search": True, "create": True, "update": True, "delete": "soft"}
    access = Access(
        read="group", write=("group members",), create=("privilege",), delete=("privilege", "group members")
    )
    fields = {
        "assign": Text(
            "Assigns an owner: `group` by the way of its group, round robin if that is off; `round_robin` or "
            "`fewest_open` among its members; `nobody` to leave a new ticket without one. An owner who is a member of "
            "the group and not away stays, unless `owner_id` 0 is sent, too. If nobody is available, the ticket waits.",
            allowed=assignment.CHOICES,
            stored=False,
            shown=False,
            origin="ours",
        ),
        "bucket": Text(
            "Bucket by name; needs `group` or `group_id` in the same request. No match is an error.",
            alternative_to="bucket_id",
        ),
        "bucket_id": Id(
            "Bucket of the ticket; also sets the group, so `group_id` is not needed.",
            "bucket",
            auto="derived",
            alternatives=("bucket",),
            deep="Its bucket matches the query.",
        ),
        "changed_at": Timestamp(
            "When the ticket last changed: a field, a custom field, a requester, a link, a comment or a "
            "message. Set by the service.",
            immutable=True,
            auto="now",
            auto_update="now",
            filter="changedAt",
            filter_note="Last change, including comments and links.",
            origin="ours",
        ),
        "closed": Timestamp(
            "First time the ticket was closed; set by the service when that happens.",
            filter_note="First time closed; never if it was not.",
        ),
        "created": CreatedAt("When the ticket was opened; now when omitted."),
        "elapsed_resolution_first": Seconds(
            "Seconds from opening to the first close; set by the service.",
            immutable=True,
            filter="resolution.first",
            filter_note="Time from opening to the first close.",
        ),
        "elapsed_response_first": Seconds(
            "Seconds from opening to the first worker reply; set by the service.",
            immutable=True,
            filter="response.first",
            filter_note="Time from opening to the first worker reply.",
        ),
        "elapsed_status_open": Seconds(
            "Seconds spent open so far, without the present open spell; set by the service.",
            immutable=True,
            filter="timeSpentOpen",
            filter_note="Time spent open, without the present open spell.",
        ),
        "fieldsets": Fieldsets(
            "Ids of custom fieldsets to attach, as a list or separated by commas; a leading `-` detaches."
        ),
        "group": Text("Group by name, case-insensitive. No match is an error.", alternative_to="group_id"),
        "group_id": Id(
            "Group of the ticket. Without a bucket, the ticket goes to the group's default bucket.",
            "group",
            required=True,
            alternatives=("group", "bucket_id"),
            deep="Its group matches the query.",
        ),
        "importance": Number("0 least, 100 most.", default=50, min=0, max=100),
        "mask": Text(
            "Public reference. When omitted, one is generated by the pattern of the setting `mail_mask_pattern`.",
            unique=True,
            auto="generated",
        ),
        "org": Text("Organization by exact name; created if missing.", alternative_to="org_id"),
        "org_id": Id(
            "Organization of the ticket; 0 clears.",
            "org",
            alternatives=("org",),
            zero_ok=True,
            deep="Its organization matches the query.",
            nested_note="Organization; 0 when none.",
        ),
        "owner_id": Id(
            "Assigned worker; 0 unassigns. A new ticket can be assigned only to members of its group.",
            "worker",
            zero_ok=True,
            deep="Its owner matches the query.",
            nested_note="Assigned worker; 0 when nobody.",
        ),
        "participant_ids": Listed(
            "Ids of addresses to add as requesters, as a list or separated by commas; a leading `-` removes.",
            65535,
            stored=False,
            shown=False,
        ),
        "participants": Listed(
            "Addresses to add as requesters, as a list or separated by commas; a leading `-` removes. Unknown ones are "
            "created; sender addresses of the helpdesk and excluded addresses are skipped.",
            65535,
            form="emails",
            stored=False,
            shown=False,
        ),
        "reopen_at": TimeText("The same as `reopen_date`.", alternative_to="reopen_date", origin="ours"),
        "reopen_date": Timestamp(
            "When a waiting or closed ticket reopens; opening clears it.",
            filter="reopen",
            filter_note="When it reopens; never if that is not planned.",
        ),
        "spam_score": Float("Likelihood of spam, 0.0001 to 0.9999; normally set by the service.", min=0, max=1),
        "spam_training": Text("S spam, N not spam, blank untrained.", 1, allowed=("", "N", "S"), filter=None),
        "status": Word(
            "By word, of which the first letter is enough; or by number as `status_id`.",
            status.WORDS,
            numbers=True,
            alternative_to="status_id",
        ),
        "status_id": Number(
            "0 open, 1 waiting, 2 closed, 3 deleted.",
            default=0,
            alternatives=("status",),
            min=0,
            words=(N_("open"), N_("waiting"), N_("closed"), N_("deleted")),
            max=3,
            filter="status.id",
        ),
        "status_name": Text(
            "Name of a ticket status that the group uses, or a former one; sets its state. Blank leaves the state "
            "without a name.",
            alternative_to="status_name_id",
            origin="ours",
        ),
        "status_name_id": Id(
            "Ticket status with a name; sets its state. 0 for none; another state clears it, as does a move to a group "
            "that does not use it.",
            "ticket_status",
            zero_ok=True,
            alternatives=("status_name",),
            nested_note="Name of its status; 0 when none.",
            origin="ours",
        ),
        "subject": Name("Subject line; also part of the label. Line breaks become spaces."),
        "updated": Timestamp(
            "Last activity: creating the ticket and new messages update it, changes of other fields do not.",
            auto="now",
            filter_note="Last activity: creation or newest message.",
        ),
    }
    changed_column = "changed_at"
    yielding = frozenset({"assign", "status_name", "tags"})
    columns = (
        Column("num_messages"),
        Column("num_messages_in"),
        Column("num_messages_out"),
        Column("initial_message_id"),
        Column("initial_response_message_id"),
        Column("latest_message_id"),
        Column("last_opened_at"),
        Column("first_wrote_address_id"),
        Column("last_wrote_address_id"),
        Column("merged_into"),  # the surviving ticket, which gets mail for this mask
        Column("deleted_at"),
        *due_times.COLUMNS,
    )
    tables = (spam_verdict.SPAM_LESSON, before.TICKET_BEFORE, rule_events.RULE_EVENT)
    indexes = (
        Index(("mask",), "tickets by their reference; no two have one", unique=True),
        Index(("status_id", "created"), "newest open tickets"),
        Index(("status_id", "updated"), "open tickets by last activity"),
        Index(("group_id", "status_id", "updated"), "the tickets of a group, and what a worker may read"),
        Index(("bucket_id", "status_id", "updated"), "the tickets of a bucket"),
        Index(("owner_id", "status_id", "updated"), "a worker's tickets"),
        Index(("org_id", "status_id"), "the tickets of an organization"),
        # Have all columns of `days` and of reports, so that tickets of some hours are counted from the index alone.
        Index(
            (
                "created",
                "status_id",
                "group_id",
                "owner_id",
                "org_id",
                "first_wrote_address_id",
                "target_id",
                "elapsed_response_first",
                "response_due_at",
                "response_missed",
                "elapsed_resolution_first",
                "resolution_due_at",
                "resolution_missed",
                "next_response_missed",
            ),
            "tickets in order of their age",
        ),
        Index(
            (
                "closed",
                "status_id",
                "group_id",
                "owner_id",
                "org_id",
                "first_wrote_address_id",
                "elapsed_resolution_first",
            ),
            "the tickets that were closed in some hours",
        ),
        Index(("updated",), "tickets by last activity, whatever their status"),
        Index(("changed_at",), "tickets that programs read again since they were written"),
        # Without the status in front, SQLite would choose one of the larger indexes above.
        Index(("status_id", "deleted_at"), "tickets due to be purged", where="status_id = 3"),
        Index(("latest_message_id",), "messages.last:"),
        Index(("status_name_id", "updated"), "the tickets with a name of a status", where="status_name_id > 0"),
        Index(("merged_into",), "the tickets merged into one", where="merged_into > 0"),
        Index(("due_at",), "tickets whose service target is due", where="due_at > 0"),
        Index(("tell_at",), "tickets of whose service target somebody is to be told", where="tell_at > 0"),
    )
    reopening = Reopening("status_id", (status.WAITING, status.CLOSED), status.OPEN, "reopen_date")
    takes_along = (("message", "ticket_id"), ("rating", "ticket_id"))
    exported_tables = (REQUESTER,)
    summary = ("group_id", "bucket_id", "owner_id", "status_id", "status_name_id")
    summary_index = ("owner_id", "status_id")
    days = ("created", "status_id", "group_id")
    nested = (
        NestedRecord("initial_message", "message", "First message."),
        NestedRecord("initial_response_message", "message", "First reply by a worker; 0 when none."),
        NestedRecord("latest_message", "message", "Newest message."),
    )
    keys = (
        Key("closed_at", "timestamp", "Same value as `closed`.", column="closed"),
        Key(
            "due_at",
            "timestamp",
            "Deadline of the next unmet service target.",
            column="due_at",
            origin="ours",
        ),
        Key("last_opened_at", "timestamp", "Last time it became open.", column="last_opened_at"),
        Key(
            "next_response_due_at",
            "timestamp",
            "Deadline of its service target for the reply that a requester waits for; 0 for none.",
            column="next_response_due_at",
            origin="ours",
        ),
        Key(
            "next_response_missed",
            "bit",
            "1: a reply after the first was later than its service target allows.",
            column="next_response_missed",
            origin="ours",
        ),
        Key("num_messages", "number", "Messages on the ticket.", column="num_messages"),
        Key("num_messages_in", "number", "Received messages.", column="num_messages_in"),
        Key("num_messages_out", "number", "Sent messages.", column="num_messages_out"),
        Key(
            "resolution_due_at",
            "timestamp",
            "Resolution deadline of its service target.",
            column="resolution_due_at",
            origin="ours",
        ),
        Key(
            "resolution_missed",
            "bit",
            "1: it was open for longer than its service target allows.",
            column="resolution_missed",
            origin="ours",
        ),
        Key(
            "response_due_at",
            "timestamp",
            "First response deadline of its service target.",
            column="response_due_at",
            origin="ours",
        ),
        Key(
            "response_missed",
            "bit",
            "1: the first reply was later than its service target allows.",
            column="response_missed",
            origin="ours",
        ),
        Key("reopen_at", "timestamp", "Same value as `reopen_date`.", column="reopen_date", origin="ours"),
        Key(
            "status",
            "text",
            "open, waiting, closed or deleted.",
            lambda record, view: status.WORDS[record["status_id"]],
        ),
        Key(
            "status_name",
            "text",
            "Name of its status; blank if it only has a state.",
            lambda record, view: status_names.shown(view.tx, record),
            origin="ours",
        ),
        Key("url", "url", "Web address of the ticket, by mask.", again="record_url"),
    )
    expands = EXPANDS
    filters = (
        TicketWords(),
        MaskFilter("mask", "A bare word matches the beginning.", "mask", match="prefix"),
        DeepFilter("comments", "Any comment on the ticket.", "comment", HasMany("comment", "target_id", ON_TICKET)),
        DeepFilter("comments.first", "The oldest comment.", "comment", HasOne("comment", "target_id", ON_TICKET)),
        DeepFilter(
            "comments.last", "The newest comment.", "comment", HasOne("comment", "target_id", ON_TICKET, is_last=True)
        ),
        DateFilter("due", "Deadline of the next unmet service target; open tickets only.", "due_at"),
        ChooserFilter(
            "firstWrote.id",
            "Sender of the first message, by id.",
            "first_wrote_address_id",
            target="address",
            sortable=False,
        ),
        InGroupsFilter(
            "inGroupsOf",
            "In groups that the worker belongs to; takes me, current, an id or part of a name.",
            aliases=("inGroupsOfWorker",),
        ),
        ChooserFilter(
            "lastWrote.id",
            "Sender of the newest message, by id.",
            "last_wrote_address_id",
            target="address",
            sortable=False,
        ),
        DateFilter("lastOpenedAt", "Last time it became open.", "last_opened_at"),
        DeepFilter("messages", "Any message.", "message", HasMany("message", "ticket_id"), is_read_along=True),
        NumberFilter("messages.count", "Messages on the ticket.", "num_messages"),
        NumberFilter("messages.count.in", "Received messages.", "num_messages_in"),
        NumberFilter("messages.count.out", "Sent messages.", "num_messages_out"),
        DeepFilter("messages.first", "The first message.", "message", BelongsTo("initial_message_id")),
        DeepFilter(
            "messages.firstOutgoing", "The first worker reply.", "message", BelongsTo("initial_response_message_id")
        ),
        DeepFilter("messages.last", "The newest message.", "message", BelongsTo("latest_message_id")),
        WorkerFilter("owner.id", "Assigned worker; 0 when nobody.", "owner_id"),
        DeepFilter("participant", "A requester matches the query.", "address", REQUESTERS),
        ByIdFilter("participant.id", "A requester by the id of the address.", "address", REQUESTERS),
        FlagFilter(
            "missed.nextResponse",
            "A reply after the first was later than its service target allows.",
            "next_response_missed",
        ),
        FlagFilter("missed.resolution", "It was open for longer than its service target allows.", "resolution_missed"),
        FlagFilter("missed.response", "The first reply was later than its service target allows.", "response_missed"),
        DateFilter(
            "resolution.due", "Resolution deadline of its service target; never without one.", "resolution_due_at"
        ),
        DateFilter(
            "response.due", "First response deadline of its service target; never without one.", "response_due_at"
        ),
        RatingFilter("rating", "good, bad, asked, none, or any for good or bad; or a query on ratings in parentheses."),
        ResponsibilityFilter(
            "responsibility",
            "The caller's responsibility for the bucket, 0 to 100; hides buckets of level 0.",
            sortable=True,
        ),
        DecimalFilter("spam.score", "Likelihood of spam, 0 to 1.", "spam_score"),
        ChoiceFilter(
            "spam.training",
            "By first letter s, n, u.",
            "spam_training",
            {"spam": "S", "not spam": "N", "untrained": ""},
        ),
        NamedChoiceFilter(
            "status",
            "The first letter is enough; sets `[o,w]` and negation too. Also the name of a ticket status.",
            "status_id",
            STATUSES,
            sortable=False,
            target="ticket_status",
            named_column="status_name_id",
            find=status_names.found,
        ),
        ChooserFilter("target.id", "Service target, by id; null without one.", "target_id", target="service_target"),
        WatcherCountFilter("watchers.count", "Number of watchers."),
        WorkerFilter(
            "worker.commented",
            "The worker wrote a comment on it.",
            way=HasManyThrough("comment", "target_id", "author_id", BY_WORKER),
        ),
        WorkerFilter(
            "worker.replied",
            "The worker sent a message on it.",
            way=HasManyThrough("message", "ticket_id", "worker_id", (("is_outgoing", 1),)),
        ),
    )
    subtotals = Subtotals(
        search=(
            "bucket.id",
            "fieldset",
            "firstWrote.id",
            "group.id",
            "lastWrote.id",
            "links",
            "org.id",
            "owner.id",
            "rating",
            "spam.training",
            "status",
            "statusName.id",
            "subject",
            "tag",
            "watchers",
        ),
        also=("participant",),
        virtual=("group_bucket", "participant", "participant.id", "status"),
        aliases={
            "bucket": "bucket.id",
            "group": "group.id",
            "org": "org.id",
            "owner": "owner.id",
            "status_name": "statusName.id",
        },
        older={
            "first_wrote": "firstWrote.id",
            "last_wrote": "lastWrote.id",
            "org_name": "org.id",
            "spam_training": "spam.training",
        },
    )
    events = (
        Event("ticket.owner.assigned", "owner set to another worker"),
        Event("ticket.owner.unassigned", "owner cleared"),
        Event("ticket.moved", "group or bucket changed"),
        Event("ticket.status.open", "status became open"),
        Event("ticket.status.waiting", "status became waiting"),
        Event("ticket.status.closed", "status became closed"),
        Event("ticket.status.deleted", "status became deleted by an update"),
        Event("ticket.status.named", "the status got another name in the same state"),
        Event("ticket.rating.asked", "the customer was asked to rate it"),
        Event("ticket.rated", "the customer rated it, or changed the rating"),
        Event("ticket.participant.added", "requester added"),
        Event("ticket.participant.removed", "requester removed"),
        Event("ticket.tag.added", "tags added"),
        Event("ticket.tag.removed", "tags removed"),
        Event("ticket.target.due", "its service target is about to be missed"),
        Event("ticket.target.missed", "its service target was missed"),
        Event("ticket.macro", "a worker ran a macro on it"),
        Event("ticket.answer.refused", "an email reply of a worker had a line that was not understood"),
        Event("ticket.message.held", "a scheduled message was held back because a requester wrote first"),
        Event("ticket.message.inbound", "message received by the parser"),
        Event("ticket.message.outbound", "reply or compose sent"),
        Event("ticket.message.relay", "message relayed to a worker"),
        Event("ticket.merge", "another ticket was merged into it"),
        Event("ticket.unmerge", "a merge was undone"),
        Event("ticket.split", "a message was split off"),
        Event("ticket.split.from", "for callers of the activity endpoint; not written by the service"),
    )
    org_column = "org_id"
    label_column = "subject"
    text = TICKET_TEXT
    text_of = frozenset(("subject",))

    def texts(self, record: Record, writing: Writing) -> dict[str, str]:
        return {"subject": record["subject"]}

    def prepare(self, change: Change, writing: Writing) -> None:
        """Resolves names to ids, matches group and bucket, generates a mask, and derives times from the status."""
        new, extras = change.new, change.extras
        if "subject" in new:
            new["subject"] = _LINE_ENDS.sub(" ", new["subject"])
        if "status" in extras and "status_id" not in new:
            new["status_id"] = STATUSES[extras["status"]]
        if "reopen_at" in extras and "reopen_date" not in new:
            new["reopen_date"] = extras["reopen_at"]
        if "org" in extras and "org_id" not in new:
            new["org_id"] = org_named(writing, extras["org"])
        place.resolve(change, writing)
        place.check_owner(change, writing)
        status_names.apply(change, writing)
        status.apply(change, writing.now)
        due_times.apply(change, writing)
        spam_verdict.train(change)
        assignment.apply(change, writing)
        participants.read(change, writing)
        if change.is_create and not new.get("mask"):
            new["mask"] = _draw_mask(writing)

    def after_write(self, change: Change, writing: Writing) -> None:
        """Writes requesters and the sender's spam counters; for an update, logs the changes."""
        participants.write(change, writing)
        spam_verdict.count(change, writing)
        before.store(change, writing)
        rule_events.record_change(change, writing)
        if change.extras.get(TAGS_CHANGED) and not change.is_create:
            rule_events.record(writing, change.id, rule_events.CHANGED, ["tags"])
        assignment.follow(change, writing)
        rating_schedule.follow(change, writing)
        target = self.label({"mask": change.value("mask"), "subject": change.value("subject")})
        if change.is_create:
            if assignment.ASSIGNED in change.extras:
                assignment.log_owner(change, writing, target)
            return
        if change.changes("group_id") or change.changes("bucket_id"):
            _publish_moved(change, writing)
            group = writing.label("group", change.value("group_id"))
            bucket = writing.label("bucket", change.value("bucket_id"))
            writing.log("ticket.moved", CONTEXT, change.id, {"target": target, "group": group, "bucket": bucket})
        if change.changes("owner_id"):
            assignment.log_owner(change, writing, target)
        if change.changes("status_id") or change.changes("status_name_id"):
            _log_status(change, writing, target)

    def after_delete(self, record: Record, writing: Writing) -> None:
        """Sets the status deleted; for a purged ticket, deletes its requesters."""
        if writing.record("ticket", record["id"]) is not None:
            change = Change(self, record["id"], record, {"status_id": status.DELETED}, {}, frozenset())
            status_names.apply(change, writing)
            status.apply(change, writing.now)
            writing.set("ticket", record["id"], change.new)
            return
        tx = writing.tx
        tx.delete(REQUESTER, ticket_id=record["id"])
        redirect(writing, "draft", "ticket_id", record["id"])
        _forget_merged(tx, record["id"])

    def export(self, tx: "Transaction", records: list[Record]) -> Exported:
        return participants.exported(tx, records)

    def named_in_links(self, record: Record, label: str) -> str:
        """Returns the label without #."""
        return f"[{record['mask']}] {record['subject']}"

    def label(self, record: Record) -> str:
        return f"[#{record['mask']}] {record['subject']}"

    def url_path(self, record: Record) -> str:
        return paths.ticket(record["mask"])


def _forget_merged(tx: Transaction, id: int) -> None:
    """Detaches tickets that were merged into a purged ticket."""
    ticket: Any = table_named("ticket")
    # As literal SQL, so that SQLite uses the partial index.
    tx.run(
        lambda: ticket.update({ticket.c.merged_into: 0}).where(
            ticket.c.merged_into == slot(0), peewee.SQL('"merged_into" > 0')
        ),
        (id,),
    )


def _draw_mask(writing: Writing) -> str:
    """Returns an unused mask."""
    pattern = writing.setting("mail_mask_pattern")
    today = datetime.fromtimestamp(writing.now, UTC).date()
    for _ in range(MAX_DRAWS):
        mask = new_mask(pattern, today=today)
        if writing.find("ticket", mask=mask) is None:
            return mask
    raise Conflict(f"all masks of the pattern '{pattern}' seem to be in use; set mail_mask_pattern to a longer one")


def _log_status(change: Change, writing: Writing, target: str) -> None:
    """Logs the state and its name; a lost name without a new state is logged as the state."""
    word = status.WORDS[change.value("status_id")]
    name = status_names.shown(writing.tx, {"status_name_id": change.value("status_name_id")})
    point = f"ticket.status.{word}" if change.changes("status_id") or not name else NAMED
    names = {"status_name": name} if name else {}
    writing.log(point, CONTEXT, change.id, {"target": target, "status": word, **names})


def _publish_moved(change: Change, writing: Writing) -> None:
    """Runs automations of mail.moved after a change of group or bucket."""
    values = event_publishing.record_values("ticket", CONTEXT, change.id) | event_publishing.actor_values(writing)
    for uri in ("group", "bucket"):
        context = writing.registry.type(uri).context
        values |= event_publishing.record_values(f"was_{uri}", context, change.was(f"{uri}_id") or 0)
    event_publishing.publish(writing, "mail.moved", values)
