"""`platform.extension.points`: the extension points of the program."""

from server.queries.data_query import DataQuery
from server.queries.extensions import EXTENSION_POINTS
from server.queries.item_lists import LISTED, filter_items
from server.queries.query_type import QueryResult, QueryType


class PlatformExtensionPoints(QueryType):
    """[{id, name, class}]; `class` is opaque."""

    name = "platform.extension.points"
    description = "The extension points of the program."
    keys = LISTED
    is_quick = True

    def run(self, query: DataQuery) -> QueryResult:
        points = [{"id": each.id, "name": each.name, "class": "extension point"} for each in EXTENSION_POINTS.values()]
        return filter_items(query.values, points, ("id", "name"))
