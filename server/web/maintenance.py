"""Responds while the database is replaced: the service is unavailable for a moment, and clients should retry. No part
of the service runs then."""

import email.utils
from typing import Any

from tornado.httputil import (
    HTTPConnection,
    HTTPHeaders,
    HTTPMessageDelegate,
    HTTPServerConnectionDelegate,
    RequestStartLine,
    ResponseStartLine,
)
from tornado.iostream import StreamClosedError

from server import clock
from server.errors import Unavailable
from server.web import envelope, error_bodies

RETRY_AFTER_SECONDS = 2
MESSAGE = "the database is being restored; the service will be back in a moment"
PAGE = f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Back in a moment</title></head><body><h1>Back in a moment</h1>
<p role="status">{MESSAGE[0].upper()}{MESSAGE[1:]}. This page reloads by itself.</p></body></html>
"""
HEADERS = {
    "Cache-Control": "no-store",
    "Connection": "close",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


class MaintenanceResponder(HTTPServerConnectionDelegate):
    """Responds to every request with 503 and Retry-After."""

    def start_request(self, server_conn: object, request_conn: HTTPConnection) -> HTTPMessageDelegate:
        return _Request(request_conn)


class _Request(HTTPMessageDelegate):
    """One request, whose body is discarded."""

    def __init__(self, connection: HTTPConnection) -> None:
        self._connection = connection
        self._line = RequestStartLine("GET", "/", "HTTP/1.1")
        self._is_for_people = False

    def headers_received(self, start_line: Any, headers: HTTPHeaders) -> None:
        self._line = start_line
        self._is_for_people = "text/html" in headers.get("Accept", "")

    def finish(self) -> None:
        error = Unavailable(MESSAGE, retry_after=RETRY_AFTER_SECONDS)
        status, _ = error_bodies.status_and_code(error)
        headers = HTTPHeaders({**HEADERS, **error_bodies.headers(error), "Date": email.utils.formatdate(clock.now())})
        if self._is_for_people:
            body = PAGE.encode()
            headers["Content-Type"] = "text/html; charset=utf-8"
            if self._line.method in ("GET", "HEAD"):
                headers["Refresh"] = str(RETRY_AFTER_SECONDS)
        else:
            body = envelope.failure(error_bodies.body(error))
            headers["Content-Type"] = envelope.CONTENT_TYPE
        headers["Content-Length"] = str(len(body))
        try:
            line = ResponseStartLine("HTTP/1.1", status, "Service Unavailable")
            self._connection.write_headers(line, headers, b"" if self._line.method == "HEAD" else body)
            self._connection.finish()
        except StreamClosedError:
            pass
