"""`sample.geo.points`: points written in the query, to try out maps."""

from server.errors import Invalid
from server.queries.data_query import DataQuery, KeyValues
from server.queries.geography import FORMATS, GeoPoint, coordinates, render_points
from server.queries.query_type import QueryKey, QueryResult, QueryType

POINT = QueryKey(
    "<name>",
    "group",
    "One point.",
    keys=(
        QueryKey(
            "coordinates", "text", "Its location, as POINT(longitude latitude) or latitude, longitude.", required=True
        ),
        QueryKey("<name>", "text", "Its properties, such as its name."),
    ),
)


class SampleGeoPoints(QueryType):
    """The points of each series, in every format of worklist.geo.points."""

    name = "sample.geo.points"
    description = "Points that the query names."
    keys = (QueryKey("series.<id>", "group", "One set of points.", required=True, keys=(POINT,)),)
    formats = ("topojson", *(each for each in FORMATS if each != "topojson"))

    def run(self, query: DataQuery) -> QueryResult:
        series = {
            each.id: [_place(point) for point in each.groups("<name>")] for each in query.values.groups("series.<id>")
        }
        return QueryResult(render_points(series, query.format))


def _place(point: KeyValues) -> GeoPoint:
    try:
        longitude, latitude = coordinates(point.text("coordinates"))
    except Invalid as error:
        raise point.bad("coordinates", error.message) from error
    properties = {each.name: each.texts[0].value for each in point.matching("<name>")}
    return GeoPoint(longitude, latitude, {"name": point.id} | properties)
