"""Calls: received and outgoing telephone calls."""

from server import contexts
from server.fields import Bit, CreatedAt, Name, Text, UpdatedAt
from server.record_types.record_type import Access, Change, Event, RecordType, Subtotals, Writing
from server.record_types.shared.comment_text import comment_words
from server.record_types.traits import Comments, CustomFields, Links, Search, Watchers
from server.store.tables import Index


class Call(RecordType):
    """A telephone call, with its participant and subject."""

    uri = "call"
    plugin = "svc.calls"
    traits = (Comments(), CustomFields(), Links(), Watchers(), Search())
    access = Access(read="any worker", write=("privilege",))
    fields = {
        "created": CreatedAt("When the call took place; now when omitted."),
        "is_closed": Bit("Dealt with."),
        "is_outgoing": Bit("0 received, 1 made.", filter_note="Outgoing, not incoming."),
        "phone": Text("Phone number of the other party.", 128),
        "subject": Name("Subject of the call; also the label."),
        "updated": UpdatedAt(),
    }
    indexes = (
        Index(("created",), "the newest calls"),
        Index(("phone",), "the calls of a number"),
    )
    filters = (comment_words(contexts.CALL, "Words in the comments on the call."),)
    subtotals = Subtotals(search=("fieldset", "isClosed", "isOutgoing", "links", "watchers"))
    events = (Event("call_entry.created", "created"),)
    label_column = "subject"

    def after_write(self, change: Change, writing: Writing) -> None:
        if change.is_create:
            writing.log("call_entry.created", self.context, change.id, {"target": change.value("subject")})
