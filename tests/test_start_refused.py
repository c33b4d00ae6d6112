"""Conditions that prevent the start of a server or command: one line with a remedy on standard error, and exit code
1."""

import ctypes
import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import apsw
import pytest

from server import app
from server.access.service_actor import own_context
from server.errors import Unavailable
from server.records import records
from server.settings import load
from server.store.schema import SCHEMA_NUMBER
from server.web import connections
from tests.service import ROOT, Server, command, started, surroundings

DROP_CAPABILITY, READ_AND_WRITE_ANYTHING = 24, (1, 2)  # Linux: prctl() and its option to drop capabilities of root


def _refused(done: CompletedProcess[bytes], *words: str) -> None:
    """Requires exit code 1, an empty standard output, and one line on standard error that contains the words."""
    lines = done.stderr.decode().splitlines()
    assert done.returncode == 1 and done.stdout == b"", done
    assert len(lines) == 1 and lines[0].startswith("helpdesk: "), lines
    for word in words:
        assert word in lines[0], lines[0]


def _serve(data: Path, *flags: str, **options: Any) -> CompletedProcess[bytes]:
    return command("serve", "--port", "0", "--no-open", *flags, data=data, **options)


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A running server."""
    server = Server(tmp_path_factory.mktemp("used") / "data")
    yield server
    server.stop()


def _file(data: Path) -> Path:
    data.write_text("a file, not a folder")
    return data


def _below_a_file(data: Path) -> Path:
    return _file(data) / "deeper"


def _below_proc(data: Path) -> Path:
    return Path("/proc/helpdesk-data")


def _read_only_system(data: Path) -> Path:
    return Path("/sys/kernel")


def _database_is_a_folder(data: Path) -> Path:
    (data / "helpdesk.db").mkdir(parents=True)
    return data


def _lock_is_a_folder(data: Path) -> Path:
    (data / "helpdesk.lock").mkdir(parents=True)
    return data


FOLDERS = [_file, _below_a_file, _below_proc, _read_only_system, _database_is_a_folder, _lock_is_a_folder]


@pytest.mark.parametrize("make", FOLDERS, ids=lambda make: make.__name__.strip("_"))
def test_an_unusable_data_folder_is_reported_in_one_line(data: Path, make: Callable[[Path], Path]) -> None:
    folder = make(data)
    _refused(_serve(folder), str(folder))


@pytest.mark.parametrize(
    "arguments",
    [
        ("worker", "create", "--email", "a@desk.example", "--first-name", "A"),
        ("token", "create", "--worker", "a@desk.example"),
        ("mail", "import", "-"),
        ("check",),
    ],
    ids=lambda arguments: arguments[0],
)
def test_commands_report_a_bad_folder_in_one_line_too(data: Path, arguments: tuple[str, ...]) -> None:
    _refused(command(*arguments, data=_below_a_file(data), stdin=b"From: a@b.example\n\nx"), str(data))


def _bound_by_permissions() -> None:
    """Drops the capabilities by which a process of root ignores file permissions."""
    if os.geteuid() == 0:
        for capability in READ_AND_WRITE_ANYTHING:
            ctypes.CDLL(None).prctl(DROP_CAPABILITY, capability, 0, 0, 0)


def test_a_read_only_folder_is_reported_in_one_line(data: Path) -> None:
    data.mkdir()
    data.chmod(0o500)
    _refused(_serve(data, preexec_fn=_bound_by_permissions), "cannot be written", str(data), "--data")
    data.chmod(0o700)
    assert list(data.iterdir()) == []


def test_a_read_only_database_is_reported_in_one_line(data: Path) -> None:
    Server(data).stop()
    (data / "helpdesk.db").chmod(0o400)
    _refused(_serve(data, preexec_fn=_bound_by_permissions), "cannot be written", "permissions")


def test_a_port_in_use_is_reported_in_one_line(data: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        _refused(command("serve", "--port", port, "--no-open", data=data), port, "--port")


def test_a_foreign_host_is_reported_in_one_line(data: Path) -> None:
    _refused(_serve(data, "--host", "192.0.2.1"), "192.0.2.1")


@pytest.mark.parametrize("role", ["web", "worker"])
def test_half_a_server_on_a_file_is_refused(data: Path, role: str) -> None:
    _refused(_serve(data, "--role", role), f"role is '{role}'", "one process, which does everything")


def test_a_second_server_on_a_folder_is_refused(used: Server) -> None:
    _refused(_serve(used.data), str(used.process.pid), "stop it first")


def test_the_first_server_goes_on_after_the_second_was_refused(used: Server) -> None:
    _serve(used.data)
    assert used.process.poll() is None
    assert command("check", data=used.data).returncode == 0


@pytest.fixture
def stopped(data: Path) -> Path:
    """The database of a stopped server."""
    Server(data).stop()
    return data / "helpdesk.db"


def _newer(database: Path) -> None:
    connection = apsw.Connection(str(database))
    connection.execute(f"PRAGMA user_version={SCHEMA_NUMBER + 1}")
    connection.close()


def _without_beginning(database: Path) -> None:
    database.write_bytes(bytes(100) + database.read_bytes()[100:])


def _of_another_program(database: Path) -> None:
    connection = apsw.Connection(str(database))
    connection.execute("PRAGMA application_id=7")
    connection.close()


FILES = [(_newer, "newer version"), (_without_beginning, "restore a backup"), (_of_another_program, "another program")]


@pytest.mark.parametrize(("change", "words"), FILES, ids=[change.__name__.strip("_") for change, _ in FILES])
def test_a_database_that_is_not_ours_is_refused_and_left_as_it_is(
    stopped: Path, change: Callable[[Path], None], words: str
) -> None:
    change(stopped)
    before = stopped.read_bytes()
    _refused(_serve(stopped.parent), words)
    _refused(command("worker", "create", "--email", "a@b.example", "--first-name", "A", data=stopped.parent), words)
    _refused(command("check", data=stopped.parent), words)
    assert stopped.read_bytes() == before
    assert not list(stopped.parent.glob("helpdesk.db?*"))


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data folder of a killed server: the last writes are in the write-ahead log."""
    server = Server(tmp_path_factory.mktemp("killed") / "data")
    server.kill()
    return server.data


@pytest.mark.parametrize("is_there", [True, False])
def test_a_log_without_its_database_is_refused_and_kept(killed: Path, data: Path, is_there: bool) -> None:
    shutil.copytree(killed, data)
    log = (data / "helpdesk.db-wal").read_bytes()
    assert log
    (data / "helpdesk.db").unlink()
    if is_there:
        (data / "helpdesk.db").touch()
    _refused(_serve(data), "helpdesk.db-wal holds", "move helpdesk.db-wal away")
    _refused(command("worker", "create", "--email", "a@b.example", "--first-name", "A", data=data), "helpdesk.db-wal")
    assert (data / "helpdesk.db-wal").read_bytes() == log
    shutil.copy(killed / "helpdesk.db", data)
    assert command("check", data=data).returncode == 0


def test_a_service_that_cannot_be_opened_leaves_its_files_to_others(tmp_path: Path) -> None:
    """A restore can then roll back and exchange the files; a leftover connection would continue with the wrong ones."""
    settings = load({}, {}, data_folder=tmp_path)
    service = app.open_service(settings)
    records.create(own_context(service), "custom_record", {"name": "Car", "name_plural": "Cars", "uri": "car"})
    service.store.close()
    database = tmp_path / "helpdesk.db"
    connection = apsw.Connection(str(database))
    connection.execute("UPDATE custom_record SET params = '{\"owners\": []}'")
    connection.close()
    with pytest.raises(AttributeError):
        app.open_service(settings)
    assert not database.with_name("helpdesk.db-wal").exists()


def test_a_framework_that_is_too_old_is_refused_before_anything_is_made(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections.tornado, "version_info", (6, 5, 4, 0))
    with pytest.raises(Unavailable, match=r"Tornado 6\.6 or newer is needed"):
        app.serve(load({"data": str(data)}, {}), lambda service: {}, lambda running: None, lambda: load({}, {}))
    assert not data.exists()


@pytest.mark.sqlite("the file of the database")
@pytest.mark.parametrize("table", ["worker", "version", "job"])
def test_a_damaged_table_is_reported_in_single_lines(table: str, tmp_path: Path) -> None:
    data = tmp_path / "data"
    person = ("--email", "nora@desk.example", "--first-name", "Nora", "--admin")
    assert command("worker", "create", *person, data=data).returncode == 0
    file = data / "helpdesk.db"
    connection = apsw.Connection(str(file))
    [(root, size)] = connection.execute(
        "SELECT rootpage, page_size FROM sqlite_schema, pragma_page_size WHERE name = ?", (table,)
    )
    connection.close()
    content = bytearray(file.read_bytes())
    content[(root - 1) * size : root * size] = b"\xa5" * size
    file.write_bytes(content)
    serve = ["server", "serve", "--port", "0", "--no-open", "--data", str(data)]
    process = started(serve, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=ROOT, env=surroundings(data))
    lines = []
    assert process.stdout is not None
    for line in process.stdout:
        lines.append(line)
        if line.startswith(b"data "):  # it has started anyway
            process.send_signal(signal.SIGTERM)
    process.wait(60)
    assert any(b"the database file is damaged; restore a backup" in each for each in lines), lines
    assert [each for each in lines if each.startswith((b" ", b"Traceback"))] == []
