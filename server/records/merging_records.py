"""Moves the data of a record to another one when the two are merged: comments, files, links, watchers, tags, custom
values and references to the record. Access is checked by the caller."""

import json
from typing import Any

from server.fields import Id
from server.record_types.record_type import Record, RecordType
from server.record_types.shared import custom, tags
from server.record_types.shared.dangling_references import redirect
from server.record_types.shared.relation_tables import ATTACHED, CUSTOM_VALUE, FIELDSET_USE, LINK
from server.record_types.traits import Tags
from server.record_types.traits.links import mark_linked
from server.records.reading import RecordReader
from server.records.writing import RecordWriter
from server.search.conditions import ALWAYS, NEVER, slots_from
from server.store.statements import in_list, slot
from server.store.tables import table_named
from server.store.transaction import Transaction


def move_data(writing: RecordWriter, record_type: RecordType, old: int, new: int) -> None:
    """Moves comments, files, links and watchers of one record to another record of its type."""
    context, tx = record_type.context, writing.tx
    writing.touch("comment", target__context=context, target_id=old)
    comments: Any = writing.registry.type("comment").table.sql
    tx.run(
        lambda: comments.update({comments.target_id: slot(0)}).where(
            comments.target__context == slot(1), comments.target_id == slot(2)
        ),
        (new, context, old),
    )
    for row in tx.find(ATTACHED, context=context, record_id=old):
        tx.add(ATTACHED, {"attachment_id": row[0], "context": context, "record_id": new})
    tx.delete(ATTACHED, context=context, record_id=old)
    _move_links(tx, context, old, new)


def move_custom_values(writing: RecordWriter, record_type: RecordType, old: int, new: int) -> None:
    """Moves values of custom fields that the other record lacks, and the fieldsets that it lacks."""
    tx, context = writing.tx, record_type.context
    for field in custom.definitions(tx).fields_of(context):
        if tx.first(CUSTOM_VALUE, field_id=field.id, record_id=new) is None:
            for row in tx.find(CUSTOM_VALUE, field_id=field.id, record_id=old):
                tx.insert(CUSTOM_VALUE, {**dict(zip(CUSTOM_VALUE.names, row, strict=True)), "record_id": new})
            tx.delete(CUSTOM_VALUE, field_id=field.id, record_id=old)
    for row in tx.find(FIELDSET_USE, context=context, record_id=old):
        tx.add(FIELDSET_USE, {**dict(zip(FIELDSET_USE.names, row, strict=True)), "record_id": new})


def move_tags(tx: Transaction, record_type: RecordType, old: int, new: int) -> None:
    """Moves the tags of one record to another record of its type."""
    for trait in record_type.traits:
        if isinstance(trait, Tags):
            tags.move(tx, trait.table, old, new)


def referencing_columns(record_type: RecordType, reading: RecordReader) -> list[tuple[str, str]]:
    """(type, column) of all columns that reference records of this type."""
    return [
        (each.uri, name)
        for each in reading.registry
        for name, field in each.fields.items()
        if isinstance(field, Id) and field.stored and field.target == record_type.uri
    ]


def redirect_references(writing: RecordWriter, record_type: RecordType, old: int, new: int) -> None:
    """Redirects all references from one record to another: columns, and custom fields that hold records."""
    for uri, column in referencing_columns(record_type, writing):
        redirect(writing, uri, column, old, new)
    values: Any = CUSTOM_VALUE.sql
    for field in custom.definitions(writing.tx).every():
        if field.points_to(record_type, writing.registry):
            writing.tx.run(
                lambda: values.update({values.number: slot(0)}).where(
                    values.field_id == slot(1), values.number == slot(2)
                ),
                (new, field.id, old),
            )


def count_references(reading: RecordReader, record_type: RecordType, id: int, most: int) -> dict[str, int]:
    """{type: number of its records that the caller may read and that reference a record}, each counted up to `most`."""
    counts: dict[str, int] = {}
    for uri, column in referencing_columns(record_type, reading):
        pointing = reading.registry.type(uri)
        count = len(_readable_references(reading, pointing, column, id, most))
        if count:
            counts[uri] = counts.get(uri, 0) + count
    return counts


def has_hidden_references(reading: RecordReader, record_type: RecordType, id: int, most: int) -> bool:
    """Whether records that the caller may not read reference a record, by a column or a custom field. most: records
    checked per type."""
    for uri, column in referencing_columns(record_type, reading):
        pointing = reading.registry.type(uri)
        if reading.rules.readable(pointing) is ALWAYS:
            continue
        total = len(reading.tx.some(pointing.table, most, **{column: id}))
        if total > len(_readable_references(reading, pointing, column, id, most)):
            return True
    for field in custom.definitions(reading.tx).every():
        if not field.points_to(record_type, reading.registry):
            continue
        pointing = reading.registry.type(field.context)
        if reading.rules.readable(pointing) is ALWAYS:
            continue
        position = CUSTOM_VALUE.position["record_id"]
        for row in reading.tx.some(CUSTOM_VALUE, most, field_id=field.id, number=id):
            if not reading.rules.may_read(reading.tx, pointing, row[position]):
                return True
    return False


def _readable_references(
    reading: RecordReader, pointing: RecordType, column: str, id: int, most: int
) -> list[tuple[Any, ...]]:
    """The ids of records whose column is `id` and that the caller may read, at most `most`."""
    condition = reading.rules.readable(pointing)
    if condition is ALWAYS:
        return reading.tx.some(pointing.table, most, **{column: id})
    if condition is NEVER:
        return []
    table = pointing.table.sql
    return reading.tx.rows(
        lambda: (
            table.select(table.id)
            .where(condition.build(slots_from(0)), getattr(table, column) == slot(len(condition.values)))
            .limit(slot(len(condition.values) + 1))
        ),
        (*condition.values, id, most),
    )


def missing_values(record_type: RecordType, target: Record, source: Record) -> dict[str, Any]:
    """The values of the source for the fields that are empty in the target, by field."""
    return {
        name: source[name]
        for name, field in record_type.fields.items()
        if field.stored and name in source and not target[name] and source[name]
    }


def _move_links(tx: Transaction, context: str, old: int, new: int) -> None:
    """Moves links and watchers. A link between the two records is removed."""
    for _, _, other, id in tx.find(LINK, from_context=context, from_id=old):
        if (other, id) != (context, new):
            _link(tx, (context, new), (other, id))
        tx.delete(LINK, from_context=other, from_id=id, to_context=context, to_id=old)
    tx.delete(LINK, from_context=context, from_id=old)


def attached_data(tx: Transaction, context: str, id: int) -> dict[str, list[Any]]:
    """The comments, files and links of a record as JSON: ids of comments and files, and links as [context, id]."""
    return {
        "comments": [row[0] for row in tx.rows(_comment_ids, (context, id))],
        "files": [row[0] for row in tx.find(ATTACHED, context=context, record_id=id)],
        "links": [[row[2], row[3]] for row in tx.find(LINK, from_context=context, from_id=id)],
    }


def _comment_ids() -> Any:
    table = table_named("comment")
    return table.select(table.c.id).where(table.c.target__context == slot(0), table.c.target_id == slot(1))


def move_back(writing: RecordWriter, record_type: RecordType, old: int, new: int, hung: dict[str, list[Any]]) -> None:
    """Reverts `move_data`: moves comments that are still on `old`, files and links back. hung: `attached_data` of `new`
    before the move."""
    context, tx = record_type.context, writing.tx
    comments: Any = writing.registry.type("comment").table.sql
    for id in hung["comments"]:
        writing.touch("comment", id=id)
    tx.run(
        lambda: comments.update({comments.target_id: slot(0)}).where(
            in_list(comments.id, slot(1)), comments.target__context == slot(2), comments.target_id == slot(3)
        ),
        (new, json.dumps(hung["comments"]), context, old),
    )
    for file_id in hung["files"]:
        tx.add(ATTACHED, {"attachment_id": file_id, "context": context, "record_id": new})
    for other, id in hung["links"]:
        _link(tx, (context, new), (other, id))


def remove_moved(
    writing: RecordWriter, context: str, id: int, hung: dict[str, list[Any]], added: list[dict[str, list[Any]]]
) -> None:
    """Removes files and links that `move_data` added to a record. hung: its `attached_data` before the move. added: the
    data of the merged records."""
    tx = writing.tx
    for file_id in {each for part in added for each in part["files"]} - set(hung["files"]):
        tx.delete(ATTACHED, attachment_id=file_id, context=context, record_id=id)
    links = {tuple(each) for part in added for each in part["links"]} - {tuple(each) for each in hung["links"]}
    for other, other_id in links:
        tx.delete(LINK, from_context=context, from_id=id, to_context=other, to_id=other_id)
        tx.delete(LINK, from_context=other, from_id=other_id, to_context=context, to_id=id)
    for other, other_id in hung["links"]:  # restores links between the merged records
        _link(tx, (context, id), (other, other_id))


def _link(tx: Transaction, one: tuple[str, int], other: tuple[str, int]) -> None:
    for (context, id), (to_context, to_id) in ((one, other), (other, one)):
        tx.add(LINK, {"from_context": context, "from_id": id, "to_context": to_context, "to_id": to_id})
    mark_linked(tx, one, other)
