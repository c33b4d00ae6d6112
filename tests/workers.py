"""Runs tests in several processes, which are forked once all files have been read.

pytest-xdist reads all files in each process and sends every report through several layers, which takes a twentieth of
the processor time of a run."""

import mmap
import os
import struct
import sys
import time
import traceback
import warnings
from collections import deque
from collections.abc import Iterator
from itertools import groupby
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from typing import Any

import pytest

REPORTS_SECONDS = 0.1  # between two messages of a process with reports
PLACE = struct.Struct("q")  # of the running test of a process, in shared memory
NONE = -1


class Workers:
    """A plugin. A process runs all tests of a file, which share its fixtures, and then asks for the next file."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._left: deque[list[int]] = deque()  # files, as places of their tests
        self._running: dict[Connection, Worker] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        options = session.config.option
        is_broken = session.testsfailed and not options.continue_on_collection_errors
        if self._count < 1 or options.collectonly or options.usepdb or is_broken or not session.items:
            return None  # which leaves them to pytest itself
        places = range(len(session.items))
        self._left += (list(each) for _, each in groupby(places, lambda place: session.items[place].path))
        session.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]  # one for all processes
        reporter = session.config.pluginmanager.getplugin("terminalreporter")
        if reporter is not None:
            reporter.showfspath = False  # results of several files alternate
        try:
            for _ in range(min(self._count, len(self._left))):
                self._start(session, [])
            while self._running:
                for connection in wait(list(self._running)):
                    assert isinstance(connection, Connection)
                    self._receive(session, self._running[connection])
                    if session.shouldfail:
                        raise session.Failed(session.shouldfail)
                    if session.shouldstop:
                        raise session.Interrupted(session.shouldstop)
        finally:
            for each in self._running.values():
                each.connection.close()  # the process ends after its test
            for each in self._running.values():
                os.waitpid(each.pid, 0)
        return True

    def _start(self, session: pytest.Session, places: list[int]) -> None:
        """Forks a process, which first runs the tests at these places."""
        ours, its = Pipe()
        place = mmap.mmap(-1, PLACE.size)
        PLACE.pack_into(place, 0, NONE)
        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if pid:
            its.close()
            self._running[ours] = Worker(ours, pid, place, dict.fromkeys(places))
            return
        code = 1
        try:
            ours.close()
            for each in self._running.values():
                each.connection.close()
            _work(session, its, place, places)
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)

    def _receive(self, session: pytest.Session, worker: "Worker") -> None:
        """Handles a message, or the end of a process."""
        try:
            message = worker.connection.recv()
        except (EOFError, ConnectionError):
            self._end(session, worker)
            return
        if message is None:
            places = self._left.popleft() if self._left else []
            worker.places.update(dict.fromkeys(places))
            worker.connection.send(places)
            return
        done, events = message
        for name, values in events:
            if name == "pytest_runtest_logreport":
                report = session.config.hook.pytest_report_from_serializable(config=session.config, data=values)
                session.config.hook.pytest_runtest_logreport(report=report)
            else:
                getattr(session.config.hook, name).call_historic(kwargs=values)
        for place in done:
            del worker.places[place]

    def _end(self, session: pytest.Session, worker: "Worker") -> None:
        """Reports the test that ended a process, and starts another process for the tests that it has not run."""
        del self._running[worker.connection]
        worker.connection.close()
        _, status = os.waitpid(worker.pid, 0)
        if not worker.places and not status:
            return
        place = PLACE.unpack_from(worker.place)[0]
        if place not in worker.places:
            raise RuntimeError(f"a process of the tests ended without a test: {os.waitstatus_to_exitcode(status)}")
        item = session.items[place]
        del worker.places[place]
        words = f"the process ended while it ran '{item.nodeid}': {os.waitstatus_to_exitcode(status)}"
        report = pytest.TestReport(item.nodeid, item.location, {}, "failed", words, "call")
        session.config.hook.pytest_runtest_logreport(report=report)
        self._start(session, list(worker.places))


class Worker:
    """A process, as the first process sees it. places: of the tests that it has not reported."""

    def __init__(self, connection: Connection, pid: int, place: mmap.mmap, places: dict[int, None]) -> None:
        self.connection, self.pid, self.place, self.places = connection, pid, place, places


# -- in a forked process -----------------------------------------------------------------------------------------------


class Reporting:
    """A plugin that sends reports and warnings to the first process."""

    def __init__(self, config: pytest.Config, connection: Connection) -> None:
        self._config = config
        self._connection = connection
        self._is_whole = bool(config.option.durations is not None or config.option.xmlpath)
        self._done: list[int] = []
        self._events: list[tuple[str, Any]] = []
        self._sent_at = time.monotonic()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if self._is_whole or report.when == "call" or not report.passed:
            data = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
            self._events.append(("pytest_runtest_logreport", data))

    def pytest_warning_recorded(
        self, warning_message: warnings.WarningMessage, when: str, nodeid: str, location: tuple[str, int, str] | None
    ) -> None:
        message = warnings.WarningMessage(
            str(warning_message.message), warning_message.category, warning_message.filename, warning_message.lineno
        )
        values = {"warning_message": message, "when": when, "nodeid": nodeid, "location": location}
        self._events.append(("pytest_warning_recorded", values))

    def end(self, place: int) -> None:
        """Sends what has happened, at the end of a test, unless that was done a moment ago."""
        self._done.append(place)
        if time.monotonic() - self._sent_at > REPORTS_SECONDS:
            self.send()

    def send(self) -> None:
        self._connection.send((self._done, self._events))
        self._done, self._events = [], []
        self._sent_at = time.monotonic()


def _work(session: pytest.Session, connection: Connection, place: mmap.mmap, first: list[int]) -> None:
    config = session.config
    for name in ("terminalreporter", "terminalprogress-plugin"):  # the first process shows results
        if config.pluginmanager.has_plugin(name):
            config.pluginmanager.unregister(name=name)
    capture = config.pluginmanager.getplugin("capturemanager")
    capture.stop_global_capturing()  # its file is that of the first process
    capture.start_global_capturing()
    capture.suspend_global_capture()
    reporting = Reporting(config, connection)
    config.pluginmanager.register(reporting)
    try:
        places = _places(connection, first)
        running = next(places, None)
        while running is not None and not session.shouldfail and not session.shouldstop:
            following = next(places, None)
            PLACE.pack_into(place, 0, running)
            item, after = session.items[running], None if following is None else session.items[following]
            config.hook.pytest_runtest_protocol(item=item, nextitem=after)
            reporting.end(running)
            running = following
        reporting.send()
    except (KeyboardInterrupt, ConnectionError, EOFError):
        pass  # the run was stopped
    finally:
        session._setupstate.teardown_exact(None)  # stops servers if the run was stopped


def _places(connection: Connection, first: list[int]) -> Iterator[int]:
    """The places of the tests to run, file by file."""
    yield from first
    while True:
        connection.send(None)
        places = connection.recv()
        if not places:
            return
        yield from places
