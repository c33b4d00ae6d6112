"""Redirect addresses of OAuth apps: which addresses are valid, and which one a request names. Pure functions.

Addresses are compared character by character (RFC 6749, 8252 and 9700). Only the port of a loopback address may
differ, since programs on a worker's own machine use any free port; its empty path is / (RFC 3986, 6.2.3)."""

import re
from urllib.parse import urlsplit

from server.late_pattern import late_pattern

MAX_CALLBACK_CHARS = 2000
# Browsers handle these schemes themselves, so an app would not receive the code.
NO_APP = frozenset(
    (
        "about",
        "blob",
        "chrome",
        "data",
        "file",
        "filesystem",
        "ftp",
        "javascript",
        "mailto",
        "tel",
        "vbscript",
        "view-source",
        "ws",
        "wss",
    )
)

_CHARACTERS = late_pattern(r"[A-Za-z0-9._~:/?\[\]@!$&'()*+,;=%-]+\Z")
_SCHEME = late_pattern(r"([A-Za-z][A-Za-z0-9+.-]*):")
_AUTHORITY = late_pattern(r"https?://[^/?@]+(?:[/?]|\Z)")
_OWN_MACHINE = late_pattern(r"http://(?:127\.0\.0\.1|\[::1\]|localhost)(?::[0-9]{1,5})?(?:[/?]|\Z)", re.IGNORECASE)
_LOOPBACK = late_pattern(r"(http://(?:127\.0\.0\.1|\[::1\]|localhost))(?::[0-9]{1,5})?((?:[/?].*)?)\Z")


def registered(text: str) -> tuple[str, ...]:
    """The valid addresses of an app, one per line.

    >>> registered("https://a.example/back\\n\\nanything  \\nhttp://127.0.0.1/back")
    ('https://a.example/back', 'http://127.0.0.1/back')
    """
    return tuple(line for each in text.splitlines() if (line := each.strip()) and not problem(line))


def problem(address: str) -> str:
    """The reason why a login cannot redirect to an address, "" if it can.

    >>> problem("https://a.example/back?x=1"), problem("com.example.app:/back"), problem("/back")
    ('', '', 'must begin with https: or the scheme of an app')
    >>> problem("http://localhost:3000/back"), problem("http://a.example/back")
    ('', 'must begin with https:, unless it leads to this machine: others on the network could read the response')
    """
    scheme = _SCHEME.match(address)
    if scheme is None:
        return "must begin with https: or the scheme of an app"
    if len(address) > MAX_CALLBACK_CHARS:
        return f"must have at most {MAX_CALLBACK_CHARS} characters"
    if "#" in address:
        return "must not have a fragment, which is what follows #"
    if not _CHARACTERS.match(address) or re.search(r"%(?![0-9A-Fa-f]{2})", address):
        return "must not hold characters that are not allowed in an address; write them as %XX"
    name = scheme[1].lower()
    if name in NO_APP:
        return f"must not begin with {name}:, which leads to no app"
    if name in ("http", "https") and not _AUTHORITY.match(address):
        return "must name a host, without a user name before it"
    if is_open_to_others(address):
        return "must begin with https:, unless it leads to this machine: others on the network could read the response"
    return "" if _is_readable(address) else "is not an address"


def mistakes(text: str) -> list[tuple[int, str]]:
    """The problems of an app's addresses, one per line: [(line from 1, reason)]. Includes addresses that work but
    should be avoided.

    >>> mistakes("https://a.example/back\\nhttps://a.example/back\\nmailto:x")
    [(2, 'is already on line 1'), (3, 'must not begin with mailto:, which leads to no app')]
    """
    problems, first_lines = [], dict[str, int]()
    for place, each in enumerate(text.splitlines(), 1):
        line = each.strip()
        reason = problem(line) if line else ""
        if line in first_lines:
            reason = f"is already on line {first_lines[line]}"
        elif not reason and "*" in line:
            reason = "is compared character by character; * is not a wildcard"
        if line:
            first_lines.setdefault(line, place)
        if reason:
            problems.append((place, reason))
    return problems


def refusal(line: str) -> str:
    """The reason why an address cannot be saved, "" if it can: a login could never redirect there, or others could read
    the code.

    Text that is not an address can be saved, for apps that only use the token generator.

    >>> refusal("https://a.example/#f"), refusal("none")
    ('must not have a fragment, which is what follows #', '')
    """
    scheme = _SCHEME.match(line)
    if scheme is None:
        return ""
    is_unfit = "#" in line or scheme[1].lower() in NO_APP or is_open_to_others(line)
    return problem(line) if is_unfit else ""


def is_open_to_others(address: str) -> bool:
    """Whether the response of a login would cross a network without encryption."""
    return address.lower().startswith("http:") and not _OWN_MACHINE.match(address)


def match(callbacks: tuple[str, ...], sent: str) -> bool:
    """Whether the requested address is one of the app's addresses.

    >>> match(("http://127.0.0.1/back",), "http://127.0.0.1:49152/back")
    True
    >>> match(("http://localhost",), "http://localhost:49152/")
    True
    >>> match(("https://a.example/back",), "https://a.example/back/")
    False
    """
    if problem(sent):
        return False
    return sent in callbacks or ((portless := _without_port(sent)) != "" and portless in map(_without_port, callbacks))


def origin(address: str) -> str:
    """Scheme and host of an address, for the consent page and its content security policy.

    >>> origin("https://a.example:8443/back?x=1"), origin("com.example.app:/back")
    ('https://a.example:8443', 'com.example.app:')
    """
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc}" if parts.scheme in ("http", "https") else f"{parts.scheme}:"


def is_only_its_own(address: str) -> bool:
    """Whether only the app can receive requests to an address: other programs on a machine can claim a port or a
    scheme."""
    return address.lower().startswith("https:")


def _without_port(address: str) -> str:
    """A loopback address without its port, "" for other addresses."""
    loopback = _LOOPBACK.match(address)
    if loopback is None:
        return ""
    path = loopback[2] if loopback[2].startswith("/") else f"/{loopback[2]}"
    return f"{loopback[1]}{path}"


def _is_readable(address: str) -> bool:
    try:
        port = urlsplit(address).port
    except ValueError:  # unbalanced brackets, or a port that is not a number
        return False
    return port is None or port > 0
