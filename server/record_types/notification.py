"""Notifications for workers who own or watch a record, or were mentioned."""

import json

from server.errors import Forbidden, Required
from server.fields import Bit, ContextName, CreatedAt, Id, Structure, Text
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
from server.record_types.shared import entries
from server.record_types.traits import Links, Search
from server.search.filters import AllWords
from server.store.tables import Index

CHANNEL = "notifications"  # the channel of streams with the number of unread notifications


def where_it_leads(record: Record, view: DictionaryContext) -> str:
    """The page of the record that a notification is about, or the address of its entry; "" if it has neither."""
    page_of = entries.pages(view)
    about = page_of(record["target__context"], record["target_id"]) if record["target__context"] else ""
    return about or entries.first_url(record["params"], page_of)


class Notification(RecordType):
    """An entry in a worker's inbox, unread until the worker opens it. Only the worker and administrators see it."""

    uri = "notification"
    is_silent = True
    aliases = ("notifications", "alert", "alerts")
    tier = 2
    traits = (Links(), Search())
    access = Access(read="worker", write=("privilege", "worker"), update=("worker",))
    fields = {
        "activity_point": Text(
            "Id of the activity event, or custom.other.",
            required=True,
            filter="activity",
            filter_note="Exact id of the activity event; lists are allowed.",
            match="exact",
        ),
        "created": CreatedAt("When it was raised; now when omitted."),
        "is_read": Bit("Seen by the worker."),
        "params": Structure(
            "What happened: {message, variables, urls}, as in an activity entry.", required=True, shown=False
        ),
        "target__context": ContextName("Record type it is about.", blank_ok=True, shown=False),
        "target_id": Id(
            "Id of the record it is about.",
            target_from="target__context",
            zero_ok=True,
            nested_note="Record it is about.",
        ),
        "worker_id": Id(
            "Worker who is notified.",
            "worker",
            required=True,
            alternatives=("assignee_id",),
            filter_note="For a worker by id.",
            deep="For a matching worker.",
            nested="assignee",
            nested_note="Worker who is notified, written as `worker_id`.",
        ),
    }
    indexes = (
        Index(("worker_id", "is_read", "id"), "a worker's unread notifications, newest first"),
        Index(("target__context", "target_id"), "the notifications about a record"),
    )
    keys = (
        Key(
            "event_json",
            "text",
            "What happened, as JSON text.",
            value=lambda record, view: json.dumps(record["params"], ensure_ascii=False),
        ),
        Key("message", "text", "The entry as text.", value=lambda record, view: entries.plain_text(record["params"])),
        Key(
            "message_html",
            "text",
            "The entry as HTML.",
            value=lambda record, view: entries.html(record["params"], entries.pages(view)),
        ),
        Key("url", "url", "The address it links to.", value=where_it_leads),
        Key(
            "url_markread",
            "url",
            "Address that marks it as read and redirects to its link.",
            value=lambda record, view: view.address(f"/notifications/{record['id']}"),
        ),
    )
    filters = (AllWords("Bare words are searched in the activity event's id.", "activity_point", "partial"),)
    subtotals = Subtotals(search=("activity", "isRead", "worker.id"), aliases={"worker": "worker.id"})
    label_column = "activity_point"
    has_links_filter = False
    has_url = False

    def label(self, record: Record) -> str:
        return entries.one_line(record["params"]) or super().label(record)

    def prepare(self, change: Change, writing: Writing) -> None:
        if change.value("target_id") and not change.value("target__context"):
            raise Required("target__context is required: the type of the record target_id", field="target__context")

    def after_write(self, change: Change, writing: Writing) -> None:
        """Publishes the new number of unread notifications."""
        writing.ctx.service.notify_after(writing.tx, CHANNEL)

    def after_delete(self, record: Record, writing: Writing) -> None:
        writing.ctx.service.notify_after(writing.tx, CHANNEL)

    def privileged(self, change: Change, writing: Writing) -> None:
        actor = writing.actor
        if not actor.is_admin and change.value("worker_id") != actor.id:
            raise Forbidden("worker_id: only administrators may notify somebody else", field="worker_id")
