"""The service survives kills, stop signals, and commands run next to it, all under load."""

import random
import signal
from pathlib import Path

import pytest
import requests

from tests.clients import Clients, found
from tests.console.visitor import Visitor
from tests.service import Api, Server, command

pytestmark = pytest.mark.exhaustive("kills and commands beside sixteen clients")

KILLS, CLIENTS = 12, 16
WRITES_BEFORE_A_KILL = (1, 240)
STOP_SECONDS = 60  # more than a stop takes on a busy machine
RESTORE = "/admin/backups/restore"


def _sound(data: Path) -> None:
    checked = command("check", data=data)
    assert (checked.returncode, checked.stdout) == (0, b"the database is intact\n"), checked


def _all_there(api: Api, name: str, clients: Clients, unanswered: int) -> None:
    """Checks that all acknowledged records are unchanged, and that at most the unconfirmed requests were added."""
    more = 0
    for uri, acknowledged in clients.acknowledged.items():
        rows = found(api, uri, f"{name}x")
        assert {id: rows.get(id) for id in acknowledged} == acknowledged
        more += len(rows) - len(acknowledged)
    assert more <= unanswered


def test_no_acknowledged_write_is_lost_in_twelve_kills_under_sixteen_clients(data: Path) -> None:
    chance = random.Random(20)
    server = Server(data)
    token = server.set_up().token
    acknowledged: dict[str, dict[int, str]] = {}
    for kill in range(KILLS):
        api = Api(server.url, token)
        clients = Clients(api, f"kill{kill}", chance.randint(*WRITES_BEFORE_A_KILL), CLIENTS)
        assert clients.reached.wait(60)
        server.kill()
        clients.join()
        for uri, names in clients.acknowledged.items():
            acknowledged.setdefault(uri, {}).update(names)
        server = Server(data)
        _all_there(Api(server.url, token), f"kill{kill}", clients, CLIENTS)
    api = Api(server.url, token)
    _every_ticket_has_its_message(api)
    for uri, names in acknowledged.items():
        assert names.items() <= found(api, uri, "kill").items()
    assert server.stop() == 0
    _sound(data)


def _every_ticket_has_its_message(api: Api) -> None:
    total = api.search("ticket", "").ok()["total"]
    assert total > 0
    assert api.search("ticket", "messages.count:1").ok()["total"] == total
    assert api.search("message", "").ok()["total"] == total


def test_a_server_that_is_told_to_stop_finishes_what_it_took(data: Path) -> None:
    server = Server(data)
    token = server.set_up().token
    clients = Clients(Api(server.url, token), "stop", 100, CLIENTS)
    assert clients.reached.wait(60)
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(STOP_SECONDS) == 0
    clients.join()
    assert set(clients.refused) <= {503}
    assert not list(data.glob("*-wal"))  # the log is checkpointed into the file
    server.stop()
    server = Server(data)
    _all_there(Api(server.url, token), "stop", clients, CLIENTS)
    assert server.stop() == 0
    _sound(data)


def test_ctrl_c_stops_as_politely(data: Path) -> None:
    server = Server(data)
    server.process.send_signal(signal.SIGINT)
    assert server.process.wait(STOP_SECONDS) == 0
    server.stop()


def test_commands_work_beside_a_busy_server(data: Path, tmp_path: Path) -> None:
    server = Server(data)
    nora = server.set_up()
    clients = Clients(nora, "busy", 50, 8)
    try:
        assert clients.reached.wait(60)
        _make_worker(nora, data)
        _import(nora, data, tmp_path)
        _sound(data)
        assert command("describe", "--json", data=data).returncode == 0
    finally:
        assert server.stop() == 0
        clients.join()
    server = Server(data)
    _all_there(Api(server.url, nora.token), "busy", clients, 8)
    assert server.stop() == 0


def _make_worker(nora: Api, data: Path) -> None:
    """A running server accepts a worker and a token that commands have created, at the next request."""
    made = command("worker", "create", "--email", "ben@desk.example", "--first-name", "Ben", data=data)
    assert made.returncode == 0, made.stderr
    id = int(made.stdout)
    assert nora.record("worker", id).ok()["first_name"] == "Ben"
    issued = command("token", "create", "--worker", "ben@desk.example", data=data)
    assert issued.returncode == 0, issued.stderr
    assert Api(nora.url, issued.stdout.decode().strip()).get("/rest/workers/me.json").ok()["id"] == id


def _import(nora: Api, data: Path, folder: Path) -> None:
    mail = folder / "one.eml"
    mail.write_bytes(b"From: zoe@larch.example\nTo: support@desk.example\nSubject: By command\n\nHello\n")
    done = command("mail", "import", str(mail), data=data)
    assert done.returncode == 0, done.stderr
    (ticket,) = nora.search("ticket", 'subject:"By command"').ok()["results"]
    assert nora.search("message", f"ticket.id:{ticket['id']}").ok()["total"] == 1


@pytest.mark.sqlite("the file of the database")
def test_a_server_that_is_killed_while_it_restores_has_the_one_database_or_the_other(data: Path) -> None:
    """Killed while the backup is copied, and while the service is suspended for the exchange; then restored again."""
    env = {"HELPDESK_BACKUP_FOLDER": str(data.parent / "kept")}
    server = Server(data, env=env)
    nora = server.set_up()
    id = nora.create("task", title="then").ok()["id"]
    name = data.parent / "kept" / "uploaded-20260101-000000.db"
    assert command("backup", str(name), data=data).returncode == 0
    nora.update("task", id, title="now").ok()
    for ends in ({200, 503, 303}, {503, 303}):  # 303: restored, and the visitor has to sign in
        visitor = _restoring(server, name)
        while _status(visitor) not in ends:
            pass
        server.kill()
        server = Server(data, env=env)
        assert not list(data.glob("*.restoring*"))
        api = Api(server.url, nora.token)
        assert api.record("task", id).ok()["title"] in ("then", "now")
        api.update("task", id, title="now").ok()
    visitor = _restoring(server, name)
    while _status(visitor) != 303:
        pass
    assert Api(server.url, nora.token).record("task", id).ok()["title"] == "then"
    assert server.stop() == 0
    _sound(data)


def _restoring(server: Server, name: Path) -> Visitor:
    """A visitor who has just started to restore a backup."""
    visitor = Visitor(server.url)
    assert visitor.sign_in().status_code == 303
    path = f"/admin/backups/{name.stem}"
    assert visitor.send(f"{path}/restore", {"typed": name.name}, page=path).status_code == 303
    return visitor


def _status(visitor: Visitor) -> int:
    """The status of the progress page; 503 for a missing response."""
    try:
        return visitor.get(RESTORE).status_code
    except requests.ConnectionError:
        return 503
