"""`helpdesk doctor` reports each problem with a remedy, and also reports checks that pass."""

import json
import os
import socket
import time
from calendar import timegm
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import apsw
import pytest

from server.__main__ import main
from server.errors import Unavailable
from server.records.service_settings import DEFAULT_SENDER, put
from server.records.writing import RecordWriter
from server.settings import BUILD, Settings, load
from server.store import lock
from server.upkeep import backups, checkup
from server.upkeep.finding import Finding
from server.web.monitoring import HEALTH
from tests import databases
from tests.outbound.peer import Peer, answer
from tests.records.desk import NOW, Desk
from tests.service import Server
from tests.smtp_server import SmtpServer

Run = Callable[..., tuple[int, list[dict[str, str]]]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs the command; returns its exit code and its findings."""

    def run_one(data: Path, *arguments: str) -> tuple[int, list[dict[str, str]]]:
        for name, value in databases.environment(data).items():
            monkeypatch.setenv(name, value)
        capsys.readouterr()
        code = main(["doctor", "--json", "--data", str(data), *arguments])
        shown = capsys.readouterr()
        assert shown.err == ""
        return code, json.loads(shown.out)

    return run_one


@pytest.fixture(autouse=True)
def _free_port(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("HELPDESK_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HELPDESK_PORT", "0")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A data folder with a database, at rest."""
    data = tmp_path / "data"
    data.mkdir(mode=0o700)
    Desk(data).close()
    for path in data.iterdir():
        path.chmod(0o600)
    return data


def _part(found: list[dict[str, str]], part: str) -> dict[str, str]:
    (one,) = [each for each in found if each["part"] == part]
    return one


def states(found: Any) -> dict[str, str]:
    return {each["part"]: each["state"] for each in found}


@pytest.mark.sqlite("the file of the database")
def test_a_new_installation_is_well(tmp_path: Path, run: Run) -> None:
    code, found = run(tmp_path / "data")
    assert code == 0 and states(found) == {"settings": "ok", "data folder": "ok", "server": "ok"}
    assert not (tmp_path / "data").exists()


@pytest.mark.sqlite("the file of the database")
def test_a_service_at_rest_is_looked_at_without_a_change(folder: Path, run: Run) -> None:
    before = (folder / "helpdesk.db").read_bytes()
    code, found = run(folder)
    assert code == 0
    assert states(found) == {
        "settings": "ok", "data folder": "ok", "server": "ok", "database": "ok", "search index": "ok", "disk": "ok",
        "clock": "ok", "base URL": "ok", "mail": "warning", "jobs": "ok", "backups": "warning",
    }  # fmt: skip
    assert (folder / "helpdesk.db").read_bytes() == before
    assert all(bool(each["advice"]) == (each["state"] != "ok") for each in found)


@pytest.mark.sqlite("the file of the database")
def test_for_people_it_says_what_to_do_below_what_is_wrong(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--data", str(folder)]) == 0
    lines = capsys.readouterr().out.splitlines()
    place = next(place for place, line in enumerate(lines) if line.startswith("warning  backups: "))
    assert lines[place + 1].startswith("         -> set them up under Backups")


def test_wrong_settings_are_a_problem(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "helpdesk.toml").write_text("prot = 1")
    code, found = run(tmp_path)
    assert code == 1 and len(found) == 1
    assert "did you mean 'port'?" in _part(found, "settings")["found"]


def test_a_file_in_place_of_the_folder_is_a_problem(tmp_path: Path, run: Run) -> None:
    (tmp_path / "file").write_text("x")
    code, (told,) = run(tmp_path / "file")
    assert code == 1 and told["state"] == "problem" and str(tmp_path / "file") in told["found"]


def test_a_folder_that_cannot_be_written_is_a_problem(run: Run) -> None:
    code, found = run(Path("/sys/kernel"))
    told = _part(found, "data folder")
    assert code == 1 and told["state"] == "problem" and "cannot be written" in told["found"]


@pytest.mark.sqlite("the file of the database")
def test_a_folder_readable_by_others_is_reported(folder: Path, run: Run) -> None:
    (folder / "helpdesk.db").chmod(0o644)
    told = _part(run(folder)[1], "data folder")
    assert told["state"] == "warning" and "helpdesk.db" in told["found"] and "chmod" in told["advice"]


def _cut(database: Path) -> None:
    database.write_bytes(database.read_bytes()[:-8192])


def _without_beginning(database: Path) -> None:
    database.write_bytes(bytes(100) + database.read_bytes()[100:])


def _newer(database: Path) -> None:
    connection = apsw.Connection(str(database))
    connection.execute("PRAGMA user_version=99")
    connection.close()


@pytest.mark.sqlite("the file of the database")
@pytest.mark.parametrize("damage", [_cut, _without_beginning, _newer])
def test_a_database_that_cannot_be_used_is_a_problem(folder: Path, run: Run, damage: Callable[[Path], None]) -> None:
    damage(folder / "helpdesk.db")
    code, found = run(folder)
    told = _part(found, "database")
    assert code == 1 and told["state"] == "problem" and "restore" in told["advice"]


def test_a_database_of_an_older_version_is_reported_and_unchanged(folder: Path, run: Run) -> None:
    with databases.opened(folder) as connection:
        connection.execute("DROP TABLE task")
    for _ in range(2):
        code, found = run(folder)
        told = _part(found, "database")
        assert code == 0 and told["state"] == "warning" and "table task is missing" in told["found"]


def test_a_port_that_another_program_has_is_a_problem(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        monkeypatch.setenv("HELPDESK_PORT", str(taken.getsockname()[1]))
        code, found = run(tmp_path / "data")
    told = _part(found, "server")
    assert code == 1 and told["state"] == "problem" and "--port" in told["found"]


def test_a_server_that_runs_is_asked(data: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server(data)  # on a port that is set by a flag
    code, found = run(data)
    assert code == 0 and _part(found, "server")["found"] == f"the server at {server.url} works"
    assert server.url in _part(found, "base URL")["found"]
    (data / lock.NAME).write_text("process 1")  # of a server that does not listen yet: its settings give the port
    failing = b'{"status": "failing", "checks": {"database_writable": false, "scheduler_alive": true}}'
    for body, state, words in ((failing, "problem", "not database_writable"), (b"<html>", "warning", "not respond"),
                               (b"[]", "warning", "another program")):  # fmt: skip
        with Peer() as other:
            other.answers[HEALTH] = answer(body)
            monkeypatch.setenv("HELPDESK_PORT", str(other.port))
            told = _part(run(data)[1], "server")
        assert told["state"] == state and words in told["found"], told
    assert server.stop() == 0


def settings(desk: Desk, **changes: Any) -> Settings:
    return desk.service.settings.replace(**changes)


def only(findings: Iterator[Finding]) -> Finding:
    (one,) = list(findings)
    assert bool(one.advice) == (one.state != "ok")
    return one


@pytest.mark.parametrize(
    ("changes", "state", "words"),
    [
        ({}, "ok", "which only this machine can reach"),
        ({"host": "0.0.0.0"}, "warning", "not set"),
        ({"base_url": "http://localhost:8200"}, "ok", "only this machine"),
        ({"base_url": "http://192.0.2.7"}, "warning", "not encrypted"),
        ({"base_url": "https://192.0.2.7"}, "warning", "no proxy is trusted"),
        ({"base_url": "https://192.0.2.7", "trusted_proxies": ("10.0.0.1",)}, "ok", "https://192.0.2.7"),
        ({"base_url": "https://desk.invalid"}, "problem", "cannot be found"),
    ],
)
def test_the_base_url(desk: Desk, changes: dict[str, Any], state: str, words: str) -> None:
    told = only(checkup.of_base_url(settings(desk, **changes)))
    assert told.state == state and words in told.found


@pytest.mark.parametrize(
    ("free", "state"),
    [(100, "problem"), (201, "ok")],
)
def test_the_disk(desk: Desk, monkeypatch: pytest.MonkeyPatch, free: int, state: str) -> None:
    monkeypatch.setattr(checkup.health, "free_bytes", lambda folder: free * checkup.MIB)
    assert only(checkup.of_disk(desk.service.settings)).state == state


@pytest.mark.sqlite("the file of the database")
def test_a_disk_without_room_for_a_copy_is_reported(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkup.health, "free_bytes", lambda folder: checkup.MIB)
    assert only(checkup.of_disk(settings(desk, disk_free_mib=0))).state == "warning"


@pytest.mark.sqlite("the file of the database")
def test_an_unreadable_index_and_a_grown_log_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = Desk(tmp_path)
    assert only(checkup.of_database(desk.service, NOW)).state == "ok"
    monkeypatch.setattr(checkup, "LARGE_LOG_BYTES", -1)
    log = list(checkup.of_database(desk.service, NOW))[-1]
    assert (log.part, log.state) == ("write-ahead log", "warning") and "for a long time" in log.found and log.advice
    text = desk.registry.texts()[0]
    desk.store.write(lambda tx: tx.connection.execute(f'DROP TABLE "{text.name}"').fetchall())
    broken, _ = checkup.of_database(desk.service, NOW)
    assert broken.state == "problem" and text.name in broken.found and "restore a backup" in broken.advice
    desk.close()


def test_the_clock(desk: Desk) -> None:
    built = timegm(time.strptime(str(BUILD)[:8], "%Y%m%d"))
    assert only(checkup.of_clock(desk.service, built - 1)).state == "problem"
    assert only(checkup.of_clock(desk.service, built)).state == "ok"


def test_a_clock_behind_the_newest_message_is_reported(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    newest = NOW + 10 * 86_400
    desk.own("group", name="Support", is_default=1)
    sender = desk.own("address", email="ana@larch.example")
    desk.own("message", ticket_id=desk.own("ticket", subject="Later", mask="A"), sender_id=sender, created=newest)
    told = {ago: only(checkup.of_clock(desk.service, newest - ago)).state for ago in (301, 300, 0)}
    assert told == {301: "warning", 300: "ok", 0: "ok"}
    desk.close()


def test_unreadable_mailboxes_are_reported(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    login = {"host": "mail.desk.example", "username": "help", "password": "x", "protocol": "imap-ssl"}
    ids = [desk.own("mailbox", name=name, **login) for name in ("Well", "Locked", "Off")]
    troubled = {"num_fails": 3, "last_error": "the password is wrong"}
    desk.store.write(lambda tx: RecordWriter(desk.context(), tx).set("mailbox", ids[1], troubled))
    desk.store.write(lambda tx: RecordWriter(desk.context(), tx).set("mailbox", ids[2], {**troubled, "is_enabled": 0}))
    told = [each for each in checkup.of_mail(desk.service, NOW) if "mailbox" in each.found]
    assert [each.state for each in told] == ["ok", "problem"] and "the password is wrong" in told[1].found
    desk.close()


def test_mail_servers_are_tried(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.own("group", name="Support")
    with SmtpServer() as running, socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))  # bound but not listening, so that the port stays reserved
        port = deaf.getsockname()[1]
        for name, where in (("Up", running.port), ("Down", port)):
            params = {"host": "127.0.0.1", "port": where}
            desk.own("mail_transport", name=name, extension_id="core.mail.transport.smtp", params=params)
        told = list(checkup.of_mail(desk.service, NOW))
    assert [each.state for each in told] == ["ok", "problem", "warning"]
    assert "Up" in told[0].found and f"port {port}" in told[1].found and "Support" in told[2].found
    desk.store.write(lambda tx: put(tx, DEFAULT_SENDER, 1))
    assert [each.state for each in checkup.of_mail(desk.service, NOW)] == ["problem", "problem"]
    desk.close()


@pytest.mark.parametrize(
    ("waiting", "state", "words"),
    [
        ({}, "ok", "0 jobs"),
        ({"jobs_due": 3, "oldest_job_seconds": 899}, "ok", "3 jobs"),
        ({"jobs_due": 3, "oldest_job_seconds": 901}, "warning", "901 seconds"),
        ({"jobs_failed": 2}, "warning", "no longer retried"),
        ({"mail_parked": 2}, "problem", "no mail transport"),
        ({"mail_given_up": 2}, "problem", "2 emails are given up"),
        ({"mail_queued": 3, "mail_failing": 2}, "warning", "2 of 3 emails"),
    ],
)
def test_jobs(desk: Desk, monkeypatch: pytest.MonkeyPatch, waiting: dict[str, int], state: str, words: str) -> None:
    nothing = dict.fromkeys(checkup.health.Backlog.__dataclass_fields__, 0)
    monkeypatch.setattr(checkup.health, "backlog", lambda tx, now: checkup.health.Backlog(**nothing | waiting))
    told = only(checkup.of_jobs(desk.service, NOW))
    assert told.state == state and words in told.found


@pytest.mark.sqlite("the file of the database")
def test_backups(desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def backup_check(now: int = NOW) -> Finding:
        chosen = settings(desk, backup_folder=str(tmp_path))
        return only(checkup.of_backups(replace(desk.service, settings=chosen), now))

    assert only(checkup.of_backups(desk.service, NOW)).state == "warning"
    assert (backup_check().state, backup_check().found) == ("problem", f"there is no backup in {tmp_path}")
    (tmp_path / "helpdesk-20261118-111500.db").write_bytes(b"x")
    assert "on the disk of the data folder" in backup_check().found
    assert backup_check(NOW + 3 * 86_400).state == "problem"
    seen = {"name": "helpdesk-20261118-111500.db", "bytes": 1, "at": NOW, "program": "", "tickets": 0, "problem": "cut"}
    desk.store.write(lambda tx: tx.put(backups.CHECK, seen))
    assert (backup_check().state, backup_check().found) == (
        "problem",
        "the newest, helpdesk-20261118-111500.db, is unusable: cut",
    )
    desk.store.write(lambda tx: tx.delete(backups.CHECK, name=seen["name"]))
    monkeypatch.setattr(backups, "list_backups", _unreadable)
    assert backup_check().state == "problem"


def _unreadable(settings: Settings) -> list[backups.Backup]:
    raise Unavailable("the backup folder cannot be read")


def test_settings_that_are_changed_are_named(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HELPDESK_WRITE_BATCH", "7")
    assert "write_batch" in _part(run(tmp_path / "data")[1], "settings")["found"]
    assert load({}, {}).write_batch != 7
