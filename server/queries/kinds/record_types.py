"""`record.types`: all record types."""

from server.errors import BadDataQuery, nearest
from server.queries.data_query import DataQuery, KeyValues
from server.queries.item_lists import LISTED, filter_items
from server.queries.query_type import QueryKey, QueryResult, QueryType
from server.record_types.record_type import RecordType
from server.translation import about_field, lazy_gettext


class RecordTypes(QueryType):
    """[{id, uri, label_singular, label_plural}], sorted by uri. Several `options:` must all hold."""

    name = "record.types"
    description = "The record types, with their names."
    keys = (
        *LISTED,
        QueryKey(
            "options", "list", "Only types that have all of these, such as comments or search; `records` have all."
        ),
    )
    is_quick = True

    def run(self, query: DataQuery) -> QueryResult:
        types = list(query.ctx.service.registry)
        required = _options(query.values, types)
        items = [
            {
                "id": each.context,
                "uri": each.uri,
                "label_singular": each.label_names[0],
                "label_plural": each.label_names[1],
            }
            for each in types
            if required <= each.options
        ]
        return filter_items(query.values, items, ("id", "uri", "label_singular", "label_plural"))


def _options(values: KeyValues, types: list[RecordType]) -> set[str]:
    options = sorted(frozenset[str]().union(*(each.options for each in types)))
    required = values.texts("options")
    for text in required:
        if text.value not in options:
            raise BadDataQuery(
                about_field(
                    "options",
                    lazy_gettext(
                        "'{value}' is not one of {known}{nearest}",
                        value=text.value[:80],
                        known=", ".join(options),
                        nearest=nearest(text.value, options),
                    ),
                ),
                position=text.position,
                field="options",
            )
    return {text.value for text in required}
