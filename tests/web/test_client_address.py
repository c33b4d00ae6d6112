"""Client addresses behind proxies: which forwarding headers count."""

import pytest
from tornado.httputil import HTTPHeaders

from server.errors import Invalid
from server.web.hosts import client_of, networks


@pytest.mark.parametrize(
    ("peer", "forwarded", "proxies", "client"),
    [
        ("9.9.9.9", "1.2.3.4", (), "9.9.9.9"),
        ("9.9.9.9", "1.2.3.4", ("10.0.0.0/8",), "9.9.9.9"),
        ("10.1.1.1", "1.2.3.4", ("10.0.0.0/8",), "1.2.3.4"),
        ("10.1.1.1", "6.6.6.6, 1.2.3.4, 10.2.2.2", ("10.0.0.0/8",), "1.2.3.4"),
        ("10.1.1.1", "1.2.3.4:567", ("10.0.0.0/8",), "1.2.3.4"),
        ("10.1.1.1", "1.2.3.4:567, 10.2.2.2:80", ("10.0.0.0/8",), "1.2.3.4"),
        ("10.1.1.1", "[2001:db8::7]:567", ("10.0.0.0/8",), "2001:db8::7"),
        ("10.1.1.1", "[2001:db8::7]", ("10.0.0.0/8",), "2001:db8::7"),
        ("10.1.1.1", "", ("10.1.1.1",), "10.1.1.1"),
        ("10.1.1.1", "nonsense", ("10.1.1.1",), "nonsense"),
        ("::1", "2001:db8::7", ("::1",), "2001:db8::7"),
    ],
)
def test_the_client_is_the_last_address_that_is_not_a_trusted_proxy(
    peer: str, forwarded: str, proxies: tuple[str, ...], client: str
) -> None:
    headers = HTTPHeaders({"X-Forwarded-For": forwarded} if forwarded else {})
    assert client_of(peer, headers, networks(proxies)) == client


def test_an_invalid_proxy_address_is_named() -> None:
    with pytest.raises(Invalid, match=r"'proxy\.local' is not an address"):
        networks(("10.0.0.1", "proxy.local"))
