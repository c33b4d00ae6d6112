"""Merges contacts or organizations: everything that belongs to the others moves to the one that stays, and the others
are deleted."""

from collections.abc import Mapping, Sequence
from typing import Any

from server.access.actor import WORKER
from server.context import Context
from server.dataclass import dataclass
from server.errors import Forbidden, Invalid, NotFound, NotOffered, TooLarge
from server.people import identity
from server.record_types.field_labels import field_label
from server.record_types.record_type import Record, RecordType
from server.record_types.shared.named_records import reindex
from server.records import event_publishing, merging_records, records
from server.records.reading import RecordReader
from server.records.records import LABEL, SearchRequest
from server.records.writing import RecordWriter
from server.store.transaction import Transaction
from server.translation import N_, lazy_gettext

POINT = "record.merge"
OFFERED = ("contact", "org")
MAX_SOURCES = 20
MAX_MOVED = 20_000  # records of one type that refer to a deleted one; more would hold up the one writer
NAMED = {"contact": ("address",), "org": ("address", "contact")}  # types whose search texts contain the name


@dataclass(frozen=True, slots=True)
class MergePreview:
    """Two records before a merge. differing: fields with different values, {field: (target, source)}. moved: {type:
    number of records that refer to the source}."""

    target: Record
    source: Record
    differing: dict[str, tuple[Any, Any]]
    moved: dict[str, int]


@dataclass(frozen=True, slots=True)
class ShownPreview:
    """A preview in words. label: of the source. fields: the fields with different values, as (name, label, value of the
    target, value of the source); a value that refers to a record is its label. moved: (type, number of records)."""

    label: str
    fields: list[tuple[str, str, str, str]]
    moved: list[tuple[str, int]]


def merge(
    ctx: Context, uri: str, target_id: int, source_ids: Sequence[int], fields: Mapping[str, Any] | None = None
) -> None:
    """Moves addresses, tickets, comments, files, links, tags and custom values of records to one of their type, and
    deletes them. Empty fields of the target are filled from the first source that has a value. fields: further values
    of the target, as sent. All or nothing.

    Raises NotOffered for other types, Invalid for too many or identical records, NotFound, Forbidden, AdminOnly,
    TooLarge."""
    record_type = _offered(ctx, uri)
    ids = list(dict.fromkeys(source_ids))
    if not 1 <= len(ids) <= MAX_SOURCES:
        raise Invalid(f"source_ids: send 1 to {MAX_SOURCES} records to merge", field="source_ids")
    if target_id in ids:
        raise Invalid("source_ids: the target record cannot be one of them", field="source_ids")
    _require_assent(ctx, record_type, target_id, ids)
    ctx.service.store.write(lambda tx: _merge(RecordWriter(ctx, tx), record_type, target_id, ids, dict(fields or {})))


def compare(ctx: Context, uri: str, target_id: int, source_id: int) -> MergePreview:
    """Returns a preview of a merge. Raises NotOffered, Invalid for identical records, and NotFound, Forbidden like
    `merge`."""
    record_type = _offered(ctx, uri)
    if target_id == source_id:
        raise Invalid(N_("choose another record: a record cannot be merged with itself"), field="other")

    def read(tx: Transaction) -> MergePreview:
        reader = RecordReader(ctx, tx)
        target = _record(reader, record_type, target_id, "update")
        source = _record(reader, record_type, source_id, "delete")
        _require_no_hidden(reader, record_type, source)
        written = [name for name, field in record_type.fields.items() if field.stored and not field.auto]
        differing = {
            name: (target[name], source[name])
            for name in written
            if target[name] and source[name] and target[name] != source[name]
        }
        moved = merging_records.count_references(reader, record_type, source_id, MAX_MOVED)
        return MergePreview(target, source, differing, moved)

    return ctx.service.store.read(read)


def in_words(ctx: Context, uri: str, preview: MergePreview) -> ShownPreview:
    """Returns a preview as a person reads it."""
    registry = ctx.service.registry

    def value(name: str, value: Any) -> str:
        target = getattr(registry.type(uri).fields[name], "target", "")
        request = SearchRequest(f"id:{value}", expand=LABEL)
        matches = records.search(ctx, target, request)["results"] if target else []
        return str(matches[0][LABEL]) if matches else str(value)

    return ShownPreview(
        str(records.retrieve(ctx, uri, preview.source["id"])[LABEL]),
        [
            (name, field_label(name.removesuffix("_id")), value(name, present), value(name, other))
            for name, (present, other) in preview.differing.items()
        ],
        [(registry.type(moved).label_names[1], count) for moved, count in sorted(preview.moved.items())],
    )


def _merge(
    writing: RecordWriter, record_type: RecordType, target_id: int, ids: list[int], fields: dict[str, Any]
) -> None:
    target = _record(writing, record_type, target_id, "update")
    sources = [_record(writing, record_type, id, "delete") for id in ids]
    label, filled = writing.label(record_type.uri, target_id), dict[str, Any]()
    for source in sources:
        _require_movable(writing, record_type, source)
        filled |= merging_records.missing_values(record_type, {**target, **filled}, source)
        merging_records.redirect_references(writing, record_type, source["id"], target_id)
        merging_records.move_data(writing, record_type, source["id"], target_id)
        merging_records.move_custom_values(writing, record_type, source["id"], target_id)
        merging_records.move_tags(writing.tx, record_type, source["id"], target_id)
    names = [writing.label(record_type.uri, id) for id in ids]
    for id in ids:
        writing.delete(record_type.uri, id)
    if filled:
        writing.update(record_type.uri, target_id, filled)
    if fields:
        writing.update_sent(record_type, target_id, fields)
    for uri in NAMED[record_type.uri]:
        reindex(writing, uri, f"{record_type.uri}_id", target_id)
    writing.texts_changed(record_type.uri, target_id)
    for name in names:
        details = {"context_label": record_type.label_names[0].lower(), "source": name, "target": label}
        writing.log(POINT, record_type.context, target_id, details)
    event_publishing.publish(writing, "record.merged", _values(writing.ctx, record_type, target_id, ids))


def _require_movable(writing: RecordWriter, record_type: RecordType, source: Record) -> None:
    """Raises TooLarge for a merge that takes too long, AdminOnly if it moves an address of a worker or sender,
    Forbidden if it would change records that the caller may not read."""
    _require_no_hidden(writing, record_type, source)
    for uri, count in merging_records.count_references(writing, record_type, source["id"], MAX_MOVED + 1).items():
        if count > MAX_MOVED:
            raise TooLarge(
                f"more than {MAX_MOVED} records of the type {uri} belong to {record_type.uri} {source['id']}; "
                "merge the other record into this one instead",
                field="source_ids",
                limit=MAX_MOVED,
            )
    address = writing.record("address", source["email_id"]) if source["email_id"] else None
    if address is not None:
        identity.require_external(writing, address)


def _require_no_hidden(reader: RecordReader, record_type: RecordType, source: Record) -> None:
    """Raises Forbidden if a merge would change records that the caller may not read, without naming them."""
    if merging_records.has_hidden_references(reader, record_type, source["id"], MAX_MOVED + 1):
        raise Forbidden(
            f"records that you may not read belong to {record_type.uri} {source['id']}; "
            "ask an administrator to merge it"
        )


def _record(reader: RecordReader, record_type: RecordType, id: int, operation: str) -> Record:
    record = reader.record(record_type.uri, id)
    if record is None:
        raise NotFound(
            lazy_gettext("there is no {type} {id}", type=record_type.uri, id=id), type=record_type.uri, id=id
        )
    reader.rules.require(reader.tx, "read", record_type, record)
    reader.rules.require(reader.tx, operation, record_type, record)
    return record


def _offered(ctx: Context, uri: str) -> RecordType:
    record_type = ctx.service.registry.type(uri)
    if record_type.uri not in OFFERED:
        raise NotOffered(f"records of the type {record_type.uri} are not merged; those of {' and '.join(OFFERED)} are")
    return record_type


def _require_assent(ctx: Context, record_type: RecordType, target_id: int, ids: list[int]) -> None:
    """Raises Forbidden if an automation of record.merge denies it."""
    for result in event_publishing.automation_results(
        ctx, "record.merge", lambda: _values(ctx, record_type, target_id, ids)
    ):
        if result.get("deny"):
            raise Forbidden(f"an automation refused to merge these records: {str(result['deny'])[:200]}")
        return  # the first automation that returns decides


def _values(ctx: Context, record_type: RecordType, target_id: int, ids: list[int]) -> dict[str, Any]:
    """Returns the values for automations about a merge, before and after it."""
    return {
        "record_type": record_type.uri,
        "source_ids": ids,
        "target_id": target_id,
        "records": {str(id): {"_context": record_type.context, "id": id} for id in (target_id, *ids)},
        **event_publishing.record_values("worker", WORKER, ctx.actor.worker_id),
    }
