"""Fixtures for tests of requests to other programs: a server in the clear, one with TLS, limits that let them be."""

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
    """This machine may be reached, by its one address."""
    return RequestLimits(10, 1_000_000, allowed([HOST]))
