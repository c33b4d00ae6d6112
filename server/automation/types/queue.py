"""Queues: named channels for messages between automations. The messages are not records."""

from server.automation.types.queue_parts.messages import QUEUE_MESSAGE
from server.fields import CreatedAt, Name, UpdatedAt
from server.record_types.record_type import Access, Record, RecordType, Subtotals, Writing
from server.record_types.traits import Comments, CustomFields, Links, Search, Watchers
from server.store.tables import Index


class Queue(RecordType):
    """A named queue."""

    uri = "queue"
    tier = 3
    lookup = "name"
    traits = (Comments(), CustomFields(), Links(), Watchers(), Search())
    access = Access(read="any worker", write=("admins",), create=("privilege",))
    is_administrative = True
    fields = {
        "created_at": CreatedAt(),
        "name": Name(
            "Unique name: letters, digits, dots and underscores; also the label.",
            unique=True,
            pattern=r"[A-Za-z0-9._]*",
            filter_note="Name of the queue.",
        ),
        "updated_at": UpdatedAt(),
    }
    indexes = (Index(("name",), "a queue by its name; no two are one", unique=True),)
    tables = (QUEUE_MESSAGE,)
    subtotals = Subtotals(search=("fieldset", "links", "watchers"))

    def after_delete(self, record: Record, writing: Writing) -> None:
        writing.tx.delete(QUEUE_MESSAGE, queue_id=record["id"])
