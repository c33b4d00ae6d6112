"""References to records in parameters of endpoints, `<type>:<id>`: parsed, and loaded many at once.

fields/structure.py reads references in the fields of a record."""

from collections.abc import Sequence
from typing import Any

from server.dataclass import dataclass
from server.digits import id_in
from server.errors import Invalid, Required
from server.record_types.record_type import Record, RecordType
from server.record_types.registry import Registry
from server.records.dictionary import Dictionaries
from server.translation import about_field, lazy_gettext


@dataclass(frozen=True)
class Reference:
    """A parsed reference: type and id. The record need not exist."""

    type: RecordType
    id: int


def read(registry: Registry, text: str, field: str) -> Reference:
    """Parses `<uri, alias or context>:<id>`. Raises Required, Invalid, which name the parameter `field`."""
    if not text.strip():
        raise Required(f"{field} is required: write <type>:<id>", field=field)
    name, _, number = text.strip().rpartition(":")
    record_type, id = registry.find(name.lower()), id_in(number)
    if record_type is None or id is None:
        raise Invalid(f"{field}: '{text[:80]}' is not <type>:<id> of a known record type", field=field)
    return Reference(record_type, id)


def load(view: Dictionaries, references: Sequence[Reference], field: str) -> list[Record]:
    """Returns the records behind references, in their order, with one statement per type.

    Raises Invalid for the first one that is missing or that the caller may not read."""
    ids: dict[str, set[int]] = {}
    for each in references:
        ids.setdefault(each.type.uri, set()).add(each.id)
    records = {(uri, record["id"]): record for uri in ids for record in view.records(uri, ids[uri])}
    for each in references:
        if (each.type.uri, each.id) not in records:
            raise Invalid(
                about_field(field, lazy_gettext("there is no {type} {id}", type=each.type.uri, id=each.id)), field=field
            )
    return [records[each.type.uri, each.id] for each in references]


def described(view: Dictionaries, reference: Reference, record: Record) -> dict[str, Any]:
    """Returns {context, context_id, meta} of a record: its name, page and last change, and its owner if it has one."""
    own = reference.type
    changed = next((record[name] for name in ("updated", "updated_at") if name in record), 0)
    meta = {
        "id": reference.id,
        "name": own.named_in_links(record, own.labels(view, [record])[reference.id]),
        "permalink": view.url(own, record) if own.has_url else "",
        "updated": changed,
    }
    if "owner_id" in record and "owner__context" not in record:
        meta["owner_id"] = record["owner_id"]
    return {"context": own.context, "context_id": reference.id, "meta": meta}
