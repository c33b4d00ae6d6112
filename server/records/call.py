"""DOC"""

from server.fields.flag import Bit
from server.fields.text import Text
from server.fields.time import Timestamp
from server.records.base import Access, Event, RecordType, Subtotals
from server.search.filters.date import DateFilter
from server.search.filters.flag import FlagFilter
from server.search.filters.fulltext import WordsFilter
from server.search.filters.number import NumberFilter
from server.search.filters.text import AllWords, TextFilter


class Call(RecordType):
    """DOC"""

    uri, context = "call", "svc.contexts.call"
    aliases = ("calls",)
    label_names = ("Call", "Calls")
    features = frozenset(("comments", "custom_fields", "links", "search", "watchers",))
    access = Access(
        read="any worker",
        create="priv",
        update="priv",
        delete="priv",
    )
    fields = {
        "created": Timestamp("When the call took place; now when omitted (ours).", auto="now"),
        "is_closed": Bit("Dealt with."),
        "is_outgoing": Bit("0 received, 1 made."),
        "phone": Text("Other party's number.", 128),
        "subject": Text("What it was about; also the label.", required=True),
        "updated": Timestamp("Last change; set to now on every write unless sent (ours).", auto="now", auto_update="now"),
    }
    filters = (
        AllWords("Bare words match `subject`.", "subject", "partial"),
        WordsFilter("comments", "Text of comments on the call.", INDEX),
        DateFilter("created", "When the record was made.", "created"),
        NumberFilter("id", "Record id.", "id"),
        FlagFilter("isClosed", "Dealt with.", "is_closed"),
        FlagFilter("isOutgoing", "0 received, 1 made.", "is_outgoing"),
        TextFilter("phone", "Other party's number.", "phone", "partial"),
        TextFilter("subject", "What it was about.", "subject", "partial"),
        DateFilter("updated", "Last change.", "updated"),
    )
    subtotals = Subtotals(
        search=("fieldset", "isClosed", "isOutgoing", "links", "watchers"),
    )
    events = (
        Event("call_entry.created", "created"),
    )
    label_column = "subject"
