"""Decides which hosts requests may reach: the open internet, and the entries of the setting `outbound_allow`.

A name proves nothing, so the addresses that it resolves to when connecting are checked."""

import ipaddress
from collections.abc import Sequence

from server.dataclass import dataclass
from server.errors import Invalid
from server.outbound.urls import host_of

Network = ipaddress.IPv4Network | ipaddress.IPv6Network

# From the special-purpose address registries of IANA, and 168.63.129.16, the host of virtual machines in Azure.
_CLOSED = tuple(
    ipaddress.ip_network(each)
    for each in (
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "168.63.129.16/32", "169.254.0.0/16",
        "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15",
        "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
        "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20",
    )
)  # fmt: skip
# All other IPv6 addresses are unassigned, local, or contain an IPv4 address that would have to be checked instead.
_OPEN_IPV6 = ipaddress.IPv6Network("2000::/3")


def is_public(address: str) -> bool:
    """Returns whether an address, such as 8.8.8.8 or 2606:4700::1111, belongs to the open internet.

    >>> is_public("8.8.8.8"), is_public("10.1.2.3"), is_public("::ffff:8.8.8.8"), is_public("fe80::1%eth0")
    (True, False, False, False)
    """
    ip = _address(address)
    if ip is None or (ip.version == 6 and ip not in _OPEN_IPV6):
        return False
    return not any(ip in network for network in _CLOSED if network.version == ip.version)


@dataclass(frozen=True)
class Allowlist:
    """Hosts that may be reached besides the internet. names: host names, allowed with any address."""

    networks: tuple[Network, ...] = ()
    names: frozenset[str] = frozenset()

    def lets(self, host: str, address: str) -> bool:
        """Returns whether a connection to this address of this host is allowed."""
        if is_public(address) or host in self.names:
            return True
        ip = _address(address)
        return ip is not None and any(ip in each for each in self.networks if each.version == ip.version)


def allowed(entries: Sequence[str]) -> Allowlist:
    """Parses the setting `outbound_allow`: addresses, networks and host names. Raises Invalid that names the wrong
    entry."""
    networks, names = [], set()
    for each in entries:
        try:
            networks.append(ipaddress.ip_network(each, strict=False))
        except ValueError:
            names.add(_name(each))
    return Allowlist(tuple(networks), frozenset(names))


def _name(text: str) -> str:
    try:
        return host_of(text)
    except Invalid:
        raise Invalid(
            f"outbound_allow: '{text[:100]}' is not an address, network or host, such as 10.0.0.0/8 or erp.example",
            field="outbound_allow",
        ) from None


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None
