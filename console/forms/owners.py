"""The owner of a record as a form field: everybody, a group, a role or a worker."""

from console.html.ui import ChooserOptions, Option
from console.http.visit import Visit
from console.lists import lookup
from server.contexts import APP
from server.record_types.shared import record_owners
from server.record_types.shared.record_owners import EVERYBODY_LABEL, TYPES
from server.records import records
from server.translation import _, in_sentence

NAME = "owner"  # under which they are looked up, in place of a record type
EVERYBODY = f"{APP}:0"


def choosable(visit: Visit, chosen: str) -> ChooserOptions:
    """The options of ui.chooser. chosen: the submitted value: CONTEXT:ID, or typed text."""
    owners: list[Option] = [(EVERYBODY, EVERYBODY_LABEL)]
    total = 0
    for uri in TYPES:
        page = records.search_names(visit.ctx, uri, "", lookup.MAX_LISTED_CHOICES)
        total += page["total"]
        context = visit.service.registry.type(uri).context
        choices = lookup.options(visit, page["results"])
        owners += [(f"{context}:{id}", _label(visit, uri, label)) for id, label in choices]
    is_all = total <= lookup.MAX_LISTED_CHOICES
    if chosen not in dict(owners):
        owners += _present(visit, chosen)
    numbered = {value: lookup.numbered(value.rpartition(":")[2], label) for value, label in owners}
    return ChooserOptions(NAME, owners if is_all else None, chosen if is_all else numbered.get(chosen, chosen))


def found(visit: Visit, q: str, limit: int) -> tuple[list[tuple[int, str]], int]:
    """(id, label) of those whose names have every word, and how many do."""
    kinds = {in_sentence(visit.service.registry.type(uri).label_names[0]) for uri in TYPES}
    words = [word for word in q.split() if word.rstrip(":").lower() not in kinds]
    owners: list[tuple[int, str]] = [(0, EVERYBODY_LABEL)] if q.lower() in EVERYBODY_LABEL.lower() else []
    total = len(owners)
    for uri in TYPES:
        page = records.search_names(visit.ctx, uri, " ".join(words), limit)
        total += page["total"]
        owners += [(each["id"], _label(visit, uri, each[lookup.LABEL])) for each in page["results"]]
    return owners[:limit], total


def _present(visit: Visit, text: str) -> list[Option]:
    """The present owner of a record, even one that may not be chosen."""
    stored = record_owners.stored_owner(text)
    if stored is None:
        return []
    context, id = stored
    for uri in TYPES:
        if visit.service.registry.type(uri).context == context:
            return [(text, _label(visit, uri, label)) for _, label in lookup.choices(visit, uri, f"id:{id}")]
    return [(text, _("Unchanged: {text}", text=text))]


def _label(visit: Visit, uri: str, label: str) -> str:
    return f"{visit.service.registry.type(uri).label_names[0]}: {label}"
