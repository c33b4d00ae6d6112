"""Reminders of workers for a given time. people/due_reminders.py sends the notifications."""

from server.errors import Required
from server.fields import Bit, Id, Name, Timestamp, UpdatedAt
from server.record_types.record_type import Access, Change, RecordType, Subtotals, Writing
from server.record_types.traits import Comments, CustomFields, Links, Search, Watchers
from server.search.filters import BelongsTo, DeepFilter, WorkerFilter
from server.store.tables import Index
from server.translation import N_, lazy_gettext


class Reminder(RecordType):
    """A note that becomes a notification of its worker once, at its time."""

    uri = "reminder"
    tier = 2
    traits = (Comments(), CustomFields(), Links(), Watchers(), Search())
    access = Access(read="any worker", write=("privilege", "worker"), update=("worker",))
    fields = {
        "is_closed": Bit("Already sent, or no longer wanted; 0 sends it again.", filter="closed"),
        "name": Name("The subject of the reminder; also the label."),
        "remind_at": Timestamp("When to remind. A past time reminds at once.", required=True),
        "updated_at": UpdatedAt(),
        "worker_id": Id("Worker to remind; only administrators remind others.", "worker", required=True),
    }
    indexes = (
        Index(("remind_at",), "reminders that are due", where='"is_closed" = 0'),
        Index(("worker_id", "is_closed", "remind_at"), "a worker's open reminders"),
    )
    filters = (
        DeepFilter("worker", "For a matching worker.", "worker", BelongsTo("worker_id"), aliases=("owner",)),
        WorkerFilter("worker.id", "For this worker: me, ids, names.", "worker_id"),
    )
    subtotals = Subtotals(search=("closed", "fieldset", "links", "worker.id"), aliases={"worker": "worker.id"})
    due_column = "remind_at"

    def prepare(self, change: Change, writing: Writing) -> None:
        if not change.value("remind_at"):
            raise Required(
                lazy_gettext("{field} is required: {what}", field="remind_at", what=N_("a date, such as tomorrow 9am")),
                field="remind_at",
            )
