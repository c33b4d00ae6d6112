"""Fixtures for tests of outgoing requests: a server without TLS, one with TLS, limits that allow both."""

from collections.abc import Iterator

import pytest

from server.outbound import RequestLimits
from server.outbound.allowlist import allowed
from tests.outbound.peer import HOST, Peer


@pytest.fixture
def peer() -> Iterator[Peer]:
    with Peer() as running:
        yield running


@pytest.fixture
def encrypted() -> Iterator[Peer]:
    with Peer(is_tls=True) as running:
        yield running


@pytest.fixture
def bounds() -> RequestLimits:
    """Limits that allow requests to this machine, by one address only."""
    return RequestLimits(10, 1_000_000, allowed([HOST]))
