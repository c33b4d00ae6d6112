"""`ui.icons`: the names of icons."""

from server.queries.data_query import DataQuery
from server.queries.icon_names import ICONS
from server.queries.item_lists import LISTED, filter_items
from server.queries.query_type import QueryResult, QueryType


class UiIcons(QueryType):
    """[{icon}], sorted by name, in pages of `limit:`."""

    name = "ui.icons"
    description = "The names of icons."
    keys = LISTED
    is_quick = True

    def run(self, query: DataQuery) -> QueryResult:
        return filter_items(query.values, [{"icon": name} for name in ICONS], ("icon",))
