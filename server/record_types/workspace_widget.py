"""Workspace widgets: elements of workspace dashboards, such as a counter or a chart."""

from server import contexts
from server.fields import Id, Name, Number, Structure, Text, UpdatedAt
from server.record_types.record_type import Access, Change, Expand, RecordType, Subtotals, Writing
from server.record_types.traits import Comments, CustomFields, Links, Search
from server.record_types.workspaces import contents
from server.search.filters import AllWords
from server.store.tables import Index


class WorkspaceWidget(RecordType):
    """A widget of a tab: its kind, its settings and its position."""

    uri, context = "workspace_widget", contexts.WORKSPACE_WIDGET
    aliases = ("workspace widget", "workspace widgets", "widget", "widgets")
    tier = 3
    traits = (Comments(), CustomFields(), Links(), Search())
    access = Access(read="tab", write=("privilege", "tab"))
    fields = {
        "extension_id": Text("Kind of widget; any name is accepted.", required=True, filter="type", match="exact"),
        "label": Name(filter="name"),
        "params": Structure("Settings of the kind."),
        "pos": Number("Place in the zone, 0 first.", min=0, max=255, filter="tab.pos"),
        "tab_id": Id(
            f"Tab it is on, with at most {contents.MAX_ON_TAB} others.",
            "workspace_tab",
            required=True,
            filter_note="On a tab by id.",
            deep="On a matching tab.",
            nested_note="Tab it is on.",
        ),
        "updated_at": UpdatedAt(),
        "width_units": Number("Width, 1 to 4 quarters of the row.", default=1, min=0, max=255, filter="width"),
        "zone": Text(
            "Part of the tab's layout, such as content or sidebar.",
            filter_note="Part of the tab's layout.",
            match="exact",
        ),
    }
    indexes = (Index(("tab_id", "zone", "pos"), "the widgets of a tab in order"),)
    expands = (Expand("data", "object", "What it exports; false for nothing.", contents.widget_data),)
    filters = (AllWords("Bare words are searched in the name.", "label", "partial"),)
    subtotals = Subtotals(search=("fieldset", "links", "tab.id", "type"), aliases={"tab": "tab.id"})
    label_column = "label"

    def prepare(self, change: Change, writing: Writing) -> None:
        contents.require_room(change, writing, "tab_id", contents.MAX_ON_TAB)
