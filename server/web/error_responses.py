"""The responses to errors of any request, in the format of its site."""

from server import log
from server.errors import HelpdeskError
from server.translation import lazy_gettext
from server.web import error_bodies
from server.web.endpoint_call import Response
from server.web.front import Front
from server.web.site import Request

LOG = log.get("web")


def error_response(front: Front, request: Request, error: BaseException) -> Response:
    """Returns the response to an error. Logs one that no caller can cause, and hides it behind the request id."""
    return _failure(front, request, error) if isinstance(error, HelpdeskError) else _bug(request, error)


def _failure(front: Front, request: Request, error: HelpdeskError) -> Response:
    site = request.site
    status, _ = error_bodies.status_and_code(error)
    headers = error_bodies.headers(error, front.service.base_url)
    own = site.failed(request, error) if site is not None else None
    if own is not None:
        return own
    if site is not None and not site.is_json:
        if request.method == "GET" and "Retry-After" in headers:  # browsers ignore Retry-After
            headers = {**headers, "Refresh": headers["Retry-After"]}
        return Response(status=status, headers=headers, body=error.message.encode(), content_type="text/plain")
    if front.errors_as_200 and status != 401 and request.path.startswith("/rest/"):
        status = 200
    return Response(error_bodies.body(error), status, headers)


def _bug(request: Request, error: BaseException) -> Response:
    LOG.exception("request.failed", of=error, request_id=request.id, path=log.mask_path(request.path))
    message = lazy_gettext(error_bodies.BUG_MESSAGE, id=request.id)
    own = request.site.failure(HelpdeskError(message)) if request.site is not None else None
    return own or Response({"__error": "ERROR_SERVER", "message": message}, 500)
