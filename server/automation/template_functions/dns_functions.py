"""DNS lookups, if the setting `script_dns` allows them: a lookup can leak data of a script to others."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from server.automation.template_functions import template_function
from server.errors import Forbidden
from server.outbound import dns
from server.template.values import printed

if TYPE_CHECKING:
    from server.automation.automation_service import ServiceHost


@template_function("dns_get_record")
def dns_get_record(host: "ServiceHost") -> Callable[..., list[dict[str, Any]]]:
    """Returns the DNS records of a name, of one type; [] for `any` and unsupported types. Raises Forbidden if lookups
    are off, Invalid for an unusable name, Unavailable."""

    def find(name: Any, type: Any) -> list[dict[str, Any]]:
        _require(host)
        kind = printed(type).lower()
        return dns.records(printed(name), kind) if kind in dns.TYPES else []

    return find


@template_function("dns_host_by_ip")
def dns_host_by_ip(host: "ServiceHost") -> Callable[..., str | None]:
    """Returns the host name of an address, null for none. Raises Forbidden if lookups are off, Invalid for an invalid
    address, Unavailable."""

    def find(address: Any) -> str | None:
        _require(host)
        return dns.name_of(printed(address))

    return find


def _require(host: "ServiceHost") -> None:
    if not host.ctx.service.settings.script_dns:
        raise Forbidden("looking up names in DNS is turned off; the setting script_dns allows it")
