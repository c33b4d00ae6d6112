"""`record.fields`: the writable fields of a record type."""

from typing import Any

from server.queries.data_query import DataQuery
from server.queries.item_lists import LISTED, by_key, filter_items
from server.queries.query_type import OF, QueryResult, QueryType
from server.record_types import describe
from server.record_types.record_type import RecordType
from server.record_types.shared import custom
from server.record_types.traits import CustomFields
from server.store.transaction import Transaction

PATTERN = "custom_<id>"  # replaced by the individual custom fields


class RecordFields(QueryType):
    """{key: {key, type, is_required, is_immutable, notes}}, sorted by key.

    Custom fields have their uri as key and the name of their kind as type."""

    name = "record.fields"
    description = "The fields that records of a type are written with."
    keys = (OF, *LISTED)
    is_quick = True

    def run(self, query: DataQuery) -> QueryResult:
        record_type = query.values.record_type()
        items = [*_own(record_type), *_custom(record_type, query.tx)]
        page = filter_items(query.values, sorted(items, key=lambda each: str(each["key"])), ("key",))
        return by_key(page, "key")


def _own(record_type: RecordType) -> list[dict[str, Any]]:
    return [
        {
            "key": each["name"],
            "type": each["type"],
            "is_required": each["required"],
            "is_immutable": each["immutable"],
            "notes": each["note"],
        }
        for each in describe.fields(record_type)
        if each["name"] != PATTERN
    ]


def _custom(record_type: RecordType, tx: Transaction) -> list[dict[str, Any]]:
    if not record_type.has(CustomFields):
        return []
    return [
        {
            "key": each.uri,
            "type": custom.KINDS.get(each.kind, each.kind),
            "is_required": False,
            "is_immutable": False,
            "notes": each.name,
        }
        for each in custom.definitions(tx).fields_of(record_type.context)
    ]
