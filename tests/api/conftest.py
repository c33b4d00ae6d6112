"""Fixtures for tests of the API: a small helpdesk to be searched."""

from collections.abc import Iterator

import pytest

from tests.api import sample as samples
from tests.api.post import Post, post_office
from tests.api.sample import Sample


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sample]:
    """About thirty tickets and what belongs to them, on a server of its own; nothing may change it."""
    server, seeded = samples.sample(tmp_path_factory.mktemp("sample"))
    yield seeded
    assert server.stop() == 0


@pytest.fixture(scope="session")
def office(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Post]:
    """A server of its own that sends its mail to a mail server of the tests."""
    with post_office(tmp_path_factory.mktemp("post")) as opened:
        yield opened


@pytest.fixture
def post(office: Post) -> Post:
    """The same, with nothing left to take of what other tests had sent."""
    office.smtp.forget()
    return office
