"""Links a record with others, or unlinks it. record_types/traits/links.py stores links."""

from typing import Any

from server.context import Context
from server.errors import Invalid
from server.fields.structure import MAX_REFERENCES
from server.record_types.traits.links import link
from server.records import references
from server.records.dictionary import Dictionaries
from server.records.references import Reference
from server.records.writing import RecordWriter
from server.store.transaction import Transaction


def change(ctx: Context, on: str, targets: Any, *, adds: bool) -> dict[str, Any]:
    """Links a record with others, or removes links; returns {on, targets}, each {context, context_id, meta}.

    on: `<type>:<id>` of a record that the caller may change. targets: a list of references. All are loaded before
    the first write. Linking twice and removing a missing link succeed. Raises Required, Invalid, Forbidden."""
    registry = ctx.service.registry
    own = references.read(registry, on, "on")
    others = [references.read(registry, text, "targets") for text in _texts(targets)]

    def write(tx: Transaction) -> dict[str, Any]:
        writing, view = RecordWriter(ctx, tx), Dictionaries(ctx, tx)
        [record] = references.load(view, [own], "on")
        records = references.load(view, others, "targets")
        for reference, field in ((own, "on"), *((each, "targets") for each in others)):
            _require_links(reference, field)
        writing.rules.require(tx, "update", own.type, record)
        for each in others:
            link(writing, own.type.context, own.id, each.type.context, each.id, adds)
        return {
            "on": references.described(view, own, record),
            "targets": [references.described(view, each, other) for each, other in zip(others, records, strict=True)],
        }

    return ctx.service.store.write(write)


def _texts(targets: Any) -> list[str]:
    if not isinstance(targets, list) or not all(isinstance(each, str) for each in targets):
        raise Invalid('targets: must be a JSON list of references, such as ["org:5"]', field="targets")
    if len(targets) > MAX_REFERENCES:
        raise Invalid(f"targets: at most {MAX_REFERENCES} references in one request", field="targets")
    return targets


def _require_links(reference: Reference, field: str) -> None:
    if not reference.type.can_be_linked:
        names = reference.type.label_names[1].lower()
        raise Invalid(f"{field}: {names} cannot be linked", field=field)
