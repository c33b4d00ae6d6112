"""Findings about a request itself: whether it reached the service by the address that it is configured with."""

from collections.abc import Iterator
from urllib.parse import urlsplit

from server.translation import N_, _
from server.upkeep.finding import Finding
from server.web.site import Request


def of_request(request: Request, base_url: str) -> Iterator[Finding]:
    """Yields what the check-up says about a request. base_url: the configured address."""
    host = request.headers.get("Host", "")
    if host != urlsplit(base_url).netloc:
        yield Finding(
            N_("address"),
            "warning",
            _("you opened this page at {host}, but links lead to {address}", host=host, address=base_url),
            _("set base_url to the address that everybody uses, or open the console there"),
        )
    else:
        yield Finding(N_("address"), "ok", _("you opened this page at {host}, and links lead there", host=host))
    if request.headers.get("X-Forwarded-For") and request.client == request.peer:
        yield Finding(
            N_("proxy"),
            "warning",
            _("{proxy} forwards requests of others and is not trusted", proxy=request.peer),
            _("set trusted_proxies to its address if it is yours; otherwise all clients appear to have its address"),
        )
