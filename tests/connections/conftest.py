"""Fixtures for tests of connected accounts: a helpdesk without a server, and a provider on this machine."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from server.record_types.registry import Registry, load
from tests.connections.connecting import ConnectingDesk
from tests.oauth_provider import OAuthProvider
from tests.outbound.peer import HOST


@pytest.fixture(scope="session")
def registry() -> Registry:
    """Every record type."""
    return load()


@pytest.fixture
def desk(tmp_path: Path, registry: Registry) -> Iterator[ConnectingDesk]:
    """A helpdesk that may reach this machine."""
    opened = ConnectingDesk(tmp_path, registry)
    opened.service = replace(opened.service, settings=opened.service.settings.replace(outbound_allow=[HOST]))
    opened.nora = opened.worker("Nora", is_superuser=1)
    yield opened
    opened.close()


@pytest.fixture
def provider() -> Iterator[OAuthProvider]:
    with OAuthProvider() as running:
        yield running
