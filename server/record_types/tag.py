"""Tags: words on tickets, contacts and organizations. A former name of a tag still finds it, so that saved searches and
macros outlive a rename."""

from typing import Any

from server.errors import Conflict
from server.fields import CreatedAt, Name, Text, UpdatedAt
from server.record_types.record_type import (
    Access,
    Change,
    DictionaryContext,
    Event,
    Expand,
    Loader,
    Record,
    RecordType,
    Subtotals,
    Writing,
)
from server.record_types.shared import tags
from server.record_types.shared.collections import ids_text
from server.record_types.shared.relation_tables import CONTACT_TAG, ORG_TAG, TAG_NAME, TAGGED, TICKET_TAG
from server.record_types.traits import Exported, Search, together
from server.store.statements import in_list, slot
from server.store.tables import Index, Table
from server.store.transaction import Transaction
from server.translation import about_field, lazy_gettext

COLORS = ("gray", "red", "orange", "green", "blue", "purple")


def _load_number(key: str, table: Table) -> Loader:
    """Loads the number of records of a type that have a tag, which triggers count."""

    def load(view: DictionaryContext, records: list[Record], form: str) -> dict[int, dict[str, Any]]:
        count = table.summary_table.sql
        rows = view.tx.rows(
            lambda: count.select(count.tag_id, count.n).where(in_list(count.tag_id, slot(0))), (ids_text(records),)
        )
        counts: dict[int, int] = dict(rows)
        return {record["id"]: {key: counts.get(record["id"], 0)} for record in records}

    return load


def _number(key: str, table: Table, plural: str, reads: str) -> Expand:
    return Expand(key, "number", f"Number of {plural} that have it.", _load_number(key, table), reads=reads)


class Tag(RecordType):
    """A word that workers put on tickets, contacts and organizations. A record with an unknown tag creates it."""

    uri = "tag"
    tier = 2
    lookup = "name"
    traits = (Search(),)
    access = Access(read="any worker", write=("admins",))
    fields = {
        "color": Text("Color of its chips.", 16, default=COLORS[0], allowed=COLORS),
        "created_at": CreatedAt(),
        "name": Name(
            "Name, unique without regard to case, without commas, colons and double quotes; also the label.",
            tags.MAX_CHARS,
        ),
        "updated_at": UpdatedAt(),
    }
    events = (Event("tag.merged", "another tag was merged into it"), Event("tag.renamed", "its name changed"))
    indexes = (Index(("name",), "tags by name"),)
    subtotals = Subtotals(search=("color",))
    expands = (
        _number("num_contacts", CONTACT_TAG, "contacts", "contact"),
        _number("num_orgs", ORG_TAG, "organizations", "org"),
        _number("num_tickets", TICKET_TAG, "tickets", "ticket"),
    )
    exported_tables = (TAG_NAME,)

    def prepare(self, change: Change, writing: Writing) -> None:
        if not change.value("color"):
            change.new["color"] = COLORS[0]
        if "name" not in change.new:
            return
        name = change.new["name"] = tags.checked_name(change.new["name"], "name")
        other = writing.record(self.uri, tags.tag_id(writing.tx, name))
        if other is not None and other["id"] != change.id and tags.name_key(other["name"]) == tags.name_key(name):
            problem = lazy_gettext("there is a tag {name} already", name=other["name"])
            raise Conflict(about_field("name", problem), field="name")

    def after_write(self, change: Change, writing: Writing) -> None:
        """Adds the name to those that find the tag, also if it is a former name of another one; logs a new name."""
        if change.is_create or change.changes("name"):
            writing.tx.put(TAG_NAME, {"name_key": tags.name_key(change.value("name")), "tag_id": change.id})
        if not change.is_create and change.changes("name"):
            variables = {"target": change.value("name"), "old": change.was("name")}
            writing.log("tag.renamed", self.context, change.id, variables)

    def export(self, tx: Transaction, records: list[Record]) -> Exported:
        """Exports `found_by`: the current and former names of each tag, in lower case."""
        return together("found_by", tags.names_of(tx, records))

    def after_delete(self, record: Record, writing: Writing) -> None:
        for table in TAGGED:
            writing.tx.delete(table, tag_id=record["id"])
        writing.tx.delete(TAG_NAME, tag_id=record["id"])
