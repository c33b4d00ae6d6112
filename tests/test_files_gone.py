"""The files of the database are removed while the service runs: no write is acknowledged that would be lost."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.service import Api, Server
from tests.telling import telling


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, Api]]:
    server = Server(tmp_path_factory.mktemp("gone") / "data")
    yield server, server.set_up()
    assert server.stop() == 0


def _health(api: Api, wanted: int) -> bool:
    """Whether the files are in place, once /health has this status: it caches the state of the disk for a moment."""
    for _ in range(10_000):
        reply = api.get("/health")
        if reply.status == wanted:
            return bool(reply["checks"]["files_in_place"])
    raise AssertionError(reply)


def _log(server: Server) -> str:
    return Path(server.log.name).read_text()


FILES = {"folder": "", "database": "helpdesk.db", "log": "helpdesk.db-wal", "index": "helpdesk.db-shm"}


@pytest.mark.parametrize("name", telling(FILES, ("database",), "every file"))
def test_a_write_without_its_files_is_503_and_so_is_health_until_they_are_back(
    running: tuple[Server, Api], name: str
) -> None:
    server, api = running
    before = api.found("org", "")
    file = server.data / name
    away = file.rename(f"{file}.away")
    refused = api.create("org", name="Lost")
    assert refused.status == 503, refused
    assert "was removed or replaced" in refused["message"] and int(refused.headers["Retry-After"]) > 0
    assert api.search("org").status == 503
    assert _health(api, 503) is False
    assert "database.files_gone" in _log(server)
    away.rename(file)
    assert _health(api, 200) is True
    made = api.create("org", name="Kept").ok()["id"]
    assert api.found("org", "") == [*before, made]
    assert "database.files_back" in _log(server)


def test_a_folder_that_was_removed_is_no_place_to_write_to(tmp_path: Path) -> None:
    server = Server(tmp_path / "data")
    api = server.set_up()
    shutil.rmtree(server.data)
    assert api.create("org", name="Lost").status == 503
    assert _health(api, 503) is False
    assert server.stop() == 0
    assert "Traceback" not in _log(server)
