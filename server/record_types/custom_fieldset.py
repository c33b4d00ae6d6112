"""Custom fieldsets: groups of custom fields, which apply only to the records they are attached to."""

from typing import Any

from server.errors import Invalid
from server.fields import ContextName, Name, UpdatedAt
from server.record_types.record_type import (
    Access,
    Change,
    DictionaryContext,
    Expand,
    Record,
    RecordType,
    Subtotals,
    Writing,
)
from server.record_types.shared import maps, record_owners
from server.record_types.shared.relation_tables import FIELDSET_USE
from server.record_types.traits import Comments, Links, Search
from server.store.statements import slot
from server.store.tables import Index, table_named

FIELDS = "custom_field"


def load_fields(view: DictionaryContext, records: list[Record], form: str) -> dict[int, dict[str, Any]]:
    """`custom_fields`: the fields of the set as a list."""
    pairs = maps.pairs_behind(view, FIELDS, "custom_fieldset_id", records)
    fields = maps.by_id(view, FIELDS, {id for _, id in pairs})
    by_fieldset: dict[int, list[dict[str, Any]]] = {record["id"]: [] for record in records}
    for fieldset_id, field_id in pairs:
        if field_id in fields:
            by_fieldset[fieldset_id].append(fields[field_id])
    return {
        id: {"custom_fields": sorted(dictionaries, key=lambda each: each["pos"])}
        for id, dictionaries in by_fieldset.items()
    }


class CustomFieldset(RecordType):
    """A named set of custom fields for records of one type, with an owner."""

    uri = "custom_fieldset"
    aliases = ("custom fieldset", "custom fieldsets", "fieldset", "fieldsets")
    traits = (Comments(), Links(), Search())
    access = Access(read="owner", write=("privilege", "owner"))
    is_administrative = True
    fields = {
        "context": ContextName(
            "Record type it is for; cannot be changed while it has fields.",
            required=True,
            filter_note="Record type, by any of its names.",
        ),
        "name": Name("Fieldset name; also the label."),
        **record_owners.fields(),
        "updated_at": UpdatedAt(),
    }
    indexes = (Index(("context",), "the fieldsets of a record type"),)
    bumps = {"fields": ()}
    expands = (Expand("custom_fields", "records", "The fields of the set, as a list.", load_fields, FIELDS),)
    subtotals = Subtotals(search=("context", "links", "owner"), virtual=("owner",))

    def privileged(self, change: Change, writing: Writing) -> None:
        record_owners.require(change, writing)

    def prepare(self, change: Change, writing: Writing) -> None:
        record_owners.check(change, writing)
        if not change.is_create and change.changes("context") and writing.find(FIELDS, custom_fieldset_id=change.id):
            raise Invalid("context: cannot be changed while the fieldset has fields", field="context")

    def after_delete(self, record: Record, writing: Writing) -> None:
        for field_id in self._field_ids(record["id"], writing):
            writing.delete(FIELDS, field_id)
        writing.tx.delete(FIELDSET_USE, fieldset_id=record["id"])

    def _field_ids(self, id: int, writing: Writing) -> list[int]:
        field: Any = table_named(FIELDS)
        rows = writing.tx.rows(
            lambda: field.select(field.c.id).where(field.c.custom_fieldset_id == slot(0)),
            (id,),
        )
        return [row[0] for row in rows]
