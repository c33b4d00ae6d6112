"""Which headers a webhook's script may answer with, and the policy that its answer has whatever it asks for.

Webhooks have the address of the console. So a script tells what its answer is, and nothing that holds for the address
as a whole, that a browser takes for the console's word, or that a proxy acts on."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any

from server.automation.webhooks.location import WebhookLocation, set_cookie
from server.dataclass import dataclass
from server.errors import Invalid
from server.template.values import printed

MAX_HEADERS = 50  # of an answer
MAX_HEADER_CHARS = 8192
POLICY = "Content-Security-Policy"
# What comes from here is no part of the console for a browser: it has no cookies, no storage, and cannot read a page.
SANDBOX = "sandbox allow-forms allow-popups allow-scripts"
NAMES = frozenset(
    """accept accept-patch accept-post accept-ranges access-control-allow-credentials
    access-control-allow-headers access-control-allow-methods access-control-allow-origin access-control-expose-headers
    access-control-max-age age allow cache-control content-disposition content-encoding content-language
    content-location content-range content-security-policy content-type deprecation etag expires last-modified link
    location pragma referrer-policy retry-after server-timing set-cookie sunset vary warning""".split()
)
# Names of one's own begin with X-, and so do these, which browsers and proxies (nginx, Apache, lighttpd, LiteSpeed,
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
class AnswerHeaders:
    """What is sent. cookies: the values of Set-Cookie headers. kind: the content type, "" for none. left_out: what is
    not sent, and why, a sentence each."""

    named: dict[str, str] = field(default_factory=dict)
    cookies: list[str] = field(default_factory=list)
    kind: str = ""
    left_out: list[str] = field(default_factory=list)


def headers_of(given: Any, listener_id: int, place: WebhookLocation) -> AnswerHeaders:
    """Those headers of a script that are sent."""
    found = AnswerHeaders()
    if given not in (None, "") and not isinstance(given, Mapping):
        found.left_out.append("the headers were left out: they take a map of names and values")
    for name, text in _texts(given):
        try:
            _take(found, name, _plain(text), listener_id, place)
        except Invalid as error:
            found.left_out.append(f"the header {name[:100]!r} was left out: {error.message}")
    return found


def as_sent(named: Mapping[str, str], place: WebhookLocation) -> dict[str, str]:
    """The headers of any answer of a webhook. Where the console answers too they have the service's policy, beside that
    of the script: a browser obeys both, so the script's can forbid more and allow nothing."""
    if place.is_apart:
        return dict(named)
    own = [text for name, text in named.items() if name.lower() == POLICY.lower()]
    others = {name: text for name, text in named.items() if name.lower() != POLICY.lower()}
    return {**others, POLICY: ", ".join((SANDBOX, *own))}


def is_sent(name: str) -> bool:
    """Whether a script may answer with a header.

    >>> is_sent("X-Order"), is_sent("ETag"), is_sent("X-Frame-Options"), is_sent("Clear-Site-Data")
    (True, True, False, False)
    """
    name = name.lower()
    return bool(_NAME.match(name)) and (name in NAMES or (name.startswith("x-") and not name.startswith(ACTED_ON)))


def _texts(given: Any) -> Iterator[tuple[str, Any]]:
    """Names and texts; Set-Cookie may have a list of them."""
    for name, each in list(given.items())[:MAX_HEADERS] if isinstance(given, Mapping) else ():
        if name.lower() == "set-cookie" and isinstance(each, list):
            yield from ((name, one) for one in each[:MAX_HEADERS])
        else:
            yield name, each


def _plain(value: Any) -> str:
    text = "" if isinstance(value, (list, dict)) else printed(value)
    if isinstance(value, (list, dict)) or not (text.isascii() and text.isprintable()) or len(text) > MAX_HEADER_CHARS:
        raise Invalid(f"it takes a text of printable ASCII characters, at most {MAX_HEADER_CHARS:,}")
    return text


def _take(found: AnswerHeaders, name: str, text: str, listener_id: int, place: WebhookLocation) -> None:
    if not is_sent(name):
        raise Invalid("it is none that webhooks answer with; a name of your own begins with X-")
    match name.lower():
        case "content-type":
            found.kind = text
        case "set-cookie":
            found.cookies.append(set_cookie(text, listener_id, place))
        case _:
            found.named[name] = text
