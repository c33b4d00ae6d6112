"""Types of data query that are known and cannot be answered here: callers are told so, instead of "unknown type"."""

from typing import ClassVar

from server.errors import BadDataQuery
from server.queries.data_query import DataQuery
from server.queries.query_type import QueryResult, QueryType


class UnsupportedQuery(QueryType):
    """reason: why, for the message. Its keys are checked anyway."""

    reason: ClassVar[str] = "is not available on this installation"
    is_quick = True

    def run(self, asked: DataQuery) -> QueryResult:
        raise BadDataQuery(f"{self.name} {self.reason}", position=asked.values.at("type"), field="type")
