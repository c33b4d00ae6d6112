"""Filters the response headers of a webhook's script, and adds the content security policy to every response.

Webhooks share the origin of the console. A script can therefore describe its response, but not set a header that
affects the whole origin, that a browser attributes to the console, or that a proxy acts on."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any

from server.automation.webhooks.location import WebhookLocation, set_cookie
from server.dataclass import dataclass
from server.errors import Invalid
from server.template.values import printed

MAX_HEADERS = 50  # per response
MAX_HEADER_CHARS = 8192
POLICY = "Content-Security-Policy"
# A browser isolates a sandboxed response from the console: no cookies, no storage, no access to pages.
SANDBOX = "sandbox allow-forms allow-popups allow-scripts"
NAMES = frozenset(
    """accept accept-patch accept-post accept-ranges access-control-allow-credentials
    access-control-allow-headers access-control-allow-methods access-control-allow-origin access-control-expose-headers
    access-control-max-age age allow cache-control content-disposition content-encoding content-language
    content-location content-range content-security-policy content-type deprecation etag expires last-modified link
    location pragma referrer-policy retry-after server-timing set-cookie sunset vary warning""".split()
)
# Scripts may use custom X- names, except these, which browsers and proxies (nginx, Apache, lighttpd, LiteSpeed,
# perlbal) act on.
ACTED_ON = (
    "x-accel-",
    "x-archive-",
    "x-content-",
    "x-dns-",
    "x-download-",
    "x-frame-",
    "x-lighttpd-",
    "x-litespeed-",
    "x-permitted-",
    "x-reproxy-",
    "x-send",
    "x-source",
    "x-ua-",
    "x-webkit-",
    "x-xss-",
)
_NAME = re.compile(r"[A-Za-z0-9-]{1,100}\Z")


@dataclass
class ResponseHeaders:
    """The headers to send. cookies: the values of Set-Cookie headers. kind: the content type, "" for none. left_out: a
    sentence for each omitted header, with the reason."""

    named: dict[str, str] = field(default_factory=dict)
    cookies: list[str] = field(default_factory=list)
    kind: str = ""
    left_out: list[str] = field(default_factory=list)


def headers_of(values: Any, listener_id: int, place: WebhookLocation) -> ResponseHeaders:
    """Returns the headers of a script that may be sent."""
    headers = ResponseHeaders()
    if values not in (None, "") and not isinstance(values, Mapping):
        headers.left_out.append("the headers were left out: they must be a map of names and values")
    for name, text in _texts(values):
        try:
            _take(headers, name, _plain(text), listener_id, place)
        except Invalid as error:
            headers.left_out.append(f"the header {name[:100]!r} was left out: {error.message}")
    return headers


def as_sent(headers: Mapping[str, str], place: WebhookLocation) -> dict[str, str]:
    """Returns the headers of any webhook response. On the origin of the console, they include the service's own policy
    besides the script's: a browser enforces both, so the script can only restrict further."""
    if place.is_apart:
        return dict(headers)
    own = [text for name, text in headers.items() if name.lower() == POLICY.lower()]
    others = {name: text for name, text in headers.items() if name.lower() != POLICY.lower()}
    return {**others, POLICY: ", ".join((SANDBOX, *own))}


def is_sent(name: str) -> bool:
    """Returns whether a script may set a response header.

    >>> is_sent("X-Order"), is_sent("ETag"), is_sent("X-Frame-Options"), is_sent("Clear-Site-Data")
    (True, True, False, False)"""
    name = name.lower()
    return bool(_NAME.match(name)) and (name in NAMES or (name.startswith("x-") and not name.startswith(ACTED_ON)))


def _texts(values: Any) -> Iterator[tuple[str, Any]]:
    """Yields names and texts; Set-Cookie may have a list of them."""
    for name, each in list(values.items())[:MAX_HEADERS] if isinstance(values, Mapping) else ():
        if name.lower() == "set-cookie" and isinstance(each, list):
            yield from ((name, one) for one in each[:MAX_HEADERS])
        else:
            yield name, each


def _plain(value: Any) -> str:
    text = "" if isinstance(value, (list, dict)) else printed(value)
    if isinstance(value, (list, dict)) or not (text.isascii() and text.isprintable()) or len(text) > MAX_HEADER_CHARS:
        raise Invalid(f"it must be printable ASCII, with at most {MAX_HEADER_CHARS:,}")
    return text


def _take(headers: ResponseHeaders, name: str, text: str, listener_id: int, place: WebhookLocation) -> None:
    if not is_sent(name):
        raise Invalid("webhooks cannot send this header; custom headers begin with X-")
    match name.lower():
        case "content-type":
            headers.kind = text
        case "set-cookie":
            headers.cookies.append(set_cookie(text, listener_id, place))
        case _:
            headers.named[name] = text
