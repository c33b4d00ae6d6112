"""Workspace pages: pages of tabs, private or shared."""

from server import contexts
from server.fields import Name, Structure, Text, UpdatedAt
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
from server.record_types.shared import record_owners
from server.record_types.shared.usage_buffer import usage_buffer
from server.record_types.traits import Comments, CustomFields, Links, Search
from server.record_types.workspaces import contents
from server.record_types.workspaces.visits import VISIT
from server.store.tables import Index

VERSION = "workspace_pages"  # of all pages; see Transaction.version
KINDS = {"core.workspace.page.workspace": "Workspace"}


class WorkspacePage(RecordType):
    """A page of tabs, owned by the service, a group, a role or a worker."""

    uri, context = "workspace_page", contexts.WORKSPACE_PAGE
    aliases = ("workspace page", "workspace pages", "page", "pages", "workspace_pages")
    tier = 3
    traits = (Comments(), CustomFields(), Links(), Search())
    access = Access(read="owner", write=("privilege", "owner"))
    fields = {
        "extension_id": Text("Kind of page.", required=True, allowed=tuple(KINDS), filter="type"),
        "extension_params": Structure("Settings of the kind."),
        "name": Name(),
        **record_owners.fields(required=False),
        "updated_at": UpdatedAt(),
    }
    indexes = (Index(("owner__context", "owner_id"), "what somebody owns"),)
    tables = (VISIT,)
    keys = (Key("extension__label", "text", "The kind of page in words.", value=contents.kind_label(KINDS)),)
    expands = (
        Expand("tabs", "records", "Its tabs, in order.", contents.tabs, "workspace_tab"),
        Expand(
            "widgets",
            "records",
            "Its tabs with their widgets and worklists; lands in `tabs`.",
            contents.full_tabs,
            "workspace_widget",
        ),
        Expand(
            "worklists",
            "records",
            "Its tabs with their widgets and worklists; lands in `tabs`.",
            contents.full_tabs,
            "workspace_list",
        ),
    )
    subtotals = Subtotals(search=("fieldset", "owner", "type"), virtual=("owner",))
    bumps = {VERSION: ()}
    has_links_filter = False

    def privileged(self, change: Change, writing: Writing) -> None:
        record_owners.require(change, writing)

    def prepare(self, change: Change, writing: Writing) -> None:
        record_owners.check(change, writing)

    def after_delete(self, record: Record, writing: Writing) -> None:
        for tab_id in contents.ids_on(writing.tx, "workspace_tab", "page_id", record["id"], contents.MAX_TABS):
            writing.delete("workspace_tab", tab_id)
        writing.tx.delete(VISIT, page_id=record["id"])

    def opened(self, record: Record, view: DictionaryContext) -> None:
        if view.actor.context == record_owners.WORKER:
            usage_buffer(view.tx.store).visit(view.actor.id, record["id"], view.now)
