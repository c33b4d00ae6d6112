"""Operations on custom fields besides those of every record: order, usage counts, renaming of options, unused names."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

import peewee

from server.context import Context
from server.errors import Conflict, Invalid, NotFound
from server.record_types.parts import Record
from server.record_types.record_type import RecordType
from server.record_types.shared.custom import definitions
from server.record_types.shared.custom.definitions import KIND_SETTINGS, FieldDefinition
from server.record_types.shared.relation_tables import CUSTOM_VALUE, FIELDSET_USE, is_line
from server.records.writing import RecordWriter
from server.store.expressions import is_exactly, listed_values
from server.store.statements import in_list, slot
from server.store.tables import Table
from server.store.transaction import Transaction

MAX_ORDERED = 101  # fields of a type or fieldset that can be ordered: positions are 0 to 100
MAX_COUNTED = 10_000  # records with a value of a field; the count stops there
MAX_SUFFIX = 1000  # numbers tried as a suffix of a name in use
URI = "custom_field"


def all_fields(ctx: Context) -> dict[str, tuple[FieldDefinition, ...]]:
    """{context: fields} of every type; fields are in order."""
    return ctx.service.store.read(lambda tx: definitions(tx).by_context)


def fields_on(ctx: Context, record_type: RecordType, fieldsets: Iterable[int]) -> list[FieldDefinition]:
    """Returns the fields that every record of a type has, and those of some fieldsets."""
    defined = all_fields(ctx).get(record_type.context, ())
    return [each for each in defined if not each.fieldset_id or each.fieldset_id in fieldsets]


def uses(ctx: Context, field_ids: Iterable[int]) -> dict[int, int]:
    """{field id: number of records with a value}; MAX_COUNTED + 1 stands for more than MAX_COUNTED."""

    def build() -> Any:
        table: Any = CUSTOM_VALUE.sql
        fields = listed_values(slot(0), "INTEGER", "asked")
        some = table.select(table.record_id).where(table.field_id == fields.each, table.place == 0).limit(slot(1))
        return peewee.Select((fields,), (fields.each, peewee.Select((some,), (peewee.fn.COUNT(some.c.record_id),))))

    ids = json.dumps(list(field_ids))
    return dict(ctx.service.store.read(lambda tx: tx.rows(build, (ids, MAX_COUNTED + 1))))


def attached(ctx: Context, fieldset_ids: Iterable[int]) -> dict[int, int]:
    """{fieldset id: number of records it is attached to}, without unused fieldsets."""
    table: Any = FIELDSET_USE.sql
    return dict(
        ctx.service.store.read(
            lambda tx: tx.rows(
                lambda: (
                    table.select(table.fieldset_id, peewee.fn.COUNT(table.record_id))
                    .where(in_list(table.fieldset_id, slot(0)))
                    .group_by(table.fieldset_id)
                ),
                (json.dumps(list(fieldset_ids)),),
            )
        )
    )


def move(ctx: Context, id: int, by: int) -> None:
    """Moves a field up (-1) or down (1) among the fields of its type and fieldset. Raises NotFound, Forbidden,
    Conflict."""

    def write(tx: Transaction) -> None:
        writing = RecordWriter(ctx, tx)
        field = _field(writing, id)
        order = [
            each
            for each in definitions(tx).fields_of(field["context"])
            if each.fieldset_id == field["custom_fieldset_id"]
        ]
        if len(order) > MAX_ORDERED:
            raise Conflict(f"at most {MAX_ORDERED} fields can be put in order; make a fieldset of some of them")
        place = next(number for number, each in enumerate(order) if each.id == id)
        other = min(max(place + by, 0), len(order) - 1)
        order.insert(other, order.pop(place))
        for number, each in enumerate(order):
            if each.pos != number:
                writing.update_sent(writing.registry.type(URI), each.id, {"pos": str(number)})

    ctx.service.store.write(write)


def rename_option(ctx: Context, id: int, old: str, new: str) -> int:
    """Renames an option of a field, and in all values that chose it; returns the number of values. Raises NotFound,
    Forbidden, Invalid, and Conflict if another option has the new name."""
    new = new.strip()

    def write(tx: Transaction) -> int:
        writing = RecordWriter(ctx, tx)
        field = _field(writing, id)
        options = list(field["params"].get("options") or [])
        if old not in options:
            raise Invalid(f"'{old[:80]}' is not one of the options", field="option")
        if not new:
            raise Invalid("enter the new name", field="new_name")
        if new.lower() in (each.lower() for each in options if each != old):
            raise Conflict(f"the option '{new[:80]}' already exists", field="new_name")
        renamed = [new if each == old else each for each in options]
        writing.update_sent(writing.registry.type(URI), id, {"params": field["params"] | {"options": renamed}})
        variables = {"target": str(field["name"]), "old": old, "new": new}
        writing.log("custom_field.option.renamed", writing.registry.type(URI).context, id, variables)
        table: Any = CUSTOM_VALUE.sql
        return tx.run(
            lambda: table.update({table.text: slot(0)}).where(
                table.field_id == slot(1), table.text == slot(2), is_line(table), is_exactly(table.text, slot(2))
            ),
            (new, id, old),
        )

    return ctx.service.store.write(write)


def free_uri(tx: Transaction, table: Table, text: str) -> str:
    """Returns an unused uri derived from the text. table: of custom fields."""
    stem = "".join(each if each.isascii() and each.isalnum() else "_" for each in text.lower())[:100]
    if not stem[:1].isalpha() or stem.startswith("custom_"):
        stem = f"field_{stem}"
    names = [stem, *(f"{stem}_{number}" for number in range(2, MAX_SUFFIX))]
    return next((name for name in names if tx.first(table, uri=name) is None), stem)


def _field(writing: RecordWriter, id: int) -> Record:
    field = writing.record(URI, id)
    if field is None:
        raise NotFound(f"there is no custom field {id}")
    return field


def new_field(ctx: Context, context: str, kind: str, texts: Mapping[str, str]) -> dict[str, Any]:
    """Returns what a new field is stored with besides its name: after all fields of its type, under an unused uri
    unless it has one. texts: as typed. Raises AdminOnly."""
    ctx.require_admin("send custom fields")
    table = ctx.service.registry.type(URI).table
    last = max((each.pos + 1 for each in all_fields(ctx).get(context, ())), default=0)
    uri = texts.get("uri", "").strip()
    return {
        "context": context,
        "type": kind,
        "uri": uri or ctx.service.store.read(lambda tx: free_uri(tx, table, texts.get("name", "").strip())),
        "params": settings_of(kind, texts),
        "pos": str(min(last, MAX_ORDERED - 1)),
        "custom_fieldset_id": texts.get("custom_fieldset_id", "").strip() or "0",
    }


def settings_of(kind: str, texts: Mapping[str, str]) -> dict[str, Any]:
    """Returns the settings of a kind of field. texts: as typed; options are lines."""
    settings: dict[str, Any] = {name: texts.get(name, "").strip() for name in KIND_SETTINGS.get(kind, ())}
    if "options" in settings:
        settings["options"] = [line.strip() for line in settings["options"].splitlines() if line.strip()]
    if "send_notifications" in settings:
        settings["send_notifications"] = "1" if settings["send_notifications"] == "1" else "0"
    return settings
