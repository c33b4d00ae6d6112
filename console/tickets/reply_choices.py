"""The choices in the form of a reply or a new ticket: read when the form is shown, not when it is sent."""

from typing import Any

from console.html.ui import ChooserOptions, Option
from console.http.visit import Visit
from console.lists import lookup
from server.dataclass import dataclass
from server.records import records
from server.records.records import SearchRequest
from server.tickets.outgoing_identity import OutgoingIdentity, outgoing_identity

NO_WAY = OutgoingIdentity("", "", "")
SNIPPETS = 60  # to choose from


@dataclass(frozen=True, slots=True)
class ReplyChoices:
    """The choices of a form. way: how the mail leaves. buckets: of a new ticket. owner: the possible owners, None until
    they are read. original: the text of the message to forward."""

    way: OutgoingIdentity = NO_WAY
    snippets: tuple[Option, ...] = ()
    templates: tuple[Option, ...] = ()
    buckets: tuple[Option, ...] = ()
    owner: ChooserOptions | None = None
    original: str = ""


NO_CHOICES = ReplyChoices()


def of_bucket(visit: Visit, bucket: str) -> ReplyChoices:
    """The buckets of a new ticket, and the way out of one; "" for the first."""
    options = tuple(buckets(visit))
    return ReplyChoices(
        way_from(visit, bucket or next((value for value, _place in options), ""), options), buckets=options
    )


def read(visit: Visit, kind: str, message_id: int, owner: str, choices: ReplyChoices) -> ReplyChoices:
    """All choices of a form. owner: that stands in it. known: the way out and the buckets."""
    return ReplyChoices(
        choices.way,
        tuple(_snippets(visit, kind)),
        tuple(_templates(visit)),
        choices.buckets,
        lookup.choosable(visit, "worker", "isDisabled:no", owner),
        _original(visit, kind, message_id),
    )


def way_of_ticket(visit: Visit, ticket: dict[str, Any]) -> OutgoingIdentity:
    """How mail of a ticket leaves."""
    return outgoing_identity(visit.ctx, ticket["group_id"], ticket["bucket_id"], ticket["id"])


def way_from(visit: Visit, bucket: str, options: tuple[Option, ...] | None = None) -> OutgoingIdentity:
    """How mail of a new ticket leaves from a bucket that the worker may choose. listed: the buckets, where they are
    known."""
    if bucket not in {value for value, _place in (buckets(visit) if options is None else options)}:
        return NO_WAY
    return outgoing_identity(visit.ctx, records.retrieve(visit.ctx, "bucket", int(bucket))["group_id"], int(bucket))


def buckets(visit: Visit) -> list[Option]:
    """The buckets that the worker may use, as `Group / Bucket`, those of their own groups first."""
    request = SearchRequest("", lookup.MAX_CHOICES, 1, f"{lookup.LABEL},group_")
    actor = visit.actor
    readable = None if actor.is_admin else actor.reads_groups
    readable_buckets = [
        each
        for each in records.search(visit.ctx, "bucket", request)["results"]
        if readable is None or each["group_id"] in readable
    ]
    readable_buckets.sort(key=lambda each: (each["group_id"] not in actor.member_of, _place(each).lower()))
    return [(str(each["id"]), _place(each)) for each in readable_buckets]


def _place(bucket: dict[str, Any]) -> str:
    return f"{bucket.get('group__label') or ''} / {bucket[lookup.LABEL]}"


def _snippets(visit: Visit, kind: str) -> list[Option]:
    """Texts for tickets and texts about nothing, those used most first."""
    types = "plaintext" if kind == "compose" else "[plaintext,ticket]"
    q = f"type:{types} usableBy.worker:me sort:-totalUses"
    page = records.search(visit.ctx, "snippet", SearchRequest(q, SNIPPETS, 1, lookup.LABEL))
    return lookup.options(visit, page["results"])


def _templates(visit: Visit) -> list[Option]:
    page = records.search(visit.ctx, "html_template", SearchRequest("sort:name", SNIPPETS, 1, lookup.LABEL))
    return lookup.options(visit, page["results"])


def _original(visit: Visit, kind: str, message_id: int) -> str:
    """The text of the message that a form forwards, "" for another form."""
    if kind != "forward" or not message_id:
        return ""
    return str(records.retrieve(visit.ctx, "message", message_id, "content")["content"]).strip()
