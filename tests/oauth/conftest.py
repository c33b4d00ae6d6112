"""Fixtures for tests of the OAuth2 provider: a helpdesk in this process with apps, and a server with tools for
assistants. Skips the Node.js clients if need be."""

import shutil
from collections.abc import Iterator

import pytest

from tests.oauth.apps import Apps
from tests.records.desk import Desk
from tests.service import Api, Server

# Clients for Node.js can only be tested where Node.js is installed.
IN_NODE = ["test_node_client.py", "test_mcp_client_in_node.py"]
collect_ignore = [] if shutil.which("node") and shutil.which("npm") else IN_NODE


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """One database for all tests of a module."""
    made = Desk(tmp_path_factory.mktemp("oauth"))
    yield made
    made.close()


@pytest.fixture(scope="module")
def ids(desk: Desk) -> dict[str, int]:
    """Ids of nora, milo and olga."""
    return desk.people()


@pytest.fixture(scope="module")
def apps(desk: Desk, ids: dict[str, int]) -> Apps:
    """Apps of all kinds, with logins by milo."""
    return Apps(desk, ids["milo"])


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """A server with the tools for assistants on, and its administrator's client."""
    server = Server(tmp_path_factory.mktemp("signing") / "data", env={"HELPDESK_MCP": "yes"})
    yield server.set_up()
    assert server.stop() == 0


@pytest.fixture
def remembering(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sets the service to remember consent."""
    monkeypatch.setitem(desk.service.settings.__dict__, "oauth_remember_consent", True)
