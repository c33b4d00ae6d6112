"""Collections of (context, id) pairs of many records, such as links, limited to the access of the caller."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from server.record_types.shared.forms import CollectionForm

if TYPE_CHECKING:
    from server.record_types.parts import DictionaryContext, Record


def readable_pairs(
    shown: "DictionaryContext", records: "list[Record]", rows: list[tuple[Any, ...]], form: CollectionForm, most: int
) -> dict[int, list[tuple[str, int]]]:
    """{own id: [(context, id)]} of rows (own id, context, id): records that the caller may read, of the type in the
    form, at most `most` each. An unknown type has none."""
    found: dict[int, list[tuple[str, int]]] = {record["id"]: [] for record in records}
    wanted = shown.find_type(form.type) if form.type else None
    if form.type and wanted is None:
        return found
    listed_ids: dict[str, set[int]] = {}
    for _, context, id in rows:
        if wanted is None or wanted.context == context:
            listed_ids.setdefault(context, set()).add(id)
    readable = {context: shown.readable_ids(context, ids) for context, ids in listed_ids.items()}
    for own, context, id in rows:
        if len(found[own]) < most and id in readable.get(context, ()):
            found[own].append((context, id))
    return found


def by_context(pairs: list[tuple[str, int]]) -> dict[str, list[int]]:
    """{context: ids} of pairs."""
    grouped: dict[str, list[int]] = {}
    for context, id in pairs:
        grouped.setdefault(context, []).append(id)
    return grouped


def listed(
    shown: "DictionaryContext", found: dict[int, list[tuple[str, int]]], form: CollectionForm
) -> dict[int, list[dict[str, Any]]]:
    """Each pair as {_context, id}, or as the record's dictionary if the form names a type or key; unreadable ones are
    left out."""
    needed: dict[str, set[int]] = {}
    for pairs in found.values():
        for context, id in pairs:
            needed.setdefault(context, set()).add(id)
    loaded: dict[tuple[str, int], dict[str, Any]] = {}
    for context, ids in needed.items():
        uri = shown.type(context).uri
        records = shown.records(uri, ids)
        dictionaries = shown.dictionaries(uri, records, form.key)
        for record, dictionary in zip(records, dictionaries, strict=True):
            if form.type or form.key:
                loaded[context, record["id"]] = dictionary
            else:
                loaded[context, record["id"]] = {"_context": context, "id": record["id"]}
    return {own: [loaded[pair] for pair in pairs if pair in loaded] for own, pairs in found.items()}


def ids_text(records: "Sequence[Record]") -> str:
    """The ids of records as JSON, for one slot of `in_list`."""
    return json.dumps([record["id"] for record in records])
