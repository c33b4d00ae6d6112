"""Behaviors: the older kind of automation, a decision tree that belongs to a bot. Not run here."""

from typing import TYPE_CHECKING, Any

from server.automation.behaviors import tree
from server.contexts import APP
from server.fields import Bit, Id, Intake, Name, Structure, Text, Timestamp, Uint
from server.fields.field import as_text
from server.record_types.record_type import (
    Access,
    Change,
    DictionaryContext,
    Key,
    Record,
    RecordType,
    Subtotals,
    Writing,
)
from server.record_types.shared.behavior_events import EVENTS, event_name, refused
from server.record_types.traits import Comments, CustomFields, Links, Search, Watchers
from server.search.ast import SearchValue as Value
from server.search.conditions import Condition, all_of, equals
from server.search.filters import Filter
from server.search.values import integer
from server.store.tables import Index, table_named

if TYPE_CHECKING:
    from server.search.compile import SearchScope


def _event_name(record: Record, context: DictionaryContext) -> str:
    return event_name(record["event_point"])


class EventField(Text):
    """An event of behaviors; the error for an unsupported one names the alternative."""

    def read(self, raw: Any, intake: Intake) -> str:
        event = as_text(raw)
        if event and event not in EVENTS and len(event) <= self.max:
            raise self.bad(refused(event))
        return super().read(raw, intake)


class UsableByBotFilter(Filter):
    """Matches the behaviors that a bot may use: its own; those of bots of the service or of its own owner that are not
    private; those of all bots if it belongs to the service itself."""

    type = "virtual"
    splits_commas = True

    def __init__(self, name: str, note: str) -> None:
        super().__init__(name, note, target="bot")

    def one(self, text: Value, scope: "SearchScope") -> Condition:
        bots = scope.registry.type("bot")
        its = all_of([scope.readable(bots), equals(bots.column("id"), integer(text.value.strip()))])
        behavior, bot = self.table.sql, bots.table.sql

        def build(at: Any) -> Any:
            chosen = bot.select(bot.id).where(its.build(at))
            own, other = table_named("bot").alias("own"), table_named("bot").alias("other")
            is_shared = (
                (own.c.owner__context == APP)
                | (other.c.owner__context == APP)
                | ((own.c.owner__context == other.c.owner__context) & (own.c.owner_id == other.c.owner_id))
            )
            sharing = other.select(other.c.id).join(own, on=is_shared).where(own.c.id.in_(chosen))
            return behavior.bot_id.in_(chosen) | ((behavior.is_private == 0) & behavior.bot_id.in_(sharing))

        return Condition(("usable by bot", its.key), its.values, build)


class Behavior(RecordType):
    """A tree of decisions and actions with variables, run for a bot. Packages bring the tree and the variables."""

    uri = "behavior"
    lookup = "uri"
    traits = (Comments(), CustomFields(), Links(), Watchers(), Search())
    access = Access(read="bot", write=("privilege", "bot"))
    is_administrative = True
    fields = {
        "bot_id": Id(
            "Bot it belongs to.", "bot", required=True, filter_note="Of a bot by id.", deep="Of a matching bot."
        ),
        "event_point": EventField(
            "Event it responds to.",
            required=True,
            allowed=tuple(EVENTS),
            filter="event",
            filter_note="Exact id of the event; lists are allowed.",
            match="exact",
        ),
        "is_disabled": Bit("Does not run while this is 1.", filter="disabled", filter_note="Does not run."),
        "is_private": Bit("Only its own bot may use it.", filter="private"),
        "name": Name(),
        "nodes": Structure(
            "The tree; set by the service.", 16777215, immutable=True, is_list=True, shown=False, origin="ours"
        ),
        "priority": Uint(
            "Position among the behaviors of one event, 0 first.",
            filter_note="Position among the behaviors of one event.",
        ),
        "updated_at": Timestamp(
            "When the record was created; later writes do not change it unless it is sent.",
            auto="now",
            filter="updated",
            filter_note="When it was created, or the value sent since.",
        ),
        "uri": Text(
            "A unique short name: letters, digits and underscores.",
            128,
            unique=True,
            blank_ok=True,
            pattern="[A-Za-z0-9_]*",
            match="exact",
        ),
        "variables": Structure(
            "Its variables by key var_<name>: type, label, is_private, params; set by the service.",
            16777215,
            immutable=True,
            is_map=True,
            origin="ours",
        ),
    }
    indexes = (
        Index(("bot_id",), "the behaviors of a bot"),
        Index(("uri",), "a behavior by its short name"),
    )
    keys = (Key("event_point_name", "text", "Name of the event.", _event_name),)
    filters = (UsableByBotFilter("usableBy.bot", "The bot with this id may use it."),)
    subtotals = Subtotals(
        search=("bot.id", "disabled", "event", "fieldset", "links", "priority", "private"), aliases={"bot": "bot.id"}
    )

    def prepare(self, change: Change, writing: Writing) -> None:
        """Requires that the behavior can be run. Raises Invalid that names the node or the variable."""
        if "nodes" in change.new:
            tree.tree(change.value("nodes"))
        if "variables" in change.new:
            tree.variables(change.value("variables"))
