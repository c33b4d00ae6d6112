"""Requests that a worker sends to the API through the console: by a token that lives as long as the request."""

import time
from http import HTTPStatus
from urllib.parse import urlencode

from tornado.httputil import HTTPHeaders, RequestStartLine

from server.apps import own_tokens
from server.context import Context
from server.dataclass import dataclass
from server.errors import HelpdeskError
from server.web import entity_tags, error_bodies
from server.web.endpoint_call import Response
from server.web.openapi.flat_operations import FlatRequest
from server.web.openapi.parameters import FORM
from server.web.rest_site import RestSite
from server.web.site import Request


@dataclass(frozen=True)
class OwnResponse:
    """A response of the API, and how many milliseconds it took."""

    response: Response
    ms: float

    @property
    def reason(self) -> str:
        """The reason phrase of the status."""
        return HTTPStatus(self.response.status).phrase


def send(ctx: Context, sent: FlatRequest, client: str, of_app: int = 0, scope: str = "") -> OwnResponse:
    """Sends a request to the API of this process. client: the address of the peer. of_app, scope: as in
    own_tokens.for_one_request. Raises NotFound if there is no app for the token."""
    site, is_read = RestSite(ctx.service), sent.method == "GET"
    encoded = urlencode(sent.fields)
    target = f"{sent.path}?{encoded}" if is_read and encoded else sent.path
    with own_tokens.for_one_request(ctx, of_app, scope) as token:
        headers = HTTPHeaders({**sent.headers, "Authorization": f"Bearer {token}"})
        request = Request(RequestStartLine(sent.method, target, "HTTP/1.1"), headers, client, client)
        if not is_read and encoded:
            headers["Content-Type"] = FORM
            request.body = encoded.encode()
        began = time.perf_counter()
        try:
            request.found = site.resolve(request)
            response = entity_tags.rendered(site.respond(request, None))
        except HelpdeskError as error:
            response = entity_tags.rendered(error_bodies.response(error, ctx.service.base_url))
        ms = round((time.perf_counter() - began) * 1000, 1)
    return OwnResponse(response, ms)
