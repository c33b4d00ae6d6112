"""Backups and restores the way users make them: by command next to a running server, and by the server."""

import resource
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from server.__main__ import main
from server.store import backup
from server.upkeep.backups import NAME
from tests.clients import Clients
from tests.service import Api, Server, command
from tests.test_survival import _every_ticket_has_its_message

BACKUPS = 2


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, Api]]:
    folder = tmp_path_factory.mktemp("backups")
    server = Server(folder / "data", env={"HELPDESK_BACKUP_FOLDER": str(folder / "kept")})
    yield server, server.set_up()
    assert server.stop() == 0


def _backup(file: Path, data: Path) -> None:
    done = command("backup", str(file), data=data)
    assert done.returncode == 0 and done.stdout.decode().startswith(f"{file}: "), done


@pytest.mark.exhaustive("backups beside a load")
def test_backups_under_load_are_sound_and_hold_what_was_acknowledged_before(
    shared: tuple[Server, Api], tmp_path: Path
) -> None:
    server, nora = shared
    acknowledged: dict[str, dict[int, str]] = {}
    for number in range(BACKUPS):
        clients = Clients(nora, f"load{number}", 20, 8)
        assert clients.reached.wait(60)
        acknowledged = {uri: dict(rows) for uri, rows in clients.acknowledged.items()}
        _backup(tmp_path / f"{number}.db", server.data)
        during = {uri: len(rows) for uri, rows in clients.acknowledged.items()}
        clients.stop()
        clients.join()
        assert sum(during.values()) >= sum(len(rows) for rows in acknowledged.values())
        read = command("backup", "verify", str(tmp_path / f"{number}.db"), data=server.data)
        assert read.returncode == 0 and not read.stderr
    _restored_holds(tmp_path / f"{BACKUPS - 1}.db", tmp_path / "restored", nora, acknowledged)


def _restored_holds(file: Path, data: Path, nora: Api, acknowledged: dict[str, dict[int, str]]) -> None:
    done = command("restore", str(file), data=data)
    assert done.returncode == 0 and b"helpdesk.db is" in done.stdout, done
    server = Server(data)
    api = Api(server.url, nora.token)
    [entry] = api.search("activity_log", "activity:backup.restored").ok()["results"]
    assert entry["params"]["variables"]["actor"] == "Command line"
    for uri, rows in acknowledged.items():
        for id in rows:
            assert api.record(uri, id).status == 200, (uri, id)
    _every_ticket_has_its_message(api)
    assert api.create("task", title="goes on").status == 200
    assert server.stop() == 0
    assert command("check", data=data).stdout == b"the database is intact\n"


def test_a_restore_is_refused_while_a_server_runs(shared: tuple[Server, Api], tmp_path: Path) -> None:
    server, nora = shared
    _backup(tmp_path / "one.db", server.data)
    done = command("restore", str(tmp_path / "one.db"), data=server.data)
    assert done.returncode == 1 and b"stop it first" in done.stderr and str(server.process.pid).encode() in done.stderr
    assert nora.create("task", title="still here").status == 200


def test_a_backup_of_the_command_line_leaves_the_log_to_the_server(shared: tuple[Server, Api], tmp_path: Path) -> None:
    server, nora = shared
    id = nora.create("task", title="in the log").ok()["id"]
    _backup(tmp_path / "one.db", server.data)
    assert nora.record("task", id).ok()["title"] == "in the log"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["one.db"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("backup", "{dir}"), "is a folder; enter a file in it"),
        (("backup", "{dir}/absent/one.db"), "No such file or directory"),
        (("backup", "verify", "{dir}/absent.db"), "there is no backup"),
        (("backup", "verify", "{dir}/text.db"), "not a backup of this program"),
        (("restore", "{dir}/absent.db"), "there is no backup"),
        (("restore", "{dir}/text.db"), "not a backup of this program"),
        (("backup", "{dir}/two.db", "--data", "{dir}/absent"), "there is no database"),
    ],
)
def test_errors_are_reported_in_one_line(
    shared: tuple[Server, Api], tmp_path: Path, arguments: tuple[str, ...], words: str,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    (tmp_path / "text.db").write_text("no database\n" * 20)
    assert main([each.format(dir=tmp_path) for each in _with_data(arguments, shared)]) == 1
    shown = capsys.readouterr()
    assert words in shown.err and shown.out == "" and shown.err.startswith("helpdesk: ") and shown.err.count("\n") == 1
    assert [each.name for each in tmp_path.iterdir()] == ["text.db"]


def _with_data(arguments: tuple[str, ...], shared: tuple[Server, Api]) -> list[str]:
    return [*arguments, *([] if "--data" in arguments else ["--data", str(shared[0].data)])]


def test_a_disk_that_fills_up_leaves_no_backup_and_the_server_goes_on(
    shared: tuple[Server, Api], tmp_path: Path
) -> None:
    server, nora = shared
    (tmp_path / "kept").mkdir()
    done = command("backup", str(tmp_path / "kept" / "one.db"), data=server.data, preexec_fn=_small_files)
    assert done.returncode == 1 and b"no space is left" in done.stderr and b"Traceback" not in done.stderr
    assert list((tmp_path / "kept").iterdir()) == []
    assert nora.create("task", title="unharmed").status == 200


def _small_files() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))


def test_a_restore_brings_back_what_was_and_keeps_what_is(data: Path, tmp_path: Path) -> None:
    server = Server(data)
    nora = server.set_up()
    id = nora.create("task", title="before").ok()["id"]
    _backup(tmp_path / "one.db", data)
    nora.update("task", id, title="after").ok()
    later = nora.create("task", title="later").ok()["id"]
    assert server.stop() == 0
    done = command("restore", str(tmp_path / "one.db"), data=data)
    assert done.returncode == 0 and b"the previous database is" in done.stdout
    _shows(data, nora, {id: "before"}, later)
    (kept,) = data.glob("helpdesk.db.before-restore-*")
    connection = apsw.Connection(str(kept))
    titles = dict(connection.execute("SELECT id, title FROM task WHERE id IN (?, ?)", (id, later)).fetchall())
    connection.close()
    assert titles == {id: "after", later: "later"}


def _shows(data: Path, nora: Api, titles: dict[int, str], absent: int) -> None:
    server = Server(data)
    api = Api(server.url, nora.token)
    assert {id: api.record("task", id).ok()["title"] for id in titles} == titles
    assert api.record("task", absent).status == 404
    assert server.stop() == 0


def test_a_server_makes_its_backups_by_itself(shared: tuple[Server, Api]) -> None:
    server, nora = shared
    folder = server.data.parent / "kept"
    while not (made := [each for each in folder.glob("*.db") if NAME.match(each.name)]):
        assert nora.get("/rest/workers/me.json").status == 200  # the first scan at the start creates one
    assert backup.verify(made[0]).tables["worker"] >= 0
    assert made[0].stat().st_mode & 0o077 == 0 and folder.stat().st_mode & 0o077 == 0
