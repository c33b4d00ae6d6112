"""The owner of a record as a form field: everybody, a group, a role or a worker."""

import re

from console.html.ui import ChooserOptions, Option
from console.http.visit import Visit
from console.lists import lookup
from server.contexts import APP
from server.errors import Invalid
from server.translation import _, in_sentence

NAME = "owner"  # under which they are looked up, in place of a record type
TYPES = ("group", "role", "worker")
EVERYBODY = f"{APP}:0"
EVERYBODY_LABEL = "Everybody: the service"
_STORED = re.compile(r"([a-z._]{1,80}):([0-9]{1,18})\Z")
_NAMED = re.compile(r"(\w+)\s*:.*?#?([0-9]{1,18})\s*\Z", re.DOTALL)


def choosable(visit: Visit, chosen: str) -> ChooserOptions:
    """The options of ui.chooser. chosen: the submitted value: CONTEXT:ID, or typed text."""
    owners: list[Option] = [(EVERYBODY, EVERYBODY_LABEL)]
    total = 0
    for uri in TYPES:
        page = lookup.search_names(visit, uri, "", lookup.MAX_LISTED_CHOICES)
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
        page = lookup.search_names(visit, uri, " ".join(words), limit)
        total += page["total"]
        owners += [(each["id"], _label(visit, uri, each[lookup.LABEL])) for each in page["results"]]
    return owners[:limit], total


def chosen(visit: Visit, text: str, field: str) -> tuple[str, int]:
    """Parses an owner into context and id: `svc.contexts.group:3`, `Group: Support #3`, or `everybody`. Raises Invalid
    for anything else. field: of the form, for the error."""
    text = text.strip()
    stored, match = _STORED.match(text), _NAMED.match(text)
    if stored:
        return stored[1], int(stored[2])
    if text.lower() in ("everybody", f"{EVERYBODY_LABEL} #0".lower()):
        return EVERYBODY.partition(":")[0], 0
    for uri in TYPES:
        record_type = visit.service.registry.type(uri)
        if match and match[1].lower() == in_sentence(record_type.label_names[0]):
            return record_type.context, int(match[2])
    raise Invalid(_("choose from the list, or enter Group: 3, Role: 3, Worker: 3 or Everybody"), field=field)


def _present(visit: Visit, text: str) -> list[Option]:
    """The present owner of a record, even one that may not be chosen."""
    stored = _STORED.match(text)
    if not stored:
        return []
    for uri in TYPES:
        if visit.service.registry.type(uri).context == stored[1]:
            return [(text, _label(visit, uri, label)) for _, label in lookup.choices(visit, uri, f"id:{stored[2]}")]
    return [(text, _("Unchanged: {text}", text=text))]


def _label(visit: Visit, uri: str, label: str) -> str:
    return f"{visit.service.registry.type(uri).label_names[0]}: {label}"
