"""Looks up names in DNS for scripts, by dnspython and the name servers of this machine. Connections use the resolver of
the system instead (connection.py)."""

import ipaddress
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from server.errors import Invalid, Unavailable
from server.host_names import ascii_host

if TYPE_CHECKING:
    from dns.message import Message
    from dns.name import Name

MAX_SERVERS = 2  # servers that are queried in turn
MAX_RECORDS = 100  # entries of one response
MAX_SERVER_BYTES = 65_536  # bytes of the file with the servers
SECONDS = 2.0  # timeout of each server over UDP, and again over TCP
PACKET_BYTES = 1_232  # bytes of a response over UDP, which every network passes without fragments
PORT = 53
TYPES = {
    "a": 1,
    "ns": 2,
    "cname": 5,
    "soa": 6,
    "ptr": 12,
    "mx": 15,
    "txt": 16,
    "aaaa": 28,
    "srv": 33,
    "caa": 257,
}
_ON_WINDOWS = sys.platform == "win32"

Server = tuple[str, int]

# dnspython is imported where it is used: that takes 50 ms, and many services never look up a name.


def records(name: str, type: str, servers: Sequence[Server] | None = None) -> list[dict[str, Any]]:
    """Returns [{host, class, ttl, type, ...}] of one type of record, one of TYPES; with further keys by type, such as
    `ip` or `target`. Returns [] if the name does not exist.

    servers: (address, port), by default those of this machine. Raises Invalid for an unusable name, Unavailable if no
    server responds. Follows RFC 1035, RFC 6891."""
    from dns.exception import DNSException

    query_name = _name(name)
    for server in servers if servers is not None else system_servers():
        try:
            response = _query(server, query_name, type)
        # ValueError: the server's address is invalid.
        except (OSError, EOFError, ValueError, DNSException):
            continue
        if _is_usable(response):
            return _read(response, type)
    raise Unavailable(f"no name server responded for '{name[:80]}'")


def name_of(address: str, servers: Sequence[Server] | None = None) -> str | None:
    """Returns the name of an address, None if it has none. Raises as `records`."""
    try:
        reverse = ipaddress.ip_address(address).reverse_pointer
    except ValueError:
        raise Invalid(f"'{address[:80]}' is no IP address") from None
    names = records(reverse, "ptr", servers)
    return names[0]["target"] if names else None


def system_servers(path: Path = Path("/etc/resolv.conf")) -> list[Server]:
    """Returns the name servers of this machine, from the usual file or the settings of Windows; [] if there are
    none."""
    addresses = _servers_of_windows() if _ON_WINDOWS else _servers_in(path)
    return [(address, PORT) for address in addresses[:MAX_SERVERS]]


def _servers_in(path: Path) -> list[str]:
    # dnspython would use no server if one line is invalid.
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            lines = file.read(MAX_SERVER_BYTES).splitlines()
    except OSError:
        return []
    lines_of_words = [line.split() for line in lines]
    return [words[1] for words in lines_of_words if len(words) > 1 and words[0] == "nameserver"]


def _servers_of_windows() -> list[str]:
    from dns.resolver import NoResolverConfiguration, Resolver

    try:
        return [str(each) for each in Resolver().nameservers]
    except (OSError, NoResolverConfiguration):
        return []


def _name(name: str) -> "Name":
    """Returns a name for a query. Splits labels here, since the parser of dnspython reads a backslash as an escape."""
    from dns.exception import DNSException
    from dns.name import Name

    try:
        labels = [label.encode() for label in ascii_host(name.strip().rstrip(".").lower()).split(".")]
        return Name([*labels, b""])
    except (UnicodeError, DNSException):
        raise Invalid(f"'{name[:80]}' is not a name that can be looked up") from None


def _query(server: Server, name: "Name", type: str) -> "Message":
    """Returns the response of a server; by TCP if it is too long for a packet."""
    from dns.message import make_query
    from dns.query import udp_with_fallback

    address, port = server
    for edns in (0, False):  # old servers reject queries with EDNS, which allow long packets (RFC 6891, 7)
        query = make_query(name, type, use_edns=edns, payload=PACKET_BYTES)
        # Forged or late responses must not end the wait for the right one.
        response, _ = udp_with_fallback(
            query,
            address,
            SECONDS,
            port,
            ignore_unexpected=True,
            one_rr_per_rrset=True,
            ignore_trailing=True,
            ignore_errors=True,
        )
        if not _wants_no_edns(response):
            break
    return response


def _wants_no_edns(response: "Message") -> bool:
    from dns.rcode import BADVERS, FORMERR, NOTIMP

    return response.rcode() in (BADVERS, FORMERR, NOTIMP)


def _is_usable(response: "Message") -> bool:
    from dns.rcode import NOERROR, NXDOMAIN

    return response.rcode() in (NOERROR, NXDOMAIN)


def _read(response: "Message", type: str) -> list[dict[str, Any]]:
    from dns.rdataclass import IN

    kind = type.upper()
    return [
        {"host": _text(each.name), "class": "IN", "ttl": each.ttl, "type": kind} | _READ[type](each[0])
        for each in response.answer[:MAX_RECORDS]
        if each.rdtype == TYPES[type] and each.rdclass == IN  # records of other classes lack these fields
    ]


def _text(name: "Name") -> str:
    """Returns a name without the final dot, "" for the root."""
    text: str = name.to_text(omit_final_dot=True)
    return "" if text == "." else text


def _service(entry: Any) -> dict[str, Any]:
    return {
        "pri": entry.priority,
        "weight": entry.weight,
        "port": entry.port,
        "target": _text(entry.target),
    }


def _authority(entry: Any) -> dict[str, Any]:
    numbers = {name: getattr(entry, name) for name in ("serial", "refresh", "retry", "expire")}
    return {"mname": _text(entry.mname), "rname": _text(entry.rname), **numbers, "minimum-ttl": entry.minimum}


def _texts(entry: Any) -> dict[str, Any]:
    entries = [each.decode("utf-8", "replace") for each in entry.strings]
    return {"txt": "".join(entries), "entries": entries}


def _authorization(entry: Any) -> dict[str, Any]:
    tag, value = entry.tag.decode("ascii", "replace"), entry.value.decode("utf-8", "replace")
    return {"flags": entry.flags, "tag": tag, "value": value}


def _target(entry: Any) -> dict[str, Any]:
    return {"target": _text(entry.target)}


_READ: dict[str, Callable[[Any], dict[str, Any]]] = {
    "a": lambda entry: {"ip": entry.address},
    "aaaa": lambda entry: {"ipv6": entry.address},
    "mx": lambda entry: {"pri": entry.preference, "target": _text(entry.exchange)},
    "ns": _target,
    "cname": _target,
    "ptr": _target,
    "srv": _service,
    "soa": _authority,
    "txt": _texts,
    "caa": _authorization,
}
