"""The options in the form of a reply or a new ticket, read only when the form is shown."""

from typing import Any

from console.html.form import Form
from console.html.ui import ChooserOptions, Option
from console.http.visit import Visit
from console.lists import lookup
from console.lists.lookup import PLACE, RecordChoices
from server.contexts import GROUP, WORKER
from server.dataclass import dataclass
from server.digits import is_whole
from server.mail.addresses import parse_list
from server.people.buckets import usable_buckets
from server.records import records
from server.records.records import LABEL, SearchRequest
from server.tickets.outgoing_identity import UNKNOWN, OutgoingIdentity, outgoing_identity
from server.translation import _

SNIPPETS = 200  # options in a menu


@dataclass(frozen=True, slots=True)
class ReplyChoices:
    """The options of a form. way: the outgoing identity. buckets: of a new ticket. owner: the possible owners, None
    until they are read. original: the text of the message to forward. has_articles: whether the knowledge base has
    articles to insert. sender: the name and the address of the only recipient that a reply to several may have
    instead; ("", "") for none."""

    way: OutgoingIdentity = UNKNOWN
    snippets: tuple[Option, ...] = ()
    templates: tuple[Option, ...] = ()
    buckets: tuple[Option, ...] = ()
    owner: ChooserOptions | None = None
    original: str = ""
    has_articles: bool = False
    sender: tuple[str, str] = ("", "")


NO_CHOICES = ReplyChoices()


def of_bucket(visit: Visit, bucket: str) -> ReplyChoices:
    """Returns the buckets of a new ticket, and the outgoing identity of one; "" for the first."""
    options = tuple(buckets(visit))
    return ReplyChoices(
        way_from(visit, bucket or next((value for value, _place in options), ""), options), buckets=options
    )


def read(visit: Visit, kind: str, message_id: int, form: Form, choices: ReplyChoices) -> ReplyChoices:
    """Reads all options of a form. choices: the outgoing identity and the buckets."""
    has_several = kind == "reply" and len(parse_list(f"{form.get('to')}, {form.get('cc')}")) > 1
    return ReplyChoices(
        choices.way,
        tuple(_snippets(visit, kind)),
        tuple(_templates(visit)),
        choices.buckets,
        lookup.choosable(visit, "worker", "isDisabled:no", form.get("owner")),
        _original(visit, kind, message_id),
        bool(records.search(visit.ctx, "kb_article", SearchRequest("", 1))["results"]),
        _sender(visit, message_id) if has_several and message_id else ("", ""),
    )


def way_of_ticket(visit: Visit, ticket: dict[str, Any]) -> OutgoingIdentity:
    """Returns the outgoing identity of a ticket's mail."""
    return outgoing_identity(visit.ctx, ticket["group_id"], ticket["bucket_id"], ticket["id"])


def way_from(visit: Visit, bucket: str, options: tuple[Option, ...] | None = None) -> OutgoingIdentity:
    """Returns the outgoing identity of a bucket that the worker may choose. options: the buckets, if already read."""
    if bucket not in {value for value, _place in (buckets(visit) if options is None else options)}:
        return UNKNOWN
    return outgoing_identity(visit.ctx, records.retrieve(visit.ctx, "bucket", int(bucket))["group_id"], int(bucket))


def buckets(visit: Visit) -> list[Option]:
    """Returns the buckets that the worker may use, as `Group / Bucket`, first in their own groups."""
    return [(str(id), label) for id, label in usable_buckets(visit.ctx, lookup.MAX_CHOICES)[0]]


def choosable_buckets(visit: Visit, chosen: str) -> ChooserOptions:
    """Returns the same as options of a chooser. chosen: the id of the present bucket."""
    listed, total = usable_buckets(visit.ctx, lookup.MAX_LISTED_CHOICES)
    options = [(str(id), label) for id, label in listed]
    if total <= len(options) and chosen in {"", *dict(options)}:
        return ChooserOptions(PLACE, options, chosen)
    rows = lookup.search(visit, "bucket", f"id:{chosen}", f"{LABEL},group_") if is_whole(chosen) else []
    present = [(str(each["id"]), f"{each.get('group__label') or ''} / {each[LABEL]}") for each in rows]
    if total <= len(options):
        return ChooserOptions(PLACE, options + present, chosen)
    return ChooserOptions(PLACE, None, lookup.numbered(*present[0]) if present else chosen)


def chosen_bucket(visit: Visit, text: str) -> int:
    """Returns the id of the bucket that a chooser was sent. Raises Invalid for the name of none or of several."""
    named = [(str(id), label) for id, label in usable_buckets(visit.ctx, lookup.MAX_LISTED_CHOICES, text)[0]]
    return lookup.chosen_id(visit, "bucket", text, "bucket_id", named)


BUCKETS = RecordChoices(choosable_buckets, chosen_bucket)


def _snippets(visit: Visit, kind: str) -> list[Option]:
    """Returns snippets for tickets and plain ones, the most used first. Those of the worker or of a group say so."""
    types = "plaintext" if kind == "compose" else "[plaintext,ticket]"
    q = f"type:{types} usableBy.worker:me sort:-totalUses"
    rows = records.search(visit.ctx, "snippet", SearchRequest(q, SNIPPETS, 1, lookup.LABEL))["results"]
    group_ids = {each["owner_id"] for each in rows if each["owner__context"] == GROUP}
    groups = dict(lookup.choices(visit, "group", f"id:[{','.join(map(str, sorted(group_ids)))}]")) if group_ids else {}

    def label(row: dict[str, Any]) -> str:
        owners = {WORKER: _("Only me"), GROUP: groups.get(str(row["owner_id"]), "")}
        owner = owners.get(row["owner__context"], "")
        return f"{row[lookup.LABEL]} · {owner}" if owner else str(row[lookup.LABEL])

    return [(str(each["id"]), label(each)) for each in rows]


def _templates(visit: Visit) -> list[Option]:
    page = records.search(visit.ctx, "html_template", SearchRequest("sort:name", SNIPPETS, 1, lookup.LABEL))
    return lookup.options(visit, page["results"])


def _sender(visit: Visit, message_id: int) -> tuple[str, str]:
    """Returns the name and the address of the sender of a received message, ("", "") for another one."""
    message = records.retrieve(visit.ctx, "message", message_id, "sender_")
    if message["is_outgoing"]:
        return "", ""
    email = str(message.get("sender_email") or "")
    return "" if message.get("sender_worker_id") else str(message.get("from_name") or ""), email


def _original(visit: Visit, kind: str, message_id: int) -> str:
    """Returns the text of the message that a form forwards, "" for another form."""
    if kind != "forward" or not message_id:
        return ""
    return str(records.retrieve(visit.ctx, "message", message_id, "content")["content"]).strip()
