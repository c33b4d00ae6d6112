"""Custom fields and fieldsets of records; record_types/shared/custom/ handles their values."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from server.errors import Mistakes
from server.fields import CustomValues, Field, Intake
from server.record_types.parts import Change, Expand, Reading, Record, Writing
from server.record_types.shared import custom
from server.record_types.shared.record_owners import WORKER
from server.record_types.shared.relation_tables import CUSTOM_VALUE, FIELDSET_USE
from server.record_types.traits.trait import Exported, Trait
from server.search.filters import DeepFilter, Filter, HasManyThrough

if TYPE_CHECKING:
    from server.record_types.record_type import RecordType
    from server.search.compile import SearchScope
    from server.store.transaction import Transaction

Values = Iterable[tuple[custom.FieldDefinition, custom.ValueSetChange]]

PATTERN = "<custom field>"
POINT = "custom.other"  # a changed field notifies one worker and writes no entry, so it has no activity point
CHOSEN = "{{actor}} chose {{worker}} as {{field}} of {{target}}"


class CustomFields(Trait):
    """Fields that administrators add, and fieldsets."""

    name = "custom_fields"
    tables = (CUSTOM_VALUE,)
    sorts = (PATTERN,)
    state = ("custom_",)

    # -- declaration ------------------------------------------------------------------------------------------------

    def fields(self) -> dict[str, Field]:
        return {"custom_<id>": CustomValues("The value of a custom field, by its id or its uri.")}

    def expands(self, record_type: "RecordType") -> list[Expand]:
        by_id, by_uri = custom.load_by_id(record_type), custom.load_by_uri(record_type)
        return [
            Expand("custom_", "map", "`custom` and every `custom_<id>`.", by_id, "", common=True),
            Expand("customfields", "array", "Custom values under their uris.", by_uri, "", common=True),
        ]

    def expand_named(self, record_type: "RecordType", path: str, tx: "Transaction") -> str:
        if not custom.definitions(tx).named(record_type.context, path):
            return ""
        return "custom_" if path.startswith("custom_") else "customfields"

    def filters(self, record_type: "RecordType") -> list[Filter]:
        if not record_type.has_fieldset_filter:
            return []
        way = HasManyThrough("fieldset_use", "record_id", "fieldset_id", (("context", record_type.context),))
        return [DeepFilter("fieldset", "Has a matching custom fieldset.", "custom_fieldset", way)]

    def filter_named(self, record_type: "RecordType", name: str, scope: "SearchScope") -> Filter | None:
        return custom.filter_named(record_type, name, scope)

    def filter_patterns(self) -> list[dict[str, Any]]:
        note = "One filter for each custom field."
        return [{"name": PATTERN, "type": "by custom field", "default": False, "sortable": True, "note": note}]

    # -- writing ----------------------------------------------------------------------------------------------------

    def take(self, record_type: "RecordType", sent: dict[str, Any], reading: Reading) -> Any:
        return custom.take(reading.tx, record_type, sent)

    def coerce(self, submitted: Any, change: Change, intake: Intake, mistakes: Mistakes) -> None:
        values = []
        for field, name, raw in submitted:
            with mistakes.collect():
                values.append((field, custom.coerce(field, name, raw, intake)))
        if values:
            change.extras[self.name] = values

    def write(self, change: Change, writing: Writing) -> None:
        record_type, id, extras = change.type, change.id, change.extras
        if self.name in extras:
            before = self._logged(change, writing)
            write_values(writing, record_type, id, extras[self.name])
            after = self._logged(change, writing)
            changed = {each for each in after if after[each] != before[each]}
            change.also_changed += [field.name for field, _ in extras[self.name] if field.id in changed]
        for adds, fieldset_id in extras.get("fieldsets", ()):
            use = {"context": record_type.context, "record_id": id, "fieldset_id": fieldset_id}
            if adds:
                writing.tx.add(FIELDSET_USE, use)
            else:
                writing.tx.delete(FIELDSET_USE, **use)

    def _logged(self, change: Change, writing: Writing) -> dict[int, Any]:
        """The values of the submitted fields, if the activity log records updates of this type."""
        if change.is_create or "update" not in change.type.acts:
            return {}
        fields = [field for field, _ in change.extras[self.name]]
        values = custom.values_of(writing.tx, fields, [{"id": change.id}])[change.id]
        return {field.id: values.get(field.id) for field in fields}

    def listeners(self, context: str, id: int, tx: "Transaction") -> set[int]:
        return custom.notified_workers(tx, context, id)

    def remove(self, record_type: "RecordType", record: Record, writing: Writing) -> None:
        tx, context, id = writing.tx, record_type.context, record["id"]
        fields = [field.id for field in custom.definitions(tx).fields_of(context)]
        for field_id in (*fields, *custom.deleted_fields_of(tx, context)):  # deleted fields may be restored
            tx.delete(CUSTOM_VALUE, field_id=field_id, record_id=id)
        tx.delete(FIELDSET_USE, context=context, record_id=id)

    # -- export -----------------------------------------------------------------------------------------------------

    def export(self, tx: "Transaction", record_type: "RecordType", records: list[Record]) -> Exported:
        fields = {each.id: each for each in custom.definitions(tx).fields_of(record_type.context)}
        for id, values in custom.values_of(tx, list(fields.values()), records).items():
            dictionary = {
                f"custom_{each}": custom.shown_value(fields[each], field_values)
                for each, field_values in values.items()
            }
            if dictionary:
                yield id, {"custom": dictionary}


def write_values(writing: Writing, record_type: "RecordType", id: int, values: Values) -> None:
    """Stores checked values of an existing record, and notifies workers who were chosen by them."""
    for field, coerced in values:
        before = custom.values_of(writing.tx, [field] if field.notifies_worker else [], [{"id": id}])[id]
        custom.write(writing, record_type, id, field, coerced)
        if field.notifies_worker:
            for worker_id in set(coerced.values) - set(before.get(field.id, ())):
                worker, target = writing.label(WORKER, worker_id), writing.label(record_type.context, id)
                variables = {"worker": worker, "field": field.name, "target": target}
                writing.notify(worker_id, POINT, CHOSEN, record_type.context, id, variables)
