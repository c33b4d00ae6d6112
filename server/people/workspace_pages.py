"""Workspace pages as workers use them: those for them, by name."""

from typing import Any

from server.access.actor import Actor
from server.context import Context
from server.contexts import GROUP, ROLE, WORKER
from server.dataclass import dataclass
from server.record_types.record_type import Record
from server.record_types.workspace_page import VERSION
from server.record_types.workspaces.contents import MAX_ON_TAB
from server.records import records
from server.records.records import LABEL, SearchRequest
from server.store.store_local import VersionedLocal

URI, SHOWN, BASE = (
    "workspace_page",
    "/pages",
    "/workspaces",
)  # paths of the pages as they are drawn, and as they are built
TAB, WIDGET, LIST = "workspace_tab", "workspace_widget", "workspace_list"
ALWAYS = "params_required_query"
MAX_OFFERED = 20  # in the rail
MAX_READ = 200  # pages, including those of other workers, which administrators may read


@dataclass(frozen=True, slots=True)
class WorkspacePageLink:
    """A page."""

    id: int
    label: str

    @property
    def path(self) -> str:
        return path_of(self.id)


# The rail lists them beside every page.
_OFFERED: VersionedLocal[dict[Any, list[WorkspacePageLink]]] = VersionedLocal()


def path_of(id: int) -> str:
    """The page of the console that draws one."""
    return f"{SHOWN}/{id}"


def of_worker(ctx: Context) -> list[WorkspacePageLink]:
    """Returns the pages that belong to the worker, to one of their groups or roles, or to the service, by name."""
    store, actor = ctx.service.store, ctx.actor
    version = store.read(lambda tx: tx.version(VERSION))
    offered = _OFFERED.get(store, version)
    if offered is None:
        offered = {}
        _OFFERED.set(store, version, offered)
    key = (actor.worker_id, actor.reading, actor.member_of, actor.manages, actor.roles)
    if key not in offered:
        found = records.search(ctx, URI, SearchRequest("sort:name", MAX_READ, 1, LABEL))["results"]
        links = [WorkspacePageLink(each["id"], str(each[LABEL])) for each in found if is_for(actor, each)]
        offered[key] = links[:MAX_OFFERED]
    return offered[key]


def named(ctx: Context, text: str, limit: int) -> list[WorkspacePageLink]:
    """Returns the readable pages whose names have every word."""
    found = records.search_names(ctx, URI, text, limit)["results"]
    return [WorkspacePageLink(each["id"], str(each[LABEL])) for each in found]


def lists(ctx: Context, q: str) -> list[Record]:
    """Returns the worklists that a search finds, in order, as stored: with the search that always applies, which no key
    returns."""
    found = records.search(ctx, LIST, SearchRequest(f"{q} sort:tab.pos", MAX_ON_TAB))["results"]
    table = ctx.service.registry.type(LIST)
    ids = [each["id"] for each in found]
    stored = ctx.service.store.read(lambda tx: [table.record(row) for row in tx.get_many(table.table, ids)])
    queries = {each["id"]: each[ALWAYS] for each in stored}
    return [each | {ALWAYS: queries[each["id"]]} for each in found if each["id"] in queries]


def is_for(actor: Actor, page: dict[str, Any]) -> bool:
    """Whether a page is meant for the worker, rather than readable only because they are an administrator."""
    own = {WORKER: {actor.worker_id}, GROUP: actor.member_of | actor.manages, ROLE: actor.roles}
    return int(page["owner_id"]) in own.get(str(page["owner__context"]), {int(page["owner_id"])})
