"""Addresses of requests, parsed once, so that the validated address is the one that is used.

Stricter than browsers: a host has only one spelling here, and ambiguous addresses are rejected."""

import ipaddress
from urllib.parse import quote, unquote, urljoin, urlsplit

from server.dataclass import dataclass
from server.errors import Invalid, Rejected, nearest
from server.host_names import ascii_host
from server.late_pattern import late_pattern

MAX_URL_CHARS = 2048  # characters
MAX_HOST_CHARS = 253  # characters
PORTS = {"http": 80, "https": 443}

_UNSEEN = late_pattern(r"[\x00-\x1f\x7f\\]|[\ud800-\udfff]")
_LABEL = late_pattern(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?\Z")
_NUMBER = late_pattern(r"([0-9]+|0x[0-9a-f]*)\Z")  # a host with this last label is an IPv4 address in some notation
_BRACKETED = late_pattern(r"\[([^\]]+)\](?::[0-9]*)?\Z")
_SECRET = late_pattern(r"//[^/@]*@")
_LONE_PERCENT = late_pattern(r"%(?![0-9A-Fa-f]{2})")


@dataclass(frozen=True)
class HttpUrl:
    """scheme: http or https. host: lower case, without brackets. target: path and query as sent."""

    scheme: str
    host: str
    port: int
    target: str

    @property
    def origin(self) -> tuple[str, str, int]:
        return self.scheme, self.host, self.port

    @property
    def authority(self) -> str:
        """Host and port for the Host header, without the default port of the scheme."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    @property
    def query(self) -> str:
        return self.target.partition("?")[2]

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}{self.target}"

    def with_query(self, more: str) -> "HttpUrl":
        """Returns a copy with quoted parameters appended to its query."""
        return HttpUrl(self.scheme, self.host, self.port, f"{self.target}{'&' if '?' in self.target else '?'}{more}")

    def is_below(self, base: "HttpUrl") -> bool:
        """Returns whether this is `base` or lies in its folder; False if the path contains `.` or `..`."""
        steps = unquote(self.path).replace("\\", "/").split("/")
        if self.origin != base.origin or ".." in steps or "." in steps:
            return False
        return self.path == base.path or self.path.startswith(base.path.rstrip("/") + "/")


def parsed(text: str) -> HttpUrl:
    """Parses an absolute URL and drops its fragment. Raises Invalid.

    >>> str(parsed("HTTPS://Shop.Example:443/a b?q=ü#top"))
    'https://shop.example/a%20b?q=%C3%BC'
    """
    if len(text) > MAX_URL_CHARS:
        raise _bad(text, f"has {len(text):,} characters, at most {MAX_URL_CHARS:,}")
    text = text.strip(" ")
    if _UNSEEN.search(text):
        raise _bad(text, "has a line break, backslash or control character in it; quote it as %0A, %5C and so on")
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise _bad(text, "has a host or port that cannot be read") from None
    if parts.scheme not in PORTS:
        raise _bad(text, f"is not http or https{nearest(parts.scheme, PORTS)}; write https://host/path")
    if "@" in parts.netloc:
        raise _bad(text, "has a user name or password before the host; send them by `authentication` or in a header")
    if not parts.hostname:
        raise _bad(text, "has no host; write https://host/path")
    if port == 0:
        raise _bad(text, "has the port 0; use 1 to 65535")
    bracketed = _BRACKETED.match(parts.netloc)
    host = _ipv6(bracketed[1], text) if bracketed else host_of(parts.hostname)
    target = _quoted(parts.path, "/") or "/"
    if parts.query:
        target += "?" + _quoted(parts.query, "/?")
    return HttpUrl(parts.scheme, host, port or PORTS[parts.scheme], target)


def following(url: HttpUrl, location: str) -> HttpUrl:
    """Returns the target of a redirect. Raises Rejected if it must not be requested."""
    try:
        if _UNSEEN.search(location):
            raise _bad(location, "has control characters in it")
        return parsed(urljoin(str(url), location))
    except (Invalid, ValueError) as error:
        why = error.message if isinstance(error, Invalid) else "it cannot be read"
        raise Rejected(f"{url.host} redirects to an address that is not allowed: {why}", field="url") from None


def host_of(text: str) -> str:
    """Returns a host in the form for comparison and lookup: lower case, ASCII, without a final dot. Raises Invalid.

    >>> host_of("Bücher.Example.")
    'xn--bcher-kva.example'
    """
    host = text.removesuffix(".")
    try:
        if not host.isascii():
            host = ascii_host(host[: MAX_HOST_CHARS + 1])
    except UnicodeError:
        raise _bad_host(text, "is not a host name") from None
    host = host.lower()
    labels = host.split(".")
    if len(host) > MAX_HOST_CHARS or not all(_LABEL.match(label) for label in labels):
        raise _bad_host(text, "is not a host name")
    if _NUMBER.match(labels[-1]):
        _require_ipv4(host, text)
    return host


def _require_ipv4(host: str, text: str) -> None:
    """Accepts only four decimal numbers: other spellings of an IPv4 address could evade rules."""
    try:
        ipaddress.IPv4Address(host)
    except ValueError:
        raise _bad_host(text, "is no IPv4 address as it is usually written, such as 192.0.2.7") from None


def _ipv6(host: str, text: str) -> str:
    try:
        if "%" in host:
            raise ValueError
        return str(ipaddress.IPv6Address(host))
    except ValueError:
        raise _bad(text, "has no IPv6 address between its brackets") from None


def _quoted(text: str, more: str) -> str:
    return quote(_LONE_PERCENT.sub("%25", text), safe=f"%:@!$&'()*+,;=~-._{more}")


def _bad(url: str, why: str) -> Invalid:
    return Invalid(f"the address '{_shown(url)}' {why}", field="url")


def _bad_host(host: str, why: str) -> Invalid:
    return Invalid(f"the host '{_shown(host)}' {why}", field="url")


def _shown(text: str) -> str:
    """Returns the beginning of an address for messages, without its query, which may contain secrets, and unprintable
    characters."""
    text = _SECRET.sub("//...@", text.partition("?")[0])[:100]
    return "".join(each if each.isprintable() else "�" for each in text)
