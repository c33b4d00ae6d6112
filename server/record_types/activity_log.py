"""The activity log: who did what to which record, and when. shared/points.py declares the kinds of entries."""

from server.errors import Forbidden
from server.fields import ContextName, CreatedAt, Id, Structure, Text
from server.record_types.record_type import Access, Change, Key, Record, RecordType, Subtotals, Writing
from server.record_types.shared import entries
from server.record_types.shared.points import ADMINISTRATIVE, POINTS
from server.record_types.traits import Search
from server.search.filters import AllWords, RareFlagFilter, TypeFilter
from server.store.tables import Column, Index


def event_name(record: Record) -> str:
    """The display name of the activity event of an entry."""
    point = POINTS.get(record["activity_point"])
    return point.name if point else str(record["activity_point"])


class ActivityLog(RecordType):
    """An event that happened: an actor, a target, and a sentence with placeholders."""

    uri = "activity_log"
    is_silent = True
    aliases = (
        "activity log",
        "activity logs",
        "log",
        "logs",
        "activity",
        "activities",
        "audit log",
        "audit logs",
    )
    traits = (Search(),)
    access = Access(read="target", write=("admins",))
    is_log = True
    fields = {
        "activity_point": Text(
            "Id of the activity event, or custom.other.",
            128,
            required=True,
            filter="activity",
            filter_note="Exact id of the activity event; lists are allowed.",
            match="exact",
        ),
        "actor__context": ContextName("Record type of the actor.", required=True, shown=False),
        "actor_id": Id(
            "Id of the actor; 0 for the service.",
            required=True,
            target_from="actor__context",
            zero_ok=True,
            nested_note="The actor.",
        ),
        "created": CreatedAt("When it happened; now when omitted."),
        "params": Structure(
            "What happened: {message, variables, urls}. `{{placeholder}}` in the message is filled from the variables; "
            "urls turn them into links.",
            16777215,
            required=True,
        ),
        "target__context": ContextName("Record type of the target.", required=True, shown=False),
        "target_id": Id(
            "Id of the target; 0 for the service.",
            required=True,
            target_from="target__context",
            zero_ok=True,
            nested_note="The target.",
        ),
    }
    columns = (
        Column("about__context", "TEXT"),
        Column("about_id"),  # a second record named in the entry
        Column("is_administrative"),  # visible to administrators, the actor and the worker concerned
    )
    indexes = (
        Index(("target__context", "target_id", "created"), "what happened to a record"),
        Index(("actor__context", "actor_id", "created"), "what somebody did"),
        Index(("created",), "the newest entries, and clearing out old ones"),
        Index(
            ("is_administrative", "created"),
            "the newest administrative acts, among many other entries",
            where="is_administrative = 1",
        ),
    )
    keys = (Key("event", "text", "Name of the event.", value=lambda record, view: event_name(record)),)
    filters = (
        AllWords("Bare words are searched in the activity event's id.", "activity_point", "prefix"),
        TypeFilter("actor", "The actor is of one of these record types.", "actor"),
        RareFlagFilter("administrative", "Is about the setup or administration of the service.", "is_administrative"),
        TypeFilter("target", "The target is of one of these record types.", "target"),
    )
    subtotals = Subtotals(
        search=("activity", "actor", "target"), virtual=("actor", "actor.type", "target", "target.type")
    )
    label_column = "activity_point"
    has_url = False

    def label(self, record: Record) -> str:
        return entries.one_line(record["params"]) or super().label(record)

    def prepare(self, change: Change, writing: Writing) -> None:
        if "activity_point" in change.new:
            change.new["activity_point"] = change.new["activity_point"].lower()
        if change.was("is_administrative") or change.value("activity_point") in ADMINISTRATIVE:
            raise Forbidden("only the service writes entries of administrative acts, and they cannot be changed")
