"""Fixtures for tests of the OAuth2 provider: a helpdesk in this process with apps, and which tests there are."""

import shutil
from collections.abc import Iterator

import pytest

from tests.oauth.apps import Apps
from tests.records.desk import Desk

# The client for Node.js is a test where there is a node to run it.
collect_ignore = [] if shutil.which("node") and shutil.which("npm") else ["test_node_client.py"]


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """One database for the tests of a module."""
    made = Desk(tmp_path_factory.mktemp("oauth"))
    yield made
    made.close()


@pytest.fixture(scope="module")
def ids(desk: Desk) -> dict[str, int]:
    """nora, milo, olga."""
    return desk.people()


@pytest.fixture(scope="module")
def apps(desk: Desk, ids: dict[str, int]) -> Apps:
    """Apps of all kinds, and logins by milo."""
    return Apps(desk, ids["milo"])


@pytest.fixture
def remembering(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers are asked once what an app may do."""
    monkeypatch.setitem(desk.service.settings.__dict__, "oauth_remember_consent", True)
