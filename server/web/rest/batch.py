"""Many requests in one, each with its own parameters, rights, scopes and response.

Consecutive small writes share transactions: see records/batches.py. Everything else runs as it would alone."""

import json
from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn

from tornado.httputil import HTTPHeaders

from server import log
from server.dataclass import dataclass
from server.errors import HelpdeskError, Invalid, Required
from server.records import batches
from server.translation import about_field, lazy_gettext
from server.web import entity_tags, envelope, error_bodies
from server.web.endpoint_call import EndpointCall, InnerCall, InnerRequest, Response
from server.web.openapi import shapes
from server.web.routes import Parameter, endpoint

MAX_OPERATIONS = 100
METHODS = ("DELETE", "GET", "PATCH", "POST", "PUT")
KEYS = frozenset(("headers", "method", "params", "path"))
RESULT = shapes.keys(status=shapes.COUNT, headers=shapes.map_of(shapes.TEXT), body=shapes.OBJECT)
LOG = log.get("web")

EMPTY = b'"results":[]'


@endpoint(
    "POST", "batch", "Run up to 100 requests at once. Each has its own response, in the same order, and requires "
    "its own scopes. If one fails, the others still run, unless `all_or_nothing` is set.", "write",
    Parameter("operations", "json", "A list of requests: the `method`, `path`, `params` and `headers` of each.",
              required=True),
    Parameter("all_or_nothing", "boolean", "1: if a request fails, nothing is saved, and the response is its error. "
              "Only for requests that write and need no preparation."),
    size="file", asks_inner=True, response=shapes.keys(results=shapes.list_of(RESULT), failed=shapes.COUNT),
)  # fmt: skip
def batch(call: EndpointCall) -> Response:
    operations = _operations(call)
    in_turn = _together if call.params.flag("all_or_nothing") else _one_by_one
    results = in_turn(call, operations)
    payload: dict[str, Any] = {"results": [], "failed": sum(each.status >= 400 for each in results)}
    whole = envelope.success(payload | ({"notes": call.params.notes} if call.params.notes else {}))
    # The responses are put in as they are: to read them and write them again takes a third of the time.
    body = whole.replace(EMPTY, b'"results":[' + b",".join(map(_spliced, results)) + b"]", 1)
    return Response(body=body, content_type=envelope.CONTENT_TYPE)


@dataclass(frozen=True, slots=True)
class _Operation:
    """An operation of a batch. place: from 0. begin: finds the endpoint, or raises the error of the request."""

    place: int
    begin: Callable[[], InnerCall]


def _operations(call: EndpointCall) -> list[_Operation]:
    """Returns the operations as sent. Raises Required, Invalid, Malformed."""
    sent = call.params.json("operations", required=True)
    if not isinstance(sent, list):
        raise Invalid('operations: send a list, such as [{"method": "GET", "path": "workers/me"}]', field="operations")
    if not sent:
        raise Required("operations: the list is empty", field="operations")
    if len(sent) > MAX_OPERATIONS:
        raise Invalid(f"operations: at most {MAX_OPERATIONS} at once, these are {len(sent)}", field="operations")
    return [_operation(call, place, each) for place, each in enumerate(sent)]


def _operation(call: EndpointCall, place: int, sent: Any) -> _Operation:
    field = f"operations[{place}]"
    if not isinstance(sent, dict) or not isinstance(sent.get("path"), str) or not sent["path"]:
        raise Invalid(f"{field}: send a map with at least a method and a path", field=field)
    unknown = sorted(str(each)[:80] for each in sent.keys() - KEYS)
    if unknown:
        raise Invalid(
            about_field(
                field, lazy_gettext("'{value}' is not one of {known}", value=unknown[0], known=", ".join(sorted(KEYS)))
            ),
            field=field,
        )
    method, params, headers = sent.get("method", "GET"), sent.get("params") or {}, sent.get("headers") or {}
    if method not in METHODS:
        raise Invalid(f"{field}: method is one of {', '.join(METHODS)}", field=field)
    if not isinstance(params, dict) or not isinstance(headers, dict):
        raise Invalid(f"{field}: params and headers are maps", field=field)
    named = HTTPHeaders()
    for name, value in headers.items():
        named[str(name)] = str(value)
    request = InnerRequest(method, _full_path(sent["path"]), params, named)
    return _Operation(place, lambda: call.inner(request))


def _full_path(path: str) -> str:
    """The path of a request by its short form.

    >>> _full_path("workers/me"), _full_path("/rest/workers/me.json")
    ('/rest/workers/me.json', '/rest/workers/me.json')
    """
    path = path if path.startswith("/") else f"/rest/{path}"
    return path if path.endswith(".json") else f"{path}.json"


def _together(call: EndpointCall, operations: list[_Operation]) -> list[Response]:
    """Runs all operations or none. Raises the error of the first that fails, with its place."""
    works = []
    for each in operations:
        try:
            inner = each.begin()
            if not inner.is_small:
                raise Invalid("with all_or_nothing, send requests that write, and need no time before that")
        except HelpdeskError as error:
            raise _named(error, each.place) from error
        works.append(_work(inner))
    try:
        return batches.all_or_nothing(call.ctx, works)
    except batches.Failed as failed:
        raise _named(failed.error, failed.place) from failed.error


def _work(inner: InnerCall) -> Callable[[], Response]:
    return lambda: _result(inner.run())


def _named(error: HelpdeskError, place: int) -> HelpdeskError:
    """Returns the error of an operation as the error of the batch."""
    field = f"operations[{place}]"
    return type(error)(f"{field}: {error.message}; nothing was done", **{**error.details, "field": field, "more": []})


def _one_by_one(call: EndpointCall, operations: list[_Operation]) -> list[Response]:
    """Runs operations in order; consecutive small writes share transactions."""
    results: list[Response] = []
    row: list[Callable[[], Response]] = []

    def alone(work: Callable[[], Response]) -> Response:
        try:
            return work()
        except HelpdeskError as error:
            return entity_tags.rendered(error_bodies.response(error))
        except Exception as error:
            LOG.exception("request.failed", of=error, request_id=call.ctx.request_id, path=call.path)
            body = {
                "__error": "ERROR_SERVER",
                "message": lazy_gettext(error_bodies.BUG_MESSAGE, id=call.ctx.request_id),
            }
            return entity_tags.rendered(Response(body, 500))

    for each in operations:
        try:
            inner = each.begin()
            is_small, work = inner.is_small, _work(inner)
        except HelpdeskError as error:
            is_small, work = False, partial(_raise, error)
        if is_small:
            row.append(work)
            continue
        results += [*batches.each_by_itself(call.ctx, row, alone), alone(work)]
        row.clear()
    return [*results, *batches.each_by_itself(call.ctx, row, alone)]


def _raise(error: HelpdeskError) -> NoReturn:
    raise error


def _result(response: Response) -> Response:
    """Returns the response to one operation. Raises Invalid unless it is JSON."""
    if response.pieces is not None or response.feed is not None or response.feeds:
        raise Invalid("this response is a file or a stream; request it alone")
    return entity_tags.rendered(response)


def _spliced(result: Response) -> bytes:
    headers = json.dumps(result.headers).encode()
    return b'{"body":%b,"headers":%b,"status":%d}' % (result.body or b"{}", headers, result.status)
