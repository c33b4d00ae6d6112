"""Known but unsupported types of data query, which raise a specific error instead of "unknown type"."""

from typing import ClassVar

from server.errors import BadDataQuery
from server.queries.data_query import DataQuery
from server.queries.query_type import QueryResult, QueryType


class UnsupportedQuery(QueryType):
    """reason: shown in the message. Its keys are validated all the same."""

    reason: ClassVar[str] = "is not available on this installation"
    is_quick = True

    def run(self, query: DataQuery) -> QueryResult:
        raise BadDataQuery(f"{self.name} {self.reason}", position=query.values.at("type"), field="type")
