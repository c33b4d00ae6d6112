"""Collections of (context, id) pairs of many records, such as links, limited to the access of the caller."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from server.record_types.shared.expand_forms import CollectionForm

if TYPE_CHECKING:
    from server.record_types.parts import DictionaryContext, Record


def readable_pairs(
    view: "DictionaryContext", records: "list[Record]", rows: list[tuple[Any, ...]], form: CollectionForm, most: int
) -> dict[int, list[tuple[str, int]]]:
    """{own id: [(context, id)]} of rows (own id, context, id): records that the caller may read, of the type in the
    form, at most `most` each. An unknown type has none."""
    pairs: dict[int, list[tuple[str, int]]] = {record["id"]: [] for record in records}
    only_type = view.find_type(form.type) if form.type else None
    if form.type and only_type is None:
        return pairs
    listed_ids: dict[str, set[int]] = {}
    for _, context, id in rows:
        if only_type is None or only_type.context == context:
            listed_ids.setdefault(context, set()).add(id)
    readable = {context: view.readable_ids(context, ids) for context, ids in listed_ids.items()}
    for own, context, id in rows:
        if len(pairs[own]) < most and id in readable.get(context, ()):
            pairs[own].append((context, id))
    return pairs


def by_context(pairs: list[tuple[str, int]]) -> dict[str, list[int]]:
    """{context: ids} of pairs."""
    grouped: dict[str, list[int]] = {}
    for context, id in pairs:
        grouped.setdefault(context, []).append(id)
    return grouped


def listed(
    view: "DictionaryContext", pairs_by_record: dict[int, list[tuple[str, int]]], form: CollectionForm
) -> dict[int, list[dict[str, Any]]]:
    """Each pair as {_context, id}, or as the record's dictionary if the form names a type or key; unreadable ones are
    left out."""
    needed: dict[str, set[int]] = {}
    for pairs in pairs_by_record.values():
        for context, id in pairs:
            needed.setdefault(context, set()).add(id)
    loaded: dict[tuple[str, int], dict[str, Any]] = {}
    for context, ids in needed.items():
        uri = view.type(context).uri
        records = view.records(uri, ids)
        dictionaries = view.dictionaries(uri, records, form.key)
        for record, dictionary in zip(records, dictionaries, strict=True):
            if form.type or form.key:
                loaded[context, record["id"]] = dictionary
            else:
                loaded[context, record["id"]] = {"_context": context, "id": record["id"]}
    return {own: [loaded[pair] for pair in pairs if pair in loaded] for own, pairs in pairs_by_record.items()}


def ids_text(records: "Sequence[Record]") -> str:
    """The ids of records as JSON, for one slot of `in_list`."""
    return json.dumps([record["id"] for record in records])
