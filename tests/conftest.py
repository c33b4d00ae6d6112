"""Fixtures for all tests: a running server with its people for each process, a helpdesk without one for each module."""

import gc
import os
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from server.app import GC_THRESHOLDS
from server.store import schema
from tests import databases
from tests.cheap import cheap_hashes
from tests.composed_anew import composed_anew
from tests.records.desk import Desk
from tests.scheduling import FileByFile
from tests.service import Api, Server, people

# Tests start hundreds of processes. Where the environment forbids to keep compiled modules, as that of containers often
# does, each of them would compile the whole program first, which is half of what a start takes.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
cheap_hashes()
composed_anew()

# What `make test ARGS=--store=postgresql` runs: what keeps something. Marked as of SQLite are tests within.
KEEPING = (
    "access", "api", "automation", "console", "cookbook", "desk", "imports", "oauth", "packages", "queries", "records",
    "security", "store", "test_doctor.py", "test_first_start.py", "test_mail_in.py", "test_mail_listener.py",
    "test_moving.py", "test_processes.py", "test_stopping.py", "test_survival.py", "test_tour.py", "web",
)  # fmt: skip
BROWSER = "a browser sees no database"
LEFT_OUT = pytest.StashKey[Counter[str]]()
RUNNING = pytest.StashKey[Any]()


class Scopes:
    """Notes which databases are made for the whole run. A plugin, as fixtures of the session ask no conftest below."""

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Iterator[None]:
        outer = databases.begin(fixturedef.scope == "session")
        try:
            return (yield)
        finally:
            databases.begin(outer)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--store", choices=databases.STORES, default="sqlite", help="what keeps the data of the tests")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """The first process starts the database that all processes of a run share."""
    config.addinivalue_line("markers", "sqlite(reason): of a file, or the same with any store; not for PostgreSQL")
    config.stash[LEFT_OUT] = Counter()
    if config.getoption("store") == "postgresql":
        if not hasattr(config, "workerinput"):
            config.stash[RUNNING] = databases.start()
        if config.args_source is not pytest.Config.ArgsSource.ARGS:  # so also in each process of xdist
            config.args = [str(Path(__file__).parent / name) for name in KEEPING]
        config.pluginmanager.register(Scopes())
        schema.opened = databases.opened_in_place(schema.opened)


def pytest_unconfigure(config: pytest.Config) -> None:
    if RUNNING in config.stash:
        config.stash[RUNNING].stop()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With another store leave out what is marked as of SQLite and what needs a browser, and count why."""
    if not databases.is_postgresql():
        return
    reasons = [(item, _reason_not_to(item)) for item in items]
    config.stash[LEFT_OUT].update(reason for _, reason in reasons if reason)
    config.hook.pytest_deselected(items=[item for item, reason in reasons if reason])
    items[:] = [item for item, reason in reasons if not reason]


def _reason_not_to(item: pytest.Item) -> str:
    mark = item.get_closest_marker("sqlite")
    if mark is not None:
        return str(mark.args[0])
    return BROWSER if "chromium" in getattr(item, "fixturenames", ()) else ""


def pytest_sessionfinish(session: pytest.Session) -> None:
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["left_out"] = dict(session.config.stash[LEFT_OUT])


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """All processes have collected the same."""
    node.config.stash[LEFT_OUT] = Counter(getattr(node, "workeroutput", {}).get("left_out", {}))


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    for reason, count in config.stash[LEFT_OUT].most_common():
        terminalreporter.write_line(f"not for postgresql: {count} tests: {reason}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    """A database goes with the folder of its test, or else with the module."""
    folder = getattr(item, "funcargs", {}).get("tmp_path")
    try:
        return (yield)
    finally:
        if folder is not None:
            databases.drop(folder)
        if nextitem is None or nextitem.path != item.path:
            databases.drop()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> FileByFile:
    return FileByFile(config, log)


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
