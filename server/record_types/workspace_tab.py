"""Workspace tabs: parts of a workspace page, each a dashboard of widgets or a set of worklists."""

from server import contexts
from server.fields import Id, Name, Structure, Text, Uint, UpdatedAt
from server.record_types.record_type import (
    Access,
    Change,
    DictionaryContext,
    Expand,
    Key,
    Record,
    RecordType,
    Subtotals,
    Writing,
)
from server.record_types.shared.record_owners import WORKER
from server.record_types.shared.usage_buffer import usage_buffer
from server.record_types.traits import Comments, CustomFields, Links, Search
from server.record_types.workspaces import contents
from server.search.filters import BelongsTo, ChooserFilter, DeepFilter
from server.store.tables import Index

KINDS = {"core.workspace.tab.dashboard": "Dashboard", "core.workspace.tab.worklists": "Worklists"}


class WorkspaceTab(RecordType):
    """A tab of a page; its widgets and worklists are deleted with it."""

    uri, context = "workspace_tab", contexts.WORKSPACE_TAB
    aliases = ("workspace tab", "workspace tabs", "tab", "tabs")
    tier = 3
    traits = (Comments(), CustomFields(), Links(), Search())
    access = Access(read="page", write=("privilege", "page"))
    fields = {
        "extension_id": Text("Kind of tab.", required=True, allowed=tuple(KINDS), filter="type", match="prefix"),
        "name": Name("Name; also the label.", 128),
        "page_id": Id(
            f"Page it is on, with at most {contents.MAX_TABS} others.",
            "workspace_page",
            required=True,
            filter_note="On a page by id.",
            nested_note="Page it is on.",
        ),
        "params": Structure("Settings of the kind."),
        "pos": Uint("Place on the page, 0 first."),
        "updated_at": UpdatedAt(),
    }
    indexes = (Index(("page_id", "pos"), "the tabs of a page in order"),)
    keys = (
        Key("extension__label", "text", "The kind of tab in words.", value=contents.kind_label(KINDS)),
        Key("order", "number", "Same as `pos`.", column="pos"),
    )
    expands = (
        Expand("widgets", "records", "Its widgets, by zone and place.", contents.widgets, "workspace_widget"),
        Expand(
            "widgets_data",
            "records",
            "Its widgets with their `data`; lands in `widgets`.",
            contents.widgets_with_data,
            "workspace_widget",
        ),
        Expand(
            "worklists",
            "array",
            "Its worklists in order: {id, title, context}.",
            contents.worklists,
            reads="workspace_list",
        ),
    )
    filters = (
        DeepFilter("workspace", "On a matching page.", "workspace_page", BelongsTo("page_id")),
        ChooserFilter("workspace.id", "On a page by id.", "page_id", target="workspace_page"),
    )
    subtotals = Subtotals(
        search=("fieldset", "links", "page.id", "type", "workspace.id"),
        aliases={"page": "page.id", "workspace": "page.id", "workspace.id": "page.id"},
    )

    def prepare(self, change: Change, writing: Writing) -> None:
        contents.require_room(change, writing, "page_id", contents.MAX_TABS)

    def after_delete(self, record: Record, writing: Writing) -> None:
        for uri in ("workspace_widget", "workspace_list"):
            for id in contents.ids_on(writing.tx, uri, "tab_id", record["id"], contents.MAX_ON_TAB):
                writing.delete(uri, id)

    def opened(self, record: Record, view: DictionaryContext) -> None:
        if view.actor.context == WORKER:
            usage_buffer(view.tx.store).visit(view.actor.id, record["page_id"], view.now)
