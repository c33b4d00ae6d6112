"""Queues: named places where automations leave messages for one another. The messages are not records."""

from server.automation.types.queue_parts.messages import QUEUE_MESSAGE
from server.fields.text import Text
from server.fields.time import Timestamp
from server.records.base import Access, Record, RecordType, Subtotals, Writing
from server.search.filters.date import DateFilter
from server.search.filters.number import NumberFilter
from server.search.filters.text import AllWords, TextFilter
from server.store.tables import Index


class Queue(RecordType):
    """A named queue. Source: Ours."""

    uri, context = "queue", "svc.contexts.queue"
    aliases = ("queues",)
    label_names = ("Queue", "Queues")
    tier = 3
    lookup = "name"
    features = frozenset(("comments", "custom_fields", "links", "search", "watchers"))
    access = Access(read="any worker", create=("privilege",), update=("admins",), delete=("admins",))
    is_administrative = True
    fields = {
        "created_at": Timestamp("When the record was made; now when omitted.", auto="now"),
        "name": Text(
            "Name that no other queue has, of letters, digits, dots and underscores; also the label.",
            required=True,
            unique=True,
            pattern=r"[A-Za-z0-9._]*",
        ),
        "updated_at": Timestamp(
            "Last change; set to now on every write unless it is sent.", auto="now", auto_update="now"
        ),
    }
    indexes = (Index(("name",), "a queue by its name; no two are one", unique=True),)
    tables = (QUEUE_MESSAGE,)
    filters = (
        AllWords("Bare words are looked for in the name.", "name", "partial"),
        DateFilter("created", "When the record was made.", "created_at"),
        NumberFilter("id", "Record id.", "id"),
        TextFilter("name", "Name of the queue.", "name", "partial"),
        DateFilter("updated", "Last change.", "updated_at"),
    )
    subtotals = Subtotals(search=("fieldset", "links", "watchers"))

    def after_delete(self, record: Record, writing: Writing) -> None:
        writing.tx.delete(QUEUE_MESSAGE, queue_id=record["id"])
