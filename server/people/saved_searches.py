"""Saved searches as workers use them: of a record type, by name, and the owners for whom they may save one."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from server.access.actor import Actor
from server.context import Context
from server.contexts import GROUP, ROLE, WORKER
from server.dataclass import dataclass
from server.people.owner_choices import own, owner_choices
from server.record_types.saved_search import VERSION
from server.record_types.shared import paths
from server.records import records
from server.records.records import LABEL, SearchRequest
from server.store.store_local import VersionedLocal

URI = "saved_search"
MAX_OFFERED = 12  # above a list
MAX_READ = 200  # saved searches of a type, including those of other workers, which administrators may read
INBOX, TICKET = "/inbox", "ticket"  # tickets have a list of lists
_EXPAND = f"{LABEL},query,context"


@dataclass(frozen=True, slots=True)
class SavedSearchLink:
    """A saved search. uri: the type that it searches."""

    id: int
    label: str
    uri: str
    query: str

    @property
    def path(self) -> str:
        """The page of the console that shows it."""
        if self.uri == TICKET:
            return f"{INBOX}?{urlencode({'v': f'saved.{self.id}'})}"
        return paths.found_at(self.uri, self.query)


# The rail of every page lists the searches for tickets. The cache saves half a millisecond of a page.
_OFFERED: VersionedLocal[dict[Any, list[SavedSearchLink]]] = VersionedLocal()


def of_type(ctx: Context, uri: str) -> list[SavedSearchLink]:
    """Returns the saved searches of a type that belong to the worker, to one of their groups or roles, or to the
    service, by name."""
    actor = ctx.actor
    offered = ctx.service.store.read(lambda tx: _OFFERED.read(tx, VERSION, lambda _tx: {}))
    key = (uri, actor.reading, actor.member_of, actor.manages, actor.roles)
    if key not in offered:
        context = ctx.service.registry.type(uri).context
        searches = _found(ctx, f'context:"{context}" sort:name', MAX_READ)
        offered[key] = [each for each in searches if each.uri == uri][:MAX_OFFERED]
    return offered[key]


def named(ctx: Context, text: str, limit: int) -> list[SavedSearchLink]:
    """Returns the saved searches whose names have every word."""
    ids = [str(each["id"]) for each in records.search_names(ctx, URI, text, limit)["results"]]
    return _found(ctx, f"id:[{','.join(ids)}]", limit) if ids else []


def owners(ctx: Context) -> Sequence[tuple[str, str]]:
    """Returns the owners for whom the worker may save one, with their labels: the worker, the groups that they manage,
    and for administrators the service, which offers it to everybody."""
    if not records.may(ctx, URI, "create"):
        return ()
    return owner_choices(ctx)


def save(ctx: Context, uri: str, name: str, query: str, owner: str) -> SavedSearchLink:
    """Saves a search. owner: one of `owners`, "" for the worker alone. Raises Invalid, Forbidden."""
    context, _colon, id = (owner or own(ctx)).partition(":")
    fields = {"context": uri, "name": name, "query": query, "owner__context": context, "owner_id": id}
    row = records.create(ctx, URI, fields)
    return SavedSearchLink(row["id"], name, uri, query)


def _found(ctx: Context, q: str, limit: int) -> list[SavedSearchLink]:
    rows = records.search(ctx, URI, SearchRequest(q, limit, 1, _EXPAND))["results"]
    registry = ctx.service.registry
    types = ((each, registry.find(str(each["context"]))) for each in rows)
    return [
        SavedSearchLink(each["id"], str(each[LABEL]), record_type.uri, str(each["query"]))
        for each, record_type in types
        if record_type is not None and record_type.offers("search") and _is_for(ctx.actor, each)
    ]


def _is_for(actor: Actor, search: dict[str, Any]) -> bool:
    """Whether a saved search is meant for the worker, rather than readable only because they are an administrator."""
    own = {WORKER: {actor.worker_id}, GROUP: actor.member_of | actor.manages, ROLE: actor.roles}
    return int(search["owner_id"]) in own.get(str(search["owner__context"]), {int(search["owner_id"])})
