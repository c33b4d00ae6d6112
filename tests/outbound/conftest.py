"""Fixtures for tests of requests to other programs: a server in the clear, one with TLS, limits that let them be."""

from collections.abc import Iterator

import pytest

from server.outbound import Limits
from server.outbound.addresses import allowed
from tests.outbound.peer import HOST, Peer


@pytest.fixture(scope="module")
def running() -> Iterator[Peer]:
    with Peer() as peer:
        yield peer


@pytest.fixture
def peer(running: Peer) -> Peer:
    """One server for the tests of a module; each starts with nothing to answer."""
    running.answers.clear()
    running.asked.clear()
    running.connections = 0
    return running


@pytest.fixture(scope="module")
def encrypted() -> Iterator[Peer]:
    with Peer(is_tls=True) as peer:
        yield peer


@pytest.fixture
def bounds() -> Limits:
    """This machine may be reached, by its one address."""
    return Limits(10, 1_000_000, allowed([HOST]))
