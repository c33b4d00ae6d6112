"""The head of an answer: its status line and its headers."""

import email.utils
from http import HTTPStatus

from tornado.httputil import HTTPHeaders, ResponseStartLine

from server import clock
from server.web.call import Answer
from server.web.site import UNKNOWN_LENGTH

SECURITY_HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "SAMEORIGIN",
}


def _reason(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Unknown"


_date: tuple[int, str] = (0, "")


def _http_date(now: int) -> str:
    global _date
    if _date[0] != now:
        _date = (now, email.utils.formatdate(now, usegmt=True))
    return _date[1]


def start_line(status: int) -> ResponseStartLine:
    """The first line of an answer."""
    return ResponseStartLine("HTTP/1.1", status, _reason(status))


def head(answer: Answer, kind: str, length: int, close: bool) -> HTTPHeaders:
    """The headers of an answer. kind: its content type, "" for none. length: UNKNOWN_LENGTH for a stream. close:
    whether the connection ends with it."""
    headers = HTTPHeaders()
    headers["Date"] = _http_date(clock.now())
    for name, value in SECURITY_HEADERS.items():
        headers[name] = value
    if kind:
        headers["Content-Type"] = kind
    if answer.status not in (204, 304) and length != UNKNOWN_LENGTH:
        headers["Content-Length"] = str(length)
    for name, value in answer.headers.items():
        headers[name] = value.replace("\r", " ").replace("\n", " ")
    for cookie in answer.cookies:
        headers.add("Set-Cookie", cookie)
    if close:
        headers["Connection"] = "close"
    return headers
