"""`platform.extensions`: the parts of one extension point."""

from server.errors import nearest
from server.queries.data_query import DataQuery
from server.queries.extensions import EXTENSION_POINTS
from server.queries.item_lists import LISTED, filter_items
from server.queries.query_type import QueryKey, QueryResult, QueryType


class PlatformExtensions(QueryType):
    """[{id, name, class, plugin_id, params}] of the point; `class` is opaque."""

    name = "platform.extensions"
    description = "The extensions at an extension point."
    keys = (QueryKey("point", "text", "The id of an extension point.", required=True), *LISTED)
    is_quick = True

    def run(self, query: DataQuery) -> QueryResult:
        values = query.values
        id = values.text("point")
        point = EXTENSION_POINTS.get(id)
        if point is None:
            raise values.bad("point", f"'{id[:80]}' is not an extension point{nearest(id, EXTENSION_POINTS)}")
        parts = [
            {
                "id": each.id,
                "name": each.name,
                "class": point.id,
                "plugin_id": each.plugin_id,
                "params": each.params,
            }
            for each in sorted(point.parts(query.ctx), key=lambda part: part.id)
        ]
        return filter_items(values, parts, ("id", "name"))
