"""Automation events: what happens in the service that automations may answer to. A fixed set; nothing is run here."""

from server.fields.text import Text
from server.fields.time import Timestamp
from server.records.base import Access, Change, RecordType, Subtotals, Writing
from server.records.shared import built_in, checks
from server.records.shared.triggers import PREFIX
from server.search.filters.date import DateFilter
from server.search.filters.number import NumberFilter
from server.search.filters.text import AllWords, TextFilter
from server.store.tables import Index

EVENTS = {
    "mail.draft": "A mail is begun, or a draft of one is opened again.",
    "mail.draft.validate": "A new mail is about to be sent or queued; it can be refused.",
    "mail.filter": "Mail arrived and is not filed yet; it can be changed or refused.",
    "mail.moved": "A ticket went to another group or bucket.",
    "mail.received": "A message that arrived is on its ticket.",
    "mail.reply.validate": "A reply is about to be written; it can be refused.",
    "mail.route": "Mail that begins a ticket is given to a group and a bucket.",
    "mail.send": "A mail is about to leave; it can be changed.",
    "mail.sent": "A mail has left.",
    "record.changed": "A record was created, changed or deleted.",
    "record.merge": "Records are about to be merged; it can be refused.",
    "record.merged": "Records were merged.",
    "record.viewed": "Somebody opened the page of a record.",
    "reminder.remind": "A reminder is due.",
    "worker.authenticate.failed": "Somebody failed to log in.",
    "worker.authenticated": "A worker is about to be logged in; it can be refused.",
}
ROWS = tuple(
    {"name": name, "extension_id": PREFIX + name, "description": description} for name, description in EVENTS.items()
)


class AutomationEvent(RecordType):
    """One kind of happening and the automations that answer to it. All are there from the first start, none is added or
    removed. Source: Events and background behavior; the names are ours."""

    uri, context = "automation_event", "svc.contexts.automation.event"
    aliases = ("automation event", "automation events")
    label_names = ("Automation Event", "Automation Events")
    tier = 2
    lookup = "name"
    checked = {"automations_kata": "event"}
    features = frozenset(("comments", "custom_fields", "links", "search"))
    operations = {"retrieve": True, "search": True, "create": False, "update": True, "delete": False}
    access = Access(read="any worker", create=("nobody",), update=("admins",), delete=("nobody",))
    fields = {
        "automations_kata": Text(
            "Which automations answer, as KATA: blocks `automation/<name>:`. Never returned.", 65535, shown=False
        ),
        "description": Text("When it happens."),
        "extension_id": Text("Trigger of the automations that may answer; it stays.", required=True, form="extension"),
        "name": Text("Name, such as mail.received; it stays. Also the label.", required=True, unique=True),
        "updated_at": Timestamp(
            "Last change; set to now on every write unless it is sent.", auto="now", auto_update="now"
        ),
    }
    bumps = {"automations": ("automations_kata",)}
    indexes = (Index(("name",), "an event by its name", unique=True),)
    filters = (
        AllWords("Bare words are looked for in the name.", "name", "partial"),
        TextFilter("description", "When it happens.", "description", "partial"),
        TextFilter("extension", "Exact id of the trigger.", "extension_id", "exact"),
        NumberFilter("id", "Record id.", "id"),
        TextFilter("name", "Name, such as mail.received.", "name", "partial"),
        DateFilter("updated", "Last change.", "updated_at"),
    )
    subtotals = Subtotals(search=("fieldset", "links"))

    def prepare(self, change: Change, writing: Writing) -> None:
        checks.require(change)
        built_in.require_same(change, "name", "extension_id")
