"""Saved searches: those offered above the list of a record type, and the owners that one may be saved for."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from console.html.ui import Option
from console.http.visit import Visit
from console.lists import lookup
from server.access.actor import Actor
from server.contexts import APP, GROUP, ROLE, WORKER
from server.dataclass import dataclass
from server.records import records
from server.records.records import SearchRequest
from server.translation import _

URI = "saved_search"
MAX_OFFERED = 12  # above a list
MAX_READ = 200  # saved searches of a type; administrators may read those of all workers, too
INBOX, TICKET = "/inbox", "ticket"  # tickets have a list of lists
_EXPAND = f"{lookup.LABEL},query,context"


@dataclass(frozen=True, slots=True)
class SavedSearchLink:
    """One of them. uri: the type that it searches."""

    id: int
    label: str
    uri: str
    query: str

    @property
    def path(self) -> str:
        """Where it is shown."""
        if self.uri == TICKET:
            return f"{INBOX}?{urlencode({'v': f'saved.{self.id}'})}"
        return lookup.found_at(self.uri, self.query)


def of_type(visit: Visit, uri: str) -> list[SavedSearchLink]:
    """Those that search a type and are the worker's, of one of their groups or roles, or for everybody, by name."""
    context = visit.service.registry.type(uri).context
    searches = _found(visit, f'context:"{context}" sort:name', MAX_READ)
    return [each for each in searches if each.uri == uri][:MAX_OFFERED]


def named(visit: Visit, text: str, limit: int) -> list[SavedSearchLink]:
    """Those whose names have every word."""
    ids = [str(each["id"]) for each in lookup.search_names(visit, URI, text, limit)["results"]]
    return _found(visit, f"id:[{','.join(ids)}]", limit) if ids else []


def owners(visit: Visit) -> Sequence[Option]:
    """For whom the worker may save one: themselves, the groups that they manage, administrators everybody."""
    if not records.may(visit.ctx, URI, "create"):
        return ()
    actor = visit.actor
    choices: list[Option] = [(f"{WORKER}:{actor.worker_id}", _("Only me"))]
    if actor.is_admin:
        choices.append((f"{APP}:0", _("Everybody")))
    if actor.is_admin or actor.manages:
        query = "" if actor.is_admin else f"id:[{','.join(map(str, sorted(actor.manages)))}]"
        groups = lookup.choices(visit, "group", query)[: lookup.MAX_LISTED_CHOICES]
        choices += [(f"{GROUP}:{id}", _("Group {name}", name=label)) for id, label in groups]
    return choices


def save(visit: Visit, uri: str, name: str, query: str, owner: str) -> SavedSearchLink:
    """Save a search. owner: one of `owners`, "" for the worker alone. Raises Invalid, Forbidden."""
    context, _colon, id = (owner or f"{WORKER}:{visit.actor.worker_id}").partition(":")
    fields = {"context": uri, "name": name, "query": query, "owner__context": context, "owner_id": id}
    row = records.create(visit.ctx, URI, fields)
    return SavedSearchLink(row["id"], name, uri, query)


def _found(visit: Visit, q: str, limit: int) -> list[SavedSearchLink]:
    rows = records.search(visit.ctx, URI, SearchRequest(q, limit, 1, _EXPAND))["results"]
    registry = visit.service.registry
    types = ((each, registry.find(str(each["context"]))) for each in rows)
    return [
        SavedSearchLink(each["id"], str(each[lookup.LABEL]), record_type.uri, str(each["query"]))
        for each, record_type in types
        if record_type is not None and record_type.offers("search") and _is_for(visit.actor, each)
    ]


def _is_for(actor: Actor, search: dict[str, Any]) -> bool:
    """Whether a saved search is meant for the worker, rather than readable only because they are an administrator."""
    own = {WORKER: {actor.worker_id}, GROUP: actor.member_of | actor.manages, ROLE: actor.roles}
    return int(search["owner_id"]) in own.get(str(search["owner__context"]), {int(search["owner_id"])})
