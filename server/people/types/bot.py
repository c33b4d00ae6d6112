"""Bots: owners of older automations, the behaviors, and of other records."""

from typing import TYPE_CHECKING, Any

from server.fields import Bit, CreatedAt, Name, Structure, Text, UpdatedAt
from server.record_types.record_type import (
    Access,
    Change,
    DictionaryContext,
    Expand,
    Key,
    Record,
    RecordType,
    Subtotals,
    Writing,
)
from server.record_types.shared import maps, record_owners
from server.record_types.shared.behavior_events import exported
from server.record_types.shared.dangling_references import ids_pointing
from server.record_types.traits import Avatars, Comments, CustomFields, Links, Owner, Search, Watchers
from server.store.tables import Index

if TYPE_CHECKING:
    from server.record_types.registry import Registry

BEHAVIOR = "behavior"


def load_behaviors(shown: DictionaryContext, records: list[Record], form: str) -> dict[int, dict[str, Any]]:
    """Loads `behaviors`: {behavior id: the behavior as a package holds it}."""
    pairs = maps.pairs_behind(shown, BEHAVIOR, "bot_id", records)
    behaviors = {each["id"]: exported(each) for each in shown.records(BEHAVIOR, {id for _, id in pairs})}
    return maps.as_map("behaviors", records, pairs, behaviors)


class Bot(RecordType):
    """An owner of behaviors and other records that is not a worker. Records of a bot are accessible to those who may
    act for the bot's own owner."""

    uri, context = "bot", record_owners.BOT
    aliases = ("bots", "virtual attendant", "virtual attendants", "virtual agent", "virtual agents")
    traits = (Comments(), CustomFields(), Links(), Watchers(), Avatars(), Owner(), Search())
    access = Access(read="owner", write=("admins",))
    fields = {
        "config": Structure("Settings of the bot; set by the service.", immutable=True, is_map=True, origin="ours"),
        "created_at": CreatedAt(),
        "is_disabled": Bit(
            "Its behaviors do not run while this is 1.",
            shown=False,
            filter="disabled",
            filter_note="Its behaviors do not run.",
        ),
        "mention_name": Text("Nickname, no longer used.", filter_note="Nickname.", match="prefix"),
        "name": Name(),
        "owner__context": record_owners.context_field(
            "Record type of the owner: app, group, role or worker.", record_owners.OWNERS
        ),
        "owner_id": record_owners.id_field(),
        "updated_at": UpdatedAt(),
    }
    indexes = (Index(("owner__context", "owner_id"), "the bots of an owner"),)
    keys = (
        Key(
            "is_disabled",
            "boolean",
            "Whether its behaviors do not run, as true or false.",
            lambda record, shown: bool(record["is_disabled"]),
        ),
    )
    expands = (
        Expand(
            "behaviors", "map", "Its behaviors by id, each as a package holds it.", load_behaviors, reads="behavior"
        ),
    )
    subtotals = Subtotals(search=("disabled", "fieldset", "links", "owner", "watchers"), virtual=("owner",))

    def bind(self, registry: "Registry") -> None:
        self.registry = registry

    def prepare(self, change: Change, writing: Writing) -> None:
        record_owners.check(change, writing)

    def after_delete(self, record: Record, writing: Writing) -> None:
        for behavior_id in ids_pointing(writing.tx, BEHAVIOR, "bot_id", record["id"]):
            writing.delete(BEHAVIOR, behavior_id)
        record_owners.forget(writing, self.context, record["id"])
