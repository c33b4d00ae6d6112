"""`worklist.records`: one page of the records that match a search."""

from server.queries.data_query import DataQuery
from server.queries.expanding import paths_of
from server.queries.paging import paging
from server.queries.query_type import EXPAND, PAGE, SEARCHED, QueryResult, QueryType

DEFAULT_LIMIT = 25
# {type: rows per page, if not DEFAULT_LIMIT}
LIMITS = dict.fromkeys(
    ("ticket", "address", "org", "call", "activity_log", "calendar_event", "time_entry", "kb_article"), 10
) | {"notification": 100}
ORDERS: dict[str, tuple[tuple[str, bool], ...]] = {"ticket": (("updated", True),)}  # newest first; others by id


class WorklistRecords(QueryType):
    """Records by id in the order of the search; `limit:` and `sort:` belong inside `query:`."""

    name = "worklist.records"
    description = "A page of the records that a search finds."
    keys = (*SEARCHED, EXPAND, PAGE)
    formats = ("dictionaries",)

    def run(self, query: DataQuery) -> QueryResult:
        values = query.values
        record_type = values.record_type()
        searched = values.searched(record_type, ORDERS.get(record_type.uri, ()))
        limit = searched.limit or LIMITS.get(record_type.uri, DEFAULT_LIMIT)
        index = values.number("page", (searched.page or 1) - 1)
        paths = paths_of(values.words("expand"))
        rows, total = searched.search.page(limit, index * limit)
        dictionaries = query.dictionaries().show(record_type, [record_type.record(row) for row in rows], paths)
        data = {str(each["id"]): {"_loaded": True} | each for each in dictionaries}
        return QueryResult(data, {"paging": paging(total, len(rows), limit, index)})
