"""Workspace widgets: what stands on the dashboards of workspaces, such as a counter or a chart."""

from server.fields.link import Id
from server.fields.number import Number
from server.fields.structure import Structure
from server.fields.text import Text
from server.fields.time import Timestamp
from server.records.base import Access, Change, Expand, Nested, RecordType, Subtotals, Writing
from server.records.workspaces import contents
from server.search.filters.date import DateFilter
from server.search.filters.deep import DeepFilter
from server.search.filters.number import ChooserFilter, NumberFilter
from server.search.filters.text import AllWords, TextFilter
from server.search.filters.ways import Behind
from server.store.tables import Index


class WorkspaceWidget(RecordType):
    """A widget of a tab: its kind, its settings and its place. Source: Ours."""

    uri, context = "workspace_widget", "svc.contexts.workspace.widget"
    aliases = ("workspace widget", "workspace widgets", "widget", "widgets")
    label_names = ("Workspace Widget", "Workspace Widgets")
    tier = 3
    features = frozenset(("comments", "custom_fields", "links", "search"))
    access = Access(read="tab", create=("privilege", "tab"), update=("privilege", "tab"), delete=("privilege", "tab"))
    fields = {
        "extension_id": Text("Kind of widget; any name is kept.", required=True),
        "label": Text("Name; also the label.", required=True),
        "params": Structure("Settings of the kind."),
        "pos": Number("Place in the zone, 0 first.", min=0, max=255),
        "tab_id": Id(
            f"Tab it is on, with at most {contents.MAX_ON_TAB} others.", "workspace_tab", required=True, shown=False
        ),
        "updated_at": Timestamp(
            "Last change; set to now on every write unless it is sent.", auto="now", auto_update="now"
        ),
        "width_units": Number("Width, 1 to 4 quarters of the row.", default=1, min=0, max=255),
        "zone": Text("Part of the tab's layout, such as content or sidebar."),
    }
    indexes = (Index(("tab_id", "zone", "pos"), "the widgets of a tab in order"),)
    nested = (Nested("tab", "workspace_tab", "Tab it is on."),)
    expands = (Expand("data", "object", "What it exports; false for nothing.", contents.widget_data),)
    filters = (
        AllWords("Bare words are looked for in the name.", "label", "partial"),
        NumberFilter("id", "Record id.", "id"),
        TextFilter("name", "Name.", "label", "partial"),
        DeepFilter("tab", "On a matching tab.", "workspace_tab", Behind("tab_id")),
        ChooserFilter("tab.id", "On a tab by id.", "tab_id", target="workspace_tab"),
        NumberFilter("tab.pos", "Place in the zone, 0 first.", "pos"),
        TextFilter("type", "Kind of widget.", "extension_id", "exact"),
        DateFilter("updated", "Last change.", "updated_at"),
        NumberFilter("width", "Width, 1 to 4 quarters of the row.", "width_units"),
        TextFilter("zone", "Part of the tab's layout.", "zone", "exact"),
    )
    subtotals = Subtotals(search=("fieldset", "links", "tab.id", "type"), aliases={"tab": "tab.id"})
    label_column = "label"

    def prepare(self, change: Change, writing: Writing) -> None:
        contents.require_room(change, writing, "tab_id", contents.MAX_ON_TAB)
