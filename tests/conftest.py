"""Fixtures for all tests: a running server with its people for each process, a helpdesk without one for each module."""

import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadFileScheduling

from server.app import GC_THRESHOLDS
from tests.cheap import cheap_hashes
from tests.composed_anew import composed_anew
from tests.records.desk import Desk
from tests.service import Api, Server, people

# Tests start hundreds of processes. Where the environment forbids to keep compiled modules, as that of containers often
# does, each of them would compile the whole program first, which is half of what a start takes.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
cheap_hashes()
composed_anew()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadFileScheduling:
    """The tests of a file run in one process, so that what they share is made once and not in each; files in their
    order, which ends with hundreds of small ones."""
    config.option.loadscopereorder = False
    return LoadFileScheduling(config, log)


def pytest_collection_finish() -> None:
    """All modules and 19,000 tests are there until the end; looking through them again and again, as whatever makes
    objects has it done, would take an eighth of the time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with an empty database, for the tests of this process."""
    started = Server(tmp_path_factory.mktemp("service") / "data")
    yield started
    assert started.stop() == 0


@pytest.fixture(scope="session")
def nora(server: Server) -> Api:
    """The administrator's client, after the set-up page; milo, olga and dora are there too."""
    client = server.set_up()
    people(client)
    return client


@pytest.fixture
def api(nora: Api) -> Api:
    """The client of nora, the administrator; `api.as_("milo")` is another's."""
    return nora


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """An empty helpdesk in this process, for the tests of a module."""
    opened = Desk(tmp_path_factory.mktemp("desk"))
    yield opened
    opened.close()


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """An empty data folder."""
    return tmp_path / "data"
