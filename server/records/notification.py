"""DOC"""

from server.fields.flag import Bit
from server.fields.link import ContextName, Id
from server.fields.structure import Structure
from server.fields.text import Text
from server.fields.time import Timestamp
from server.records.base import Access, Key, Nested, RecordType, Subtotals
from server.search.filters.date import DateFilter
from server.search.filters.deep import DeepFilter
from server.search.filters.flag import FlagFilter
from server.search.filters.number import ChooserFilter, NumberFilter
from server.search.filters.text import AllWords, TextFilter
from server.search.filters.ways import Behind


class Notification(RecordType):
    """DOC"""

    uri, context = "notification", "svc.contexts.notification"
    aliases = ("notifications", "alert", "alerts")
    label_names = ("Notification", "Notifications")
    tier = 2
    features = frozenset(("links", "search",))
    access = Access(
        read="any worker (source); ours: its worker and admins",
        create="priv; worker_id must be the caller unless admin",
        update="its worker or admin",
        delete="priv + its worker or admin",
    )
    fields = {
        "activity_point": Text("Event id, or custom.other.", required=True),
        "created": Timestamp("When it was raised; now when omitted.", auto="now"),
        "is_read": Bit("Seen by the worker."),
        "params": Structure("Entry body {message, variables, urls} as in activity_log.", required=True, shown=False),
        "target__context": ContextName("Record type it is about.", shown=False),
        "target_id": Id("Id of the record it is about.", target_from="target__context", shown=False),
        "worker_id": Id("Worker notified.", "worker", required=True, alternatives=("assignee_id",), shown=False),
    }
    nested = (
        Nested("assignee", "worker", "Worker notified.", column="worker_id"),
        Nested("target", "*", "Record it is about."),
    )
    keys = (
        Key("event_json", "text", "Entry body as JSON text."),
        Key("message", "text", "The entry as text."),
        Key("message_html", "text", "The entry as HTML."),
        Key("url", "url", "Where it leads."),
        Key("url_markread", "url", "Address that marks it read and forwards."),
    )
    filters = (
        AllWords("Bare words match `activity_point`.", "activity_point", "partial"),
        TextFilter("activity", "Exact activity point id; sets allowed.", "activity_point", "exact"),
        DateFilter("created", "When the record was made.", "created"),
        NumberFilter("id", "Record id.", "id"),
        FlagFilter("isRead", "Seen by the worker.", "is_read"),
        DeepFilter("worker", "For a matching worker.", "worker", Behind("worker_id")),
        ChooserFilter("worker.id", "By id; comparison and sets as for numbers.", "worker_id", target="worker"),
    )
    subtotals = Subtotals(
        search=("activity", "isRead", "worker.id"),
        aliases={"worker": "worker.id"},
    )
    has_links_filter = False
    has_url = False
