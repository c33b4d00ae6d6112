"""DOC"""

from server.fields.link import ContextName, Id
from server.fields.structure import Structure
from server.fields.text import Text
from server.fields.time import Timestamp
from server.records.base import Access, Key, Nested, RecordType, Subtotals
from server.search.filters.date import DateFilter
from server.search.filters.links import TypeFilter
from server.search.filters.number import NumberFilter
from server.search.filters.text import AllWords, TextFilter


class ActivityLog(RecordType):
    """DOC"""

    uri, context = "activity_log", "svc.contexts.activity_log"
    aliases = ("activity log", "activity logs", "log", "logs", "activity", "activities", "audit log", "audit logs")
    label_names = ("Activity Log", "Activity Logs")
    features = frozenset(("search",))
    access = Access(
        read="any worker",
        create="admin",
        update="admin",
        delete="admin",
    )
    fields = {
        "activity_point": Text("Event id, one of the activity events list, or custom.other.", 128, required=True),
        "actor__context": ContextName("Record type of who did it.", required=True, shown=False),
        "actor_id": Id("Id of who did it.", required=True, target_from="actor__context", shown=False),
        "created": Timestamp("When it happened; now when omitted.", auto="now"),
        "params": Structure("Entry body: {message, variables, urls}; `{{placeholder}}` in the message is filled from variables. Not a map: ignored or an error.", 16777215, required=True),
        "target__context": ContextName("Record type it happened to.", required=True, shown=False),
        "target_id": Id("Id of what it happened to.", required=True, target_from="target__context", shown=False),
    }
    nested = (
        Nested("actor", "*", "Who did it."),
        Nested("target", "*", "What it happened to."),
    )
    keys = (
        Key("event", "text", "Readable name of the activity point."),
    )
    filters = (
        AllWords("Bare words match `activity_point`.", "activity_point", "prefix"),
        TextFilter("activity", "Exact activity point id; sets allowed.", "activity_point", "exact"),
        TypeFilter("actor", "Actor is of these record types.", "actor"),
        DateFilter("created", "When the record was made.", "created"),
        NumberFilter("id", "Record id.", "id"),
        TypeFilter("target", "Target is of these record types.", "target"),
    )
    subtotals = Subtotals(
        search=("activity", "actor", "target"),
        virtual=("actor", "actor.type", "target", "target.type"),
    )
    has_url = False
