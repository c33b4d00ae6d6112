"""Groups: teams of workers with their own mail. people/rosters.py has the rules of members."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from server.digits import is_whole
from server.errors import Conflict, Invalid
from server.fields import Bit, CreatedAt, Id, Intake, Name, Number, Structure, Text, UpdatedAt
from server.fields.field import as_text
from server.mail import list_headers
from server.people import acknowledgement_text, next_owner, rosters
from server.people.rating_texts import MAX_JSON_CHARS, MAX_LANGUAGES, RatingTexts
from server.record_types.record_type import (
    Access,
    Change,
    DictionaryContext,
    Event,
    Expand,
    Key,
    NestedRecord,
    Record,
    RecordType,
    Subtotals,
    Writing,
)
from server.record_types.shared import maps, record_owners
from server.record_types.shared.collections import ids_text
from server.record_types.shared.relation_tables import GROUP_MEMBER
from server.record_types.shared.sending_addresses import check_sender
from server.record_types.traits import Avatars, Comments, CustomFields, Exported, Links, Owner, Search, together
from server.search.filters import DeepFilter, HasManyThrough
from server.store.statements import in_list, slot
from server.store.tables import Column, Index, table_named
from server.store.transaction import Transaction
from server.translation import N_, about_field, lazy_gettext

if TYPE_CHECKING:
    from server.record_types.registry import Registry

INBOX = "Inbox"
WRITING_ASSISTANT, WRITING_ASSISTANT_NOTES = "writing_assistant", "writing_assistant_notes"
NONE, LAST, THREAD = QUOTED = ("none", "last", "thread")  # what a new reply quotes
MAX_MEMBERS = 1000  # in one change
MAX_LIST_HEADERS = 2_000  # characters


class Members(Structure):
    """A change of the members: {manager: ids, member: ids, remove: ids}, where ids are a list or comma-separated.

    A plain list of ids adds members. The value is {worker id: manager, member or remove}."""

    def read(self, raw: Any, intake: Intake) -> dict[int, str]:
        value = super().read(raw, intake)
        parts = value if isinstance(value, Mapping) else {rosters.MEMBER: value}
        changes: dict[int, str] = {}
        for part, raw_ids in parts.items():
            if part not in rosters.GROUP_PARTS:
                raise self.bad(
                    lazy_gettext(
                        "'{value}' is not one of {known}", value=str(part)[:50], known=", ".join(rosters.GROUP_PARTS)
                    )
                )
            for worker_id in self._ids(raw_ids):
                if not intake.lookup.exists("worker", worker_id):
                    raise self.bad(f"there is no worker {worker_id}")
                if changes.setdefault(worker_id, part) != part:
                    raise self.bad(f"worker {worker_id} stands under {changes[worker_id]} and {part}")
        return changes

    def _ids(self, raw: Any) -> list[int]:
        items = raw if isinstance(raw, list) else as_text(raw).split(",")
        texts = [as_text(item).strip() for item in items]
        for text in texts:
            if text and not is_whole(text):
                raise self.bad(f"'{text[:50]}' is not the id of a worker")
        if len(texts) > MAX_MEMBERS:
            raise self.bad(f"at most {MAX_MEMBERS} workers in one change")
        return [int(text) for text in texts if text]


class ListHeaders(Text):
    """Mail header fields, one per line, normalized to their usual spelling."""

    def read(self, raw: Any, intake: Intake) -> str:
        text = super().read(raw, intake)
        try:
            headers = list_headers.parse(text)
        except Invalid as error:
            raise self.bad(error.message) from None
        return "\n".join(f"{name}: {value}" for name, value in headers)


def exported_members(tx: Transaction, groups: list[Record]) -> Exported:
    """Exports `members`: the workers of each group, with their role."""
    member = GROUP_MEMBER.sql
    rows = tx.rows(
        lambda: (
            member.select(member.group_id, member.worker_id, member.is_manager)
            .where(in_list(member.group_id, slot(0)))
            .order_by(member.group_id, member.worker_id)
        ),
        (ids_text(groups),),
    )
    roles = {0: "member", 1: "manager"}
    return together("members", [(group, {"worker_id": id, "role": roles[manager]}) for group, id, manager in rows])


def load_members(shown: DictionaryContext, records: list[Record], form: str) -> dict[int, dict[str, Any]]:
    """Loads `members`: {worker id: worker with their address and `is_manager`}, without disabled workers."""
    pairs = maps.pairs_through(shown.tx, GROUP_MEMBER, "group_id", "worker_id", records)
    managers = set(maps.pairs_through(shown.tx, GROUP_MEMBER, "group_id", "worker_id", records, is_manager=1))
    workers = {
        id: dictionary
        for id, dictionary in maps.by_id(shown, "worker", {id for _, id in pairs}, "address_").items()
        if not dictionary["is_disabled"]
    }
    members: dict[int, dict[str, Any]] = {record["id"]: {} for record in records}
    for group_id, worker_id in pairs:
        if worker_id in workers:
            is_manager = (group_id, worker_id) in managers
            members[group_id][str(worker_id)] = workers[worker_id] | {"is_manager": is_manager}
    return {group_id: {"members": members} for group_id, members in members.items()}


def load_buckets(shown: DictionaryContext, records: list[Record], form: str) -> dict[int, dict[str, Any]]:
    """Loads `buckets`: {results_meta, results}, the buckets as a list."""
    pairs = maps.pairs_behind(shown, "bucket", "group_id", records)
    buckets = maps.by_id(shown, "bucket", {id for _, id in pairs})
    lists: dict[int, list[dict[str, Any]]] = {record["id"]: [] for record in records}
    for group_id, bucket_id in pairs:
        if bucket_id in buckets:
            lists[group_id].append(buckets[bucket_id])
    return {id: {"buckets": {"results_meta": {}, "results": results}} for id, results in lists.items()}


def load_assignment(shown: DictionaryContext, records: list[Record], form: str) -> dict[int, dict[str, Any]]:
    """Loads `assignment`: who gets the next ticket, and why others are skipped."""
    return {
        record["id"]: {"assignment": _assignment(next_owner.outlook(shown.tx, shown.now, record))} for record in records
    }


def _assignment(outlook: next_owner.Outlook) -> dict[str, Any]:
    members = [
        {
            "worker_id": each.worker_id,
            "open": each.open,
            "open_in_group": each.open_in_group,
            "skipped": each.skipped,
        }
        for each in outlook.candidates
    ]
    next_one = outlook.next
    return {
        "next_id": next_one.worker_id if next_one else 0,
        "begins_at": outlook.begins_at,
        "waiting": outlook.waiting,
        "members": members,
    }


class Group(RecordType):
    """A team with tickets in buckets, members and managers, and an address for its replies.

    One group is the default: it receives mail that no other rule routes."""

    uri = "group"
    aliases = ("groups", "team", "teams")
    traits = (Comments(), CustomFields(), Links(), Avatars(), Owner(), Search())
    access = Access(read="any worker", write=("admins",), delete=("privilege", "group manager"))
    is_administrative = True
    is_settled = True
    fields = {
        "ack_calendar_id": Id(
            "Calendar that `ack_hours` refers to.", "calendar", zero_ok=True, nested=None, filter=None
        ),
        "ack_enabled": Bit(
            "1: whoever creates a ticket in the group by email gets `ack_text` as a reply.",
            filter="acknowledges",
            filter_note="Acknowledges the first email of a ticket.",
        ),
        "ack_hours": Text(
            "When to send it: always, or inside or outside the available time of a calendar.",
            default=acknowledgement_text.ALWAYS,
            allowed=acknowledgement_text.HOURS,
            filter=None,
        ),
        "ack_subject": Text(
            "Subject of the acknowledgement, with placeholders; blank for the subject of the ticket.",
            one_line=True,
            filter=None,
        ),
        "ack_text": Text(
            "Text of the acknowledgement in Markdown, with placeholders such as {{mask}} and {{group_name}}.",
            acknowledgement_text.MAX_CHARACTERS,
            filter=None,
        ),
        "assign_calendar_id": Id(
            "Calendar in whose available time tickets are assigned automatically; 0 for always. At other times tickets "
            "wait.",
            "calendar",
            zero_ok=True,
            nested=None,
            filter=None,
            origin="ours",
        ),
        "assign_managers": Bit("1: managers get tickets automatically, too.", default=1, filter=None, origin="ours"),
        "assign_max_open": Number(
            "Open tickets in the group up to which a member gets tickets automatically; 0 for no limit.",
            min=0,
            max=next_owner.MAX_OPEN,
            filter=None,
            origin="ours",
        ),
        "assign_presence": Text(
            "Who gets tickets automatically, of those who are not away: `anybody`, who used the service `today`, or "
            "who was `active` in the last 15 minutes.",
            default=next_owner.ANYBODY,
            allowed=next_owner.PRESENCES,
            filter=None,
            origin="ours",
        ),
        "assign_way": Text(
            "How tickets without an owner are assigned: `off`, `round_robin`, or `fewest_open` for the member with the "
            "fewest open tickets.",
            default=next_owner.OFF,
            allowed=tuple(next_owner.WAYS),
            filter="assigns",
            filter_note="How its tickets are assigned.",
            origin="ours",
        ),
        "created": CreatedAt(),
        "is_default": Bit(
            "Gets email that matches no other group. Setting it here clears it on the other group.", filter="default"
        ),
        "is_private": Bit(
            "0: everybody may read its tickets; 1: members only.",
            filter="private",
            filter_note="Only members may read its tickets.",
        ),
        "language": Text(
            "Locale, such as de_DE, of texts that the service adds to the group's email: the line "
            "above a quotation, names of header fields, dates. Blank for the locale of the worker "
            "who writes.",
            16,
            form="language",
            filter=None,
        ),
        "list_headers": ListHeaders(
            "Header fields that mark its email as mailing list email, one per line, such as `List-Id: "
            "<support.desk.example>` or `List-Unsubscribe: <https://desk.example/leave>`.",
            MAX_LIST_HEADERS,
            filter=None,
        ),
        "members": Members(
            'Change of the roster, as a map or JSON: {"manager": "1,2", "member": "3", "remove": "4"}, with worker '
            "ids.",
            stored=False,
        ),
        "links_to_requests": Bit(
            "1: its acknowledgements, replies and first messages of new tickets end with the address of the ticket in "
            "the help center, where the brand of the group shows customers their requests.",
            filter="linksRequests",
            filter_note="Its email ends with the address of the ticket in the help center.",
            origin="ours",
        ),
        "name": Name("Group name; also the label.", one_line=True),
        "quoted_history": Text(
            "What a new reply quotes below its text: nothing, the message replied to, or the conversation with the "
            "requesters up to it. The line `#original_message` stands for it.",
            default=NONE,
            allowed=QUOTED,
            filter=None,
        ),
        "rating_enabled": Bit(
            "1: customers are asked for a rating after a ticket of the group was closed, if the setting `ratings` is "
            "`groups`.",
            filter="asksRatings",
            filter_note="Asks for ratings of its own accord.",
            origin="ours",
        ),
        "rating_subject": Text(
            "Subject of the request for a rating, with placeholders; blank for the usual one in the language of the "
            "customer.",
            one_line=True,
            filter=None,
            origin="ours",
        ),
        "rating_text": Text(
            "Text of the request for a rating in Markdown, with placeholders such as {{mask}} and {{group_name}}; the "
            "links follow it. Blank for the usual one in the language of the customer.",
            acknowledgement_text.MAX_CHARACTERS,
            filter=None,
            origin="ours",
        ),
        "rating_texts": RatingTexts(
            f"The request for a rating in further languages, at most {MAX_LANGUAGES}: a list of maps of `language`, "
            "such as de or pt-BR, `subject` and `text`. A customer gets the one in their language, else "
            "`rating_subject` and `rating_text`; a blank subject or text of a language is the usual one in it. Sent "
            "as a list in JSON.",
            MAX_JSON_CHARS,
            filter=None,
            origin="ours",
        ),
        "reply_address_id": Id(
            "Address that replies are sent from; 0 for the default sender. Without its own mail "
            "transport, it uses the default one.",
            "address",
            zero_ok=True,
            alternatives=("replyto_id",),
            filter="send.from.id",
            filter_note="Reply address by id.",
            nested="replyto",
            nested_note="Address that replies are sent from, written as `reply_address_id`.",
        ),
        "reply_html_template_id": Id(
            "Default mail template.",
            "html_template",
            zero_ok=True,
            filter="template.id",
            filter_note="Mail template by id.",
        ),
        "reply_to": Text(
            "Where replies to its email go instead of the sender address; blank for that address.",
            form="email",
            one_line=True,
            filter=None,
        ),
        "reply_personal": Text(
            "Sender name on replies, with placeholders such as {{full_name}}; blank for the group's name.",
            one_line=True,
            filter="send.as",
            filter_note="Sender name on replies; blank for the group's name.",
        ),
        "reply_signature_id": Id(
            "Default signature.", "email_signature", zero_ok=True, filter="signature.id", filter_note="Signature by id."
        ),
        "reply_signing_key_id": Id(
            "Key that signs outgoing email.",
            "gpg_private_key",
            zero_ok=True,
            filter="signing.key.id",
            filter_note="Signing key by id.",
            nested_note="Signing key.",
        ),
        "timezone": Text(
            "IANA time zone of dates in the group's email. Blank: the time zone of the worker who writes.",
            form="timezone",
            filter=None,
        ),
        "updated": UpdatedAt(),
        "writing_assistant": Bit(
            "1: workers may use the writing assistant on its tickets, which sends their words to the provider that an "
            "administrator has entered.",
            filter="writingAssistant",
            filter_note="The writing assistant may be used on its tickets.",
            origin="ours",
        ),
        "writing_assistant_notes": Bit(
            "1: the writing assistant may also send the notes on its tickets.",
            filter="writingAssistantNotes",
            filter_note="The writing assistant may send the notes on its tickets.",
            origin="ours",
        ),
    }
    columns = (Column("default_bucket_id"), Column("ack_error", "TEXT"))  # the buckets maintain default_bucket_id
    indexes = (Index(("reply_address_id",), "whether a group sends from an address, and routing by recipient"),)
    bumps = {"access": ("is_private",)}
    keys = (
        Key(
            "ack_error",
            "text",
            "Why the latest acknowledgement failed; cleared when the settings change.",
            column="ack_error",
        ),
    )
    events = (
        Event("group.acknowledgement.error", "an acknowledgement failed"),
        Event("group.tickets.queued", "an administrator started to assign its tickets without an owner"),
    )
    nested = (NestedRecord("default_bucket", "bucket", "Bucket that new tickets go to.", stub=False),)
    expands = (
        Expand(
            "assignment",
            "object",
            "{next_id, begins_at, waiting, members}: who gets the next ticket, when the hours begin, how many tickets "
            "wait, and for each member, the next one first, {worker_id, open, open_in_group, skipped}.",
            load_assignment,
            origin="ours",
        ),
        Expand("buckets", "object", "{results_meta, results}: the buckets as a list.", load_buckets, "bucket"),
        Expand(
            "members",
            "records",
            "Active members keyed by worker id, with their address and `is_manager`.",
            load_members,
            "worker",
        ),
    )
    filters = (
        DeepFilter(
            "manager",
            "Has a matching manager.",
            "worker",
            HasManyThrough("group_member", "group_id", "worker_id", (("is_manager", 1),)),
        ),
        DeepFilter(
            "member", "Has a matching member.", "worker", HasManyThrough("group_member", "group_id", "worker_id")
        ),
    )
    subtotals = Subtotals(
        search=("default", "fieldset", "links", "private"),
        aliases={"send.from": "send.from.id", "signature": "signature.id", "template": "template.id"},
    )
    tables = (next_owner.ASSIGN_TURN, next_owner.ASSIGN_QUEUE)
    exported_tables = (GROUP_MEMBER,)

    def bind(self, registry: "Registry") -> None:
        self.registry = registry

    def prepare(self, change: Change, writing: Writing) -> None:
        if change.changes("reply_address_id"):
            check_sender(writing, change.new["reply_address_id"])
        acknowledgement_text.check(change, writing, self.registry)
        default = writing.find("group", is_default=1)
        if default is None:
            change.new["is_default"] = 1  # one group must receive mail that no other rule routes
        elif default["id"] == change.id and not change.value("is_default"):
            raise Conflict(
                about_field("is_default", N_("this is the default group; make another group the default instead")),
                field="is_default",
            )

    def after_write(self, change: Change, writing: Writing) -> None:
        if change.value("is_default"):
            self._clear_other_defaults(change.id, writing)
        if change.is_create:
            writing.create("bucket", {"name": INBOX, "group_id": change.id, "is_default": 1})
        rosters.change_members(writing, change.id, change.extras.get("members", {}))
        if not change.is_create and change.changes("name"):
            rosters.refresh_roles(writing, "group")

    def wakes(self, change: Change) -> bool:
        """Wakes the job that assigns waiting tickets."""
        return change.changes("assign_way") and not change.is_create

    def export(self, tx: Transaction, records: list[Record]) -> Exported:
        return exported_members(tx, records)

    def check_delete(self, record: Record, writing: Writing) -> None:
        if record["is_default"]:
            raise Conflict(
                N_(
                    "this is the default group, which gets email that matches no other group; make another group "
                    "the default first"
                )
            )

    def after_delete(self, record: Record, writing: Writing) -> None:
        id = record["id"]
        self._move_tickets(id, writing)
        for bucket_id in self._bucket_ids(id, writing):
            writing.delete("bucket", bucket_id)
        self._delete_statuses(id, writing)
        rosters.forget_group(writing, id)
        writing.tx.delete(next_owner.ASSIGN_TURN, group_id=id)
        record_owners.forget(writing, self.context, id)

    # -- steps ------------------------------------------------------------------------------------------------------

    def _clear_other_defaults(self, id: int, writing: Writing) -> None:
        writing.touch(self.uri, is_default=1)
        table: Any = self.table.sql
        writing.tx.run(
            lambda: table.update({table.is_default: 0}).where(table.is_default == 1, table.id != slot(0)),
            (id,),
        )

    def _move_tickets(self, id: int, writing: Writing) -> None:
        """Moves all tickets of a deleted group to the default group."""
        default = writing.find("group", is_default=1)
        if default is None:
            raise Invalid(N_("there is no default group to move the tickets to; create one first"))
        writing.touch("ticket", group_id=id)
        ticket: Any = table_named("ticket")
        writing.tx.run(
            lambda: ticket.update({ticket.c.group_id: slot(0), ticket.c.bucket_id: slot(1)}).where(
                ticket.c.group_id == slot(2)
            ),
            (default["id"], default["default_bucket_id"], id),
        )

    def _delete_statuses(self, id: int, writing: Writing) -> None:
        """Deletes the names of statuses that only a deleted group used; its tickets keep their states."""
        status: Any = table_named("ticket_status")
        rows = writing.tx.rows(lambda: status.select(status.c.id).where(status.c.group_id == slot(0)), (id,))
        for row in rows:
            writing.delete("ticket_status", row[0])

    def _bucket_ids(self, id: int, writing: Writing) -> list[int]:
        bucket: Any = table_named("bucket")
        rows = writing.tx.rows(lambda: bucket.select(bucket.c.id).where(bucket.c.group_id == slot(0)), (id,))
        return [row[0] for row in rows]
