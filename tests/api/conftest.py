"""Fixtures for tests of the API: a small helpdesk to be searched."""

from collections.abc import Iterator

import pytest

from tests.api import sample as samples
from tests.api.sample import Sample


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sample]:
    """About thirty tickets and what belongs to them, on a server of its own; nothing may change it."""
    server, seeded = samples.sample(tmp_path_factory.mktemp("sample"))
    yield seeded
    assert server.stop() == 0
