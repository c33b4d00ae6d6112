"""Tags: words on records, which all types share."""

from typing import TYPE_CHECKING, Any

from server.fields import Field, Listed
from server.record_types.parts import Change, DictionaryContext, Expand, Loader, Reading, Record, Writing
from server.record_types.shared import tags
from server.record_types.shared.relation_tables import TAG_NAME
from server.record_types.traits.trait import Exported, Trait, together
from server.search.filters import Filter, HasManyThrough, NamedFilter
from server.store.tables import Table
from server.store.transaction import Transaction

if TYPE_CHECKING:
    from server.record_types.record_type import RecordType

CHANGED = "tags changed"  # key of change.extras, after tags were added or removed


class Tags(Trait):
    """Tags of a type. table: see shared/tags.py. point: the beginning of its two activity points."""

    name = "tags"
    state = ("tags",)

    def __init__(self, table: Table, point: str = "record.tag") -> None:
        self.table = table
        self.tables = (table,)
        self.point = point

    def fields(self) -> dict[str, Field]:
        return {
            "tags": Listed(
                "Names of tags to add, as a list or separated by commas; a leading `-` removes. Unknown ones are "
                "created.",
                65535,
                stored=False,
                shown=False,
                origin="ours",
                alternatives=("tag_names",),
            )
        }

    def expands(self, record_type: "RecordType") -> list[Expand]:
        about = "Names of its tags, in alphabetical order."
        return [Expand("tags", "array", about, _load_names(self.table), reads="tag", origin="ours")]

    def filters(self, record_type: "RecordType") -> list[Filter]:
        way = HasManyThrough(self.table.name, self.table.names[0], "tag_id")
        about = "One of its tags by name or former name; any, none, or a query."
        return [NamedFilter("tag", about, "tag", way, names=TAG_NAME, key=tags.name_key)]

    def check(self, change: Change, reading: Reading) -> None:
        tags.read_changes(change.extras.get("tags", ""))

    def write(self, change: Change, writing: Writing) -> None:
        """Adds and removes the tags, creates unknown ones, and logs what changed unless the record is new."""
        if "tags" not in change.extras:
            return
        tx, names = writing.tx, {True: list[str](), False: list[str]()}
        for name, adds in tags.read_changes(change.extras["tags"]).items():
            id = tags.tag_id(tx, name) or (writing.create("tag", {"name": name}) if adds else 0)
            pair = {self.table.names[0]: change.id, "tag_id": id}
            if tx.add(self.table, pair) if adds else tx.delete(self.table, **pair):
                names[adds].append(writing.label("tag", id))
        change.extras[CHANGED] = any(names.values())
        for adds, act in ((True, "added"), (False, "removed")):
            if names[adds] and not change.is_create:
                variables = {
                    "tags": ", ".join(names[adds]),
                    "target": writing.label(change.type.context, change.id),
                    "target_object": change.type.label_names[0].lower(),
                }
                writing.log(f"{self.point}.{act}", change.type.context, change.id, variables)

    def remove(self, record_type: "RecordType", record: Record, writing: Writing) -> None:
        tags.remove_all(writing.tx, self.table, record["id"])

    def export(self, tx: Transaction, record_type: "RecordType", records: list[Record]) -> Exported:
        return together("tags", [(id, name) for id, name, _color in tags.rows_of(tx, self.table, records)])


def _load_names(table: Table) -> Loader:
    """Loads `tags`: the names of the tags, in alphabetical order."""

    def load(view: DictionaryContext, records: list[Record], form: str) -> dict[int, dict[str, Any]]:
        names: dict[int, list[str]] = {record["id"]: [] for record in records}
        for id, name, _color in tags.rows_of(view.tx, table, records):
            names[id].append(name)
        return {own: {"tags": each} for own, each in names.items()}

    return load
