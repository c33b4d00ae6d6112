"""The client and the host of a request: client addresses behind proxies, and the hosts that a request may name."""

import ipaddress
import re
from functools import lru_cache

from tornado.httputil import HTTPHeaders, RequestStartLine

from server.context import Service
from server.errors import Invalid, Malformed
from server.web.site import Request

_HOST = re.compile(r"(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?")


_ABSOLUTE = re.compile(r"https?://([^/?#]*)([^#]*)", re.IGNORECASE)


def in_origin_form(line: RequestStartLine, headers: HTTPHeaders) -> tuple[RequestStartLine, HTTPHeaders]:
    """Converts a request whose target is a full URL, as sent by proxies: keeps the path, and moves the host to `Host`.

    Follows RFC 9112, section 3.2.2."""
    match = _ABSOLUTE.match(line.path)
    if match is None:
        return line, headers
    if len(headers.get_list("Host")) < 2:  # several Host headers are refused, whatever the target
        headers = headers.copy()
        headers["Host"] = match[1]
    target = match[2] if match[2].startswith("/") else f"/{match[2]}"
    return line._replace(path=target), headers


Networks = tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...]


def networks(listed: tuple[str, ...], setting: str = "trusted_proxies") -> Networks:
    """Parses the addresses and networks of a setting. Raises Invalid with the malformed one."""
    parsed = []
    for each in listed:
        try:
            parsed.append(ipaddress.ip_network(each, strict=False))
        except ValueError:
            raise Invalid(f"{setting}: '{each}' is not an address or network, such as 10.0.0.0/8") from None
    return tuple(parsed)


def client_of(peer: str, headers: HTTPHeaders, proxies: Networks) -> str:
    """Returns the client's address, without a port: that of the peer, or the one that trusted proxies forward for.
    X-Forwarded-For from any other peer is ignored."""
    if not proxies:
        return peer
    hops = [_address_of(hop.strip()) for hop in headers.get("X-Forwarded-For", "").split(",") if hop.strip()]
    client = peer
    while hops and is_within(client, proxies):
        client = hops.pop()
    return client


def _address_of(hop: str) -> str:
    """Returns the address that a proxy reports, without the port that some append.

    >>> [_address_of(hop) for hop in ("192.0.2.1:567", "[2001:db8::1]:567", "[2001:db8::1]", "2001:db8::1", "unknown")]
    ['192.0.2.1', '2001:db8::1', '2001:db8::1', '2001:db8::1', 'unknown']"""
    if hop.startswith("["):
        return hop[1:].partition("]")[0]
    return hop.partition(":")[0] if hop.count(":") == 1 else hop


def is_within(address: str, networks: Networks) -> bool:
    """Whether an address is in one of these networks; False if it is not a valid address."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return False
    if isinstance(parsed, ipaddress.IPv6Address) and parsed.ipv4_mapped:  # an IPv4 peer of a dual-stack socket
        parsed = parsed.ipv4_mapped
    return any(parsed in network for network in networks)


def known_hosts(service: Service) -> frozenset[str]:
    base = service.base_url.partition("://")[2].partition("/")[0]
    names = {"localhost", host_name(base), str(service.settings.host).lower(), service.settings.webhook_host} - {""}
    names.update(str(name).lower() for name in service.settings.trusted_hosts)
    return frozenset(names)


def host_name(host: str) -> str:
    """Returns the name in a Host header, without port."""
    host = host.strip().lower()
    if host.startswith("["):
        return host.partition("]")[0].lstrip("[")
    return host.partition(":")[0].rstrip(".")


@lru_cache(maxsize=64)  # 3 microseconds for each request
def is_known(host: str, known: frozenset[str]) -> bool:
    """Whether the host is an IP address or one of our names, against DNS rebinding; addresses cannot be rebound.
    HTTP/1.0 requests may omit the header."""
    name = host_name(host)
    if not name or name in known:
        return True
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def require_host(request: Request, known: frozenset[str]) -> None:
    """Raises Malformed unless the request has exactly one well-formed Host header."""
    hosts = request.headers.get_list("Host")
    host = hosts[0] if hosts else ""
    if len(hosts) > 1:
        raise Malformed("the request has several Host headers; send one")
    if not host and request.version != "HTTP/1.0":
        raise Malformed("the request has no Host header; send the name of this service")
    if host and not _HOST.fullmatch(host):
        raise Malformed(f"'{host[:100]}' is not a host; send a name or an address, with a port where it has one")
    if not is_known(host, known):
        raise Malformed(f"this service is not called '{host[:100]}'; set base_url or trusted_hosts if it should be")
