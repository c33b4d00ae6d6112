"""Automation events: events of the service that automations may handle. The set is fixed; nothing is run here."""

from server import contexts
from server.automation import bound_automations
from server.fields import Name, Text, UpdatedAt
from server.record_types.record_type import Access, Change, Key, RecordType, Subtotals, Writing
from server.record_types.shared import built_in
from server.record_types.shared.triggers import EVENTS, PREFIX
from server.record_types.traits import Comments, CustomFields, Links, Search
from server.store.tables import Index
from server.tickets.rule_events import EVENT

ROWS = tuple({"name": name, "extension_id": PREFIX + name, "description": each.when} for name, each in EVENTS.items())


class AutomationEvent(RecordType):
    """A kind of event and the automations that handle it. All exist from the first start; none can be added or
    removed."""

    uri, context = "automation_event", contexts.AUTOMATION_EVENT
    tier = 2
    lookup = "name"
    checked = {"automations_kata": "event"}
    traits = (Comments(), CustomFields(), Links(), Search())
    operations = {"retrieve": True, "search": True, "create": False, "update": True, "delete": False}
    access = Access(read="any worker", write=("nobody",), update=("admins",))
    fields = {
        "automations_kata": Text(
            "The automations that run, as KATA: blocks `automation/<name>:`. Returned with `expand`.",
            65535,
            shown=False,
        ),
        "description": Text("When it happens."),
        "extension_id": Text(
            "Trigger of the automations that can run; cannot be changed.",
            required=True,
            form="extension",
            filter="extension",
            filter_note="Exact id of the trigger.",
            match="exact",
        ),
        "name": Name("Name, such as mail.received; cannot be changed. Also the label.", unique=True),
        "updated_at": UpdatedAt(),
    }
    keys = (
        Key(
            "automations_kata", "text", "The binding.", lambda record, shown: record["automations_kata"], on_expand=True
        ),
    )
    for_admins = frozenset(("automations_kata",))
    bumps = {"automations": ("automations_kata",)}
    indexes = (Index(("name",), "an event by its name", unique=True),)
    subtotals = Subtotals(search=("fieldset", "links"))

    def wakes(self, change: Change) -> bool:
        """Wakes the scan of rules, which does not run while there are none."""
        return change.value("name") == EVENT

    def prepare(self, change: Change, writing: Writing) -> None:
        built_in.require_same(change, "name", "extension_id")
        bound_automations.require_runnable(change, writing, change.value("extension_id"))
