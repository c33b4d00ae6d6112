"""Data queries over HTTP."""

from server.queries import query_run
from server.web import envelope
from server.web.endpoint_call import EndpointCall, Response
from server.web.openapi import shapes
from server.web.routes import Parameter, endpoint

Q = Parameter("q", "string", "A data query, such as type:worklist.subtotals of:ticket by:[status].", required=True)
QUERY = Parameter("query", "string", "An alternative name for q.")
# Generators make a word of a key's name, and of this one they cannot.
ABOUT: shapes.Schema = shapes.OBJECT | {"title": "About", "description": "The query's `type` and `format`, and more."}
ANSWER = shapes.keys(data=shapes.ANY, _=ABOUT)


@endpoint("GET", "data/query", "Run a data query.", "read", Q, QUERY, response=ANSWER)
def query(call: EndpointCall) -> Response:
    found = query_run.evaluate(call.ctx, call.params.text("query", "") or call.params.text("q", required=True))
    # The order of records in a map, and of columns in a table, is that of the response.
    return Response(body=envelope.success_in_order(found), content_type=envelope.CONTENT_TYPE)


@endpoint(
    "POST",
    "data/query",
    "Run a long data query. The body is the text of the query, or a form or JSON with q.",
    "read",
    Q,
    QUERY,
    text_body="q",
    response=ANSWER,
)
def query_by_post(call: EndpointCall) -> Response:
    return query(call)
