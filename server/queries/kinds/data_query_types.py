"""`data.query.types`: the types of data query."""

from server.queries import query_run
from server.queries.data_query import DataQuery
from server.queries.query_type import QueryResult, QueryType
from server.queries.unsupported import UnsupportedQuery


class DataQueryTypes(QueryType):
    """{type: {name, description}} of every supported type."""

    name = "data.query.types"
    description = "The types of data query."
    is_quick = True

    def run(self, query: DataQuery) -> QueryResult:
        return QueryResult(
            {
                name: {"name": name, "description": each.description}
                for name, each in query_run.query_types().items()
                if not isinstance(each, UnsupportedQuery)
            }
        )
