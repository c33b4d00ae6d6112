"""Calls: telephone calls that were received or made."""

from server.fields.flag import Bit
from server.fields.text import Text
from server.fields.time import Timestamp
from server.records.base import Access, Change, Event, RecordType, Subtotals, Writing
from server.records.shared.comment_text import comment_words
from server.search.filters.date import DateFilter
from server.search.filters.flag import FlagFilter
from server.search.filters.number import NumberFilter
from server.search.filters.text import AllWords, TextFilter
from server.store.tables import Index


class Call(RecordType):
    """A telephone call: who was on the line and what it was about. Source: Records; its fields are ours."""

    uri, context = "call", "svc.contexts.call"
    plugin = "svc.calls"
    aliases = ("calls",)
    label_names = ("Call", "Calls")
    features = frozenset(("comments", "custom_fields", "links", "search", "watchers"))
    access = Access(read="any worker", create=("privilege",), update=("privilege",), delete=("privilege",))
    fields = {
        "created": Timestamp("When the call took place; now when omitted.", auto="now"),
        "is_closed": Bit("Dealt with."),
        "is_outgoing": Bit("0 received, 1 made."),
        "phone": Text("Number of the other side.", 128),
        "subject": Text("What it was about; also the label.", required=True),
        "updated": Timestamp(
            "Last change; set to now on every write unless it is sent.", auto="now", auto_update="now"
        ),
    }
    indexes = (
        Index(("created",), "the newest calls"),
        Index(("phone",), "the calls of a number"),
    )
    filters = (
        AllWords("Bare words are looked for in the subject.", "subject", "partial"),
        comment_words("svc.contexts.call", "Words in the comments on the call."),
        DateFilter("created", "When the call took place.", "created"),
        NumberFilter("id", "Record id.", "id"),
        FlagFilter("isClosed", "Dealt with.", "is_closed"),
        FlagFilter("isOutgoing", "Made, not received.", "is_outgoing"),
        TextFilter("phone", "Number of the other side.", "phone", "partial"),
        TextFilter("subject", "What it was about.", "subject", "partial"),
        DateFilter("updated", "Last change.", "updated"),
    )
    subtotals = Subtotals(search=("fieldset", "isClosed", "isOutgoing", "links", "watchers"))
    events = (Event("call_entry.created", "created"),)
    label_column = "subject"

    def after_write(self, change: Change, writing: Writing) -> None:
        if change.is_create:
            writing.log("call_entry.created", self.context, change.id, {"target": change.value("subject")})
