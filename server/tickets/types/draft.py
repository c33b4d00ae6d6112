"""Drafts: unsent mail, being written or queued. Sending is in the outbox."""

from typing import Any

from server import contexts
from server.errors import Invalid, Required
from server.fields import Bit, Id, Structure, Text, Uint, UpdatedAt
from server.outbox import causes, queue_rows
from server.record_types.record_type import (
    Access,
    Change,
    DictionaryContext,
    Key,
    Record,
    RecordType,
    Subtotals,
    Writing,
)
from server.record_types.shared import paths
from server.record_types.shared.secrets import random_text
from server.record_types.shared.sending_addresses import DRAFT_TYPES, TRANSACTIONAL
from server.record_types.traits import Comments, CustomFields, Search
from server.search.filters import AllWords, DateFilter
from server.store.tables import Index

TOKEN_CHARS = 10


def _content(record: Record, view: DictionaryContext) -> Any:
    params = record["params"]
    return params.get("content", "") if isinstance(params, dict) else ""


def _ticket_url(record: Record, view: DictionaryContext) -> str:
    if not record["ticket_id"]:
        return ""
    return view.address(paths.within(paths.record("ticket", record["ticket_id"]), "draft", record["id"]))


class Draft(RecordType):
    """A mail of one worker that is being written or queued. Everybody who may read its ticket sees it, so that two
    workers do not write the same reply; only its own worker may change it."""

    uri, context = "draft", contexts.DRAFT
    lookup = "token"
    traits = (Comments(), CustomFields(), Search())
    access = Access(read="worker or ticket", write=("privilege", "worker"), update=("worker",))
    fields = {
        "is_queued": Bit("1: waiting to be sent.", shown=False, filter="is.queued", filter_note="Waiting to be sent."),
        "name": Text("Subject; also the label."),
        "params": Structure(
            "Everything else about the email: to, cc, bcc, subject, content, format, send_at and more.",
            4294967295,
            default={},
        ),
        "queue_delivery_date": Uint("Not sent before this time, in Unix seconds.", shown=False),
        "queue_fails": Uint("Failed attempts; reset when it is queued again.", shown=False, filter="queue.fails"),
        "ticket_id": Id(
            "Ticket for replies and forwards.", "ticket", zero_ok=True, nested_note="Ticket it replies to."
        ),
        "to": Text("Recipients.", 65535, match="prefix"),
        "token": Text(
            "Random text carried over to the sent message, 10 characters.",
            16,
            auto="generated",
            filter_note="Random text carried over to the sent message.",
            match="exact",
        ),
        "type": Text(
            f"{', '.join(DRAFT_TYPES[:-1])} or {DRAFT_TYPES[-1]}.",
            required=True,
            allowed=DRAFT_TYPES,
            filter_note="Kind of email.",
        ),
        "updated": UpdatedAt("Last change; set to the current time on every write unless sent."),
        "worker_id": Id(
            f"Worker who owns it; required unless the type is {TRANSACTIONAL}.",
            "worker",
            zero_ok=True,
            deep="Owned by a matching worker.",
        ),
    }
    indexes = (
        Index(("is_queued", "queue_delivery_date"), "drafts due to be sent"),
        Index(("worker_id", "updated"), "a worker's drafts"),
        Index(("ticket_id",), "the drafts on a ticket"),
        Index(("token",), "a draft by its token"),
    )
    keys = (
        Key("content", "text", "Text of the email, as in `params`.", _content, on_expand=True),
        Key("subject", "text", "Same as `name`.", column="name"),
        Key("ticket_url", "url", "Web address of the draft on its ticket; blank without one.", _ticket_url),
    )
    filters = (
        AllWords("Bare words are searched in `name`.", "name", "partial"),
        DateFilter("queue.deliverAt", "Not sent before this time.", "queue_delivery_date"),
    )
    subtotals = Subtotals(search=("type", "worker.id"), aliases={"worker": "worker.id"})
    has_fieldset_filter = False

    def privileged(self, change: Change, writing: Writing) -> None:
        """Requires the right to update the ticket of a draft, because the draft becomes a reply on it."""
        ticket_id = change.value("ticket_id")
        queues = change.value("is_queued") and change.changes("is_queued")
        if ticket_id and (change.changes("ticket_id") or queues):
            writing.require("update", "ticket", ticket_id)

    def prepare(self, change: Change, writing: Writing) -> None:
        """Checks worker and params, resets the count of failures when it is queued again, and generates a token."""
        new = change.new
        if not change.value("worker_id") and change.value("type") != TRANSACTIONAL and change.sent:
            raise Required(f"worker_id is required, unless the type is {TRANSACTIONAL}", field="worker_id")
        if isinstance(new.get("params"), list):
            if new["params"]:
                raise Invalid("params: must be a map, not a list", field="params")
            new["params"] = {}
        if new.get("is_queued") and change.changes("is_queued"):
            new.setdefault("queue_fails", 0)
        if change.is_create and not new.get("token"):
            new["token"] = random_text(TOKEN_CHARS)

    def after_write(self, change: Change, writing: Writing) -> None:
        causes.follow(change, writing)
        queue_rows.follow_queueing(writing, change)

    def wakes(self, change: Change) -> bool:
        """Wakes the queue if a client queued the draft; code of the service wakes it explicitly."""
        return bool(change.sent) and bool(change.value("is_queued"))
