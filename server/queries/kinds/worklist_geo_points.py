"""`worklist.geo.points`: records with a geolocation as points on a map."""

from dataclasses import replace
from typing import Any

from server.counting.chart_points import MAX_POINTS, points, raw_field
from server.counting.dimensions.date_bins import DateDimension
from server.counting.dimensions.dimension import Dimension, Member
from server.counting.dimensions.dimension_names import Fields
from server.counting.dimensions.plain import FlagDimension, NumberDimension
from server.errors import BadDataQuery, nearest
from server.queries.data_query import DataQuery, KeyValues
from server.queries.geography import FORMATS, GeoPoint, coordinates, render_points
from server.queries.labels import labels
from server.queries.query_type import OF, QUERY, QUERY_REQUIRED, QueryKey, QueryResult, QueryType
from server.record_types.record_type import RecordType
from server.record_types.shared.custom import GEO, CustomFilter, definitions
from server.search.ast import SearchValue, Term
from server.search.compile import SearchScope
from server.search.conditions import all_of

MAX_FIELDS = 20
SERIES = QueryKey(
    "series.<id>",
    "group",
    "One set of points.",
    required=True,
    keys=(
        OF,
        QUERY,
        QUERY_REQUIRED,
        QueryKey("label", "text", "Label in tables; the id when omitted."),
        QueryKey("point", "text", "The geolocation field; the first one of fields: when absent."),
        QueryKey("fields", "list", "Properties of each point."),
    ),
)


class WorklistGeoPoints(QueryType):
    """Only records with a location count; without `limit:` all of them, up to MAX_POINTS. `series` in `_` has the
    record type and the ids of each set of points, in their order."""

    name = "worklist.geo.points"
    description = "Records with a geolocation as points on a map."
    keys = (SERIES,)
    formats = FORMATS

    def run(self, query: DataQuery) -> QueryResult:
        groups = list(query.values.groups("series.<id>"))
        series_labels = labels(groups)
        places, found = {}, {}
        for label, values in zip(series_labels, groups, strict=True):
            name = label if query.format == "table" else values.id
            places[name], ids = _places(query, values)
            found[name] = {"context": values.record_type().context, "label": label, "ids": ids}
        return QueryResult(render_points(places, query.format), {"series": found})


def _places(query: DataQuery, values: KeyValues) -> tuple[list[GeoPoint], list[int]]:
    """The points of a series, and the ids of their records."""
    record_type = values.record_type()
    searched = values.searched(record_type)
    dictionaries = query.dictionaries()
    where, others = _fields(values, record_type, searched.search.scope)
    fields = Fields(searched.search, dictionaries)
    dimensions = [raw_field(text, fields, f"field{place}") for place, text in enumerate((where, *others))]
    located = record_type.filter_named(where.value, searched.search.scope)
    assert located is not None
    has_one = located.condition(
        Term(where.value, SearchValue("null", False, where.position), True, 0), searched.search.scope
    )
    search = replace(searched.search, condition=all_of([searched.search.condition, has_one]))
    located_records = points(search, dimensions, searched.limit or MAX_POINTS + 1)
    if len(located_records) > MAX_POINTS:
        raise values.bad("query", f"more than {MAX_POINTS} points; narrow the search or give it a limit:")
    names = record_type.labels(dictionaries, [each.record for each in located_records])
    places = []
    for each in located_records:
        longitude, latitude = coordinates(each.members[0].label)
        properties: dict[str, Any] = {"name": names[each.record["id"]]}
        for text, dimension, member in zip(others, dimensions[1:], each.members[1:], strict=True):
            properties[text.value] = _property(dimension, member)
        places.append(GeoPoint(longitude, latitude, properties))
    return places, [each.record["id"] for each in located_records]


def _fields(values: KeyValues, record_type: RecordType, scope: SearchScope) -> tuple[SearchValue, list[SearchValue]]:
    """Returns the geolocation field and the other fields."""
    fields = list(values.texts("fields"))
    if len(fields) > MAX_FIELDS:
        raise values.bad("fields", f"at most {MAX_FIELDS} fields, these are {len(fields)}")
    if "point" in values:
        where = values.texts("point")[0]
        if not _is_location(record_type, where.value, scope):
            geo_filters = [
                each.filter for each in definitions(scope.tx).fields_of(record_type.context) if each.kind == GEO
            ]
            raise BadDataQuery(
                f"point: '{where.value[:80]}' is not a geolocation field of {record_type.uri}"
                f"{nearest(where.value, geo_filters)}",
                position=where.position,
                field="point",
            )
    else:
        locations = [text for text in fields if _is_location(record_type, text.value, scope)]
        if not locations:
            raise values.bad("fields", "name a geolocation field, here or as 'point:'")
        where = locations[0]
    return where, [text for text in fields if text.value != where.value]


def _is_location(record_type: RecordType, name: str, scope: SearchScope) -> bool:
    filter = record_type.filter_named(name, scope)
    return isinstance(filter, CustomFilter) and filter.field.kind == GEO


def _property(dimension: Dimension, member: Member) -> Any:
    """Returns a number as such, a record or choice by its label, and null for no value."""
    is_plain = isinstance(dimension, (NumberDimension, DateDimension)) and not isinstance(dimension, FlagDimension)
    if is_plain or member.value in ("", None):
        return None if member.key in ("", None) else member.value
    return member.label
