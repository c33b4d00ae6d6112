"""Workspace pages as workers use them: those for them, by name."""

from typing import Any

from server.access.actor import Actor
from server.context import Context
from server.contexts import GROUP, ROLE, WORKER
from server.dataclass import dataclass
from server.record_types.record_type import Record
from server.record_types.shared import record_owners
from server.record_types.workspace_page import VERSION
from server.record_types.workspaces.contents import MAX_ON_TAB
from server.records import records
from server.records.reading import RecordReader
from server.records.records import LABEL, SearchRequest
from server.records.writing import RecordWriter
from server.store.statements import slot
from server.store.store_local import VersionedLocal
from server.store.tables import table_named
from server.store.transaction import Transaction

URI = "workspace_page"
SHOWN, BASE = "/pages", "/workspaces"  # paths of pages as they are drawn, and as they are built
TAB, WIDGET, LIST = "workspace_tab", "workspace_widget", "workspace_list"
ALWAYS = ("params_required_query", "params_required")  # what no key returns
MAX_OFFERED = 20  # in the rail
MAX_TABS_READ = 500
MAX_PLACE = 255  # of a widget
MAX_READ = 200  # pages, including those of other workers, which administrators may read


@dataclass(frozen=True, slots=True)
class WorkspacePageLink:
    """A page."""

    id: int
    label: str

    @property
    def path(self) -> str:
        return path_of(self.id)


@dataclass(frozen=True, slots=True)
class WorkspaceTabLink:
    """A tab. kind: its extension id. label: the name of its page and its own."""

    id: int
    kind: str
    label: str


# The rail of every page lists them.
_OFFERED: VersionedLocal[dict[Any, list[WorkspacePageLink]]] = VersionedLocal()


def path_of(id: int) -> str:
    """Returns the path of the page as it is drawn."""
    return f"{SHOWN}/{id}"


def of_worker(ctx: Context) -> list[WorkspacePageLink]:
    """Returns the pages that belong to the worker, to one of their groups or roles, or to the service, by name."""
    actor = ctx.actor
    offered = ctx.service.store.read(lambda tx: _OFFERED.read(tx, VERSION, lambda _tx: {}))
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
    """Returns the worklists that a search finds, in order, as stored: with the search and the filters that always
    apply, which no key returns."""
    found = records.search(ctx, LIST, SearchRequest(f"{q} sort:tab.pos", MAX_ON_TAB))["results"]
    table = ctx.service.registry.type(LIST)
    ids = [each["id"] for each in found]
    stored = ctx.service.store.read(lambda tx: [table.record(row) for row in tx.get_many(table.table, ids)])
    always = {each["id"]: {name: each[name] for name in ALWAYS} for each in stored}
    return [each | always[each["id"]] for each in found if each["id"] in always]


def own_tabs(ctx: Context) -> list[WorkspaceTabLink]:
    """Returns the tabs of pages that are for the worker and that they may change, by page."""
    if not records.may(ctx, TAB, "create"):
        return []
    request = SearchRequest("sort:page.id,pos", MAX_TABS_READ, 1, "page_")
    tabs = [(each, _page_of(each)) for each in records.search(ctx, TAB, request)["results"]]
    owners = {(str(page["owner__context"]), int(page["owner_id"])) for _tab, page in tabs if is_for(ctx.actor, page)}
    own = ctx.service.store.read(lambda tx: {each for each in owners if record_owners.may_own_as(tx, ctx.actor, *each)})
    return [
        WorkspaceTabLink(each["id"], str(each["extension_id"]), f"{page['name']} › {each['name']}")
        for each, page in tabs
        if (page["owner__context"], page["owner_id"]) in own
    ]


def _page_of(tab: dict[str, Any]) -> dict[str, Any]:
    return {name: tab[f"page_{name}"] for name in ("name", "owner__context", "owner_id")}


def last_place(ctx: Context, uri: str, tab_id: int) -> int:
    """Returns the place behind the last widget or list of a tab."""
    request = SearchRequest(f"tab.id:{tab_id} sort:-tab.pos", 1)
    found = records.search(ctx, uri, request)["results"]
    return min(int(found[0]["pos"]) + 1, MAX_PLACE) if found else 0


def move(ctx: Context, uri: str, id: int, by: int) -> None:
    """Moves a tab, a widget or a list down by some places, or up if `by` is negative. Raises NotFound, Forbidden."""

    def write(tx: Transaction) -> None:
        RecordReader(ctx, tx).require("update", uri, id)
        writing = RecordWriter(ctx, tx)
        moved = writing.retrieve(uri, id)
        rows = tx.rows(lambda: _beside(uri), (moved[_column(uri)], MAX_ON_TAB))
        listed = [(own, position) for own, position, *zone in rows if not zone or zone[0] == moved["zone"]]
        place = next(number for number, each in enumerate(listed) if each[0] == id)
        listed.insert(min(max(place + by, 0), len(listed) - 1), listed.pop(place))
        for number, (own, position) in enumerate(listed):
            if position != number:
                writing.update_sent(writing.registry.type(uri), own, {"pos": str(number)})

    ctx.service.store.write(write)


def _beside(uri: str) -> Any:
    """What is on the same page or tab."""
    table: Any = table_named(uri)
    columns = (table.c.id, table.c.pos, *((table.c.zone,) if uri == WIDGET else ()))
    found = table.select(*columns).where(getattr(table.c, _column(uri)) == slot(0))
    return found.order_by(table.c.pos, table.c.id).limit(slot(1))


def _column(uri: str) -> str:
    """The column that says what a part is on."""
    return "page_id" if uri == TAB else "tab_id"


def is_for(actor: Actor, page: dict[str, Any]) -> bool:
    """Whether a page is meant for the worker, rather than readable only because they are an administrator."""
    own = {WORKER: {actor.worker_id}, GROUP: actor.member_of | actor.manages, ROLE: actor.roles}
    return int(page["owner_id"]) in own.get(str(page["owner__context"]), {int(page["owner_id"])})
