"""Fixtures for all tests: a running server with its people for each process, a helpdesk without a server for each
module."""

import gc
import logging
import os
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from server import log
from server.app import GC_THRESHOLDS
from server.store import schema
from tests import databases
from tests.cheap import cheap_hashes
from tests.collecting import Collecting
from tests.composed_anew import composed_anew
from tests.console.browser import Browser
from tests.in_memory import use_memory
from tests.records.desk import Desk
from tests.service import Api, Server, people

# Tests start hundreds of processes. Containers often disable the bytecode cache; each process would then compile the
# whole program first, half the time of a start.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
# Each TLS context would read the certificates of the system, which takes 40 ms. They sign no server of the tests.
os.environ["SSL_CERT_FILE"] = os.environ["SSL_CERT_DIR"] = os.devnull
cheap_hashes()
composed_anew()
use_memory()

# The scope of `make test ARGS=--store=postgresql`: tests that store something. Some are marked as specific to SQLite.
KEEPING = (
    "access", "api", "automation", "connections", "console", "cookbook", "desk", "help_center", "imports",
    "oauth", "packages",
    "queries", "records", "security", "store", "test_doctor.py", "test_first_start.py", "test_graph_mail.py",
    "test_mail_in.py",
    "test_mail_listener.py", "test_moving.py", "test_processes.py", "test_stopping.py", "test_survival.py",
    "test_tour.py", "web", "writing_assistant",
)  # fmt: skip
BROWSER = "a browser sees no database"
LEFT_OUT = pytest.StashKey[Counter[str]]()
RUNNING = pytest.StashKey[Any]()


class Scopes:
    """Records which databases live for the whole run. A plugin, because session fixtures call no hook of a lower
    conftest."""

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
    """Starts the database that all processes of a run share."""
    config.addinivalue_line("markers", "exhaustive(reason): of everything of a kind; `make test-all` runs it")
    config.addinivalue_line("markers", "sqlite(reason): of a file, or the same with any store; not for PostgreSQL")
    config.pluginmanager.register(Collecting(config))
    config.stash[LEFT_OUT] = Counter()
    if config.getoption("store") == "postgresql":
        config.stash[RUNNING] = databases.start()
        if config.args_source is not pytest.Config.ArgsSource.ARGS:
            config.args = [str(Path(__file__).parent / name) for name in KEEPING]
        config.pluginmanager.register(Scopes())
        schema.opened = databases.opened_in_place(schema.opened)


def pytest_unconfigure(config: pytest.Config) -> None:
    if RUNNING in config.stash:
        config.stash[RUNNING].stop()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With another store deselects tests of SQLite and of the browser, and reports the number by reason."""
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


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    for reason, count in config.stash[LEFT_OUT].most_common():
        terminalreporter.write_line(f"not for postgresql: {count} tests: {reason}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    """Drops a database with the folder of its test, or else with the module."""
    _end_logs()
    folder = getattr(item, "funcargs", {}).get("tmp_path")
    try:
        return (yield)
    finally:
        if folder is not None:
            databases.drop(folder)
        if nextitem is None or nextitem.path != item.path:
            databases.drop()


def _end_logs() -> None:
    """Removes the log handlers of commands that ran in this process. Each writes to the captured stderr of its test;
    when that is closed, a database may get the same file descriptor."""
    root = logging.getLogger()
    root.handlers[:] = [each for each in root.handlers if not isinstance(each, log.LineHandler)]


def pytest_collection_finish() -> None:
    """Freezes the modules and the 19,000 collected tests: they live until the end, and the garbage collector would
    spend an eighth of the run on them, and copy them in each forked process."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with an empty database, for the tests of this process."""
    # More than the service allows a search by default, so that no result depends on how busy the machine is.
    started = Server(tmp_path_factory.mktemp("service") / "data", env={"HELPDESK_READ_SECONDS": "120"})
    yield started
    assert started.stop() == 0


@pytest.fixture(scope="session")
def nora(server: Server) -> Api:
    """The administrator's client after setup; milo, olga and dora exist too."""
    client = server.set_up()
    people(client)
    return client


@pytest.fixture
def api(nora: Api) -> Api:
    """The client of nora, the administrator; `api.as_("milo")` is the client of milo."""
    return nora


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """The browser for the tests of this process, which cannot run two."""
    opened = Browser()
    yield opened
    opened.close()


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
