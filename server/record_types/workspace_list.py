"""Workspace worklists: saved lists of records of one type on a tab, with filters, columns and order."""

from server import contexts
from server.fields import ContextName, Id, Name, Structure, Text, Uint, UpdatedAt
from server.record_types.record_type import Access, Change, RecordType, Subtotals, Writing
from server.record_types.traits import Comments, CustomFields, Links, Search
from server.record_types.workspaces import contents
from server.record_types.workspaces.view import fields_of
from server.store.tables import Index


class WorkspaceList(RecordType):
    """A list of records on a tab."""

    uri, context = "workspace_list", contexts.WORKSPACE_LIST
    aliases = ("workspace worklist", "workspace worklists", "worklist", "worklists")
    label_names = ("Workspace Worklist", "Workspace Worklists")
    tier = 3
    traits = (Comments(), CustomFields(), Links(), Search())
    access = Access(read="tab", write=("privilege", "tab"))
    fields = {
        "columns": Structure(
            "Names of its columns, as a list; with `+` or `-` in front they are added or removed.",
            16777215,
            is_list=True,
        ),
        "context": ContextName("Record type it lists.", required=True, filter="type"),
        "name": Name("Name; also the label. May come in `view`.", alternatives=("view",)),
        "options": Structure("Settings.", 16777215),
        "params": Structure("Filters that may be changed.", 16777215),
        "params_required": Structure("Filters that always apply.", 16777215, shown=False),
        "params_required_query": Text("Search that always applies.", 65536, shown=False),
        "pos": Uint("Place on the tab, 0 first.", filter="tab.pos"),
        "render_limit": Uint("Rows per page.", default=10, min=1, max=250, filter=None),
        "render_sort": Structure("Column to true for rising or false for falling.", 255),
        "render_subtotals": Text("Column to count by.", filter=None),
        "tab_id": Id(
            f"Tab it is on, with at most {contents.MAX_ON_TAB} others.",
            "workspace_tab",
            required=True,
            filter_note="On a tab by id.",
            deep="On a matching tab.",
            nested_note="Tab it is on.",
        ),
        "updated_at": UpdatedAt(),
        "view": Structure(
            "As packages write it: {title, model}. Stands for name, columns, options, filters, rows, order and "
            "subtotals; what is also sent by itself wins.",
            stored=False,
        ),
    }
    indexes = (Index(("tab_id", "pos"), "the worklists of a tab in order"),)
    subtotals = Subtotals(search=("fieldset", "links", "tab.id", "type"), aliases={"tab": "tab.id"})

    def prepare(self, change: Change, writing: Writing) -> None:
        contents.require_room(change, writing, "tab_id", contents.MAX_ON_TAB)
        view = change.extras.pop("view", None)
        if view:
            change.new |= {name: value for name, value in fields_of(view).items() if name not in change.sent}
