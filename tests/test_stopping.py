"""Stop signals and clock changes: current work is completed, and due work is done once."""

import resource
import signal
import socket
import threading
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import requests

from tests import databases
from tests.automation.test_http import ALLOW
from tests.automation.test_webhooks import Hook
from tests.clients import Clients, found
from tests.console.visitor import Visitor
from tests.outbound.peer import HOST, Asked, Peer, answer
from tests.service import Api, Server, command

STOP_SECONDS = 60  # more than a stop takes on a busy machine
HOUR = 3600
CLIENTS = 16
ASKS = """
start:
  http.request:
    output: got
    inputs:
      method: GET
      url: URL
  record.create:
    output: made
    inputs:
      record_type: task
      fields:
        title: after the answer
  return:
    body: {{got.body}}
"""
POLICY = f"{ALLOW}  record.create:\n    allow@bool: yes\n"


def test_a_request_that_waits_for_others_is_finished_before_the_server_stops(data: Path) -> None:
    """Two different stop signals, while a webhook waits for another program and sixteen clients write."""
    asked, go = threading.Event(), threading.Event()

    def when_told(request: Asked) -> bytes:
        asked.set()
        assert go.wait(60)
        return answer("from far away")

    with Peer() as peer:
        peer.answers["/slow"] = when_told
        server = Server(data, env={"HELPDESK_OUTBOUND_ALLOW": "127.0.0.1", "HELPDESK_STOP_SECONDS": "60"})
        nora = server.set_up()
        hook = Hook(nora, ASKS.replace("URL", peer.url("/slow")), policy=POLICY)
        answers: list[requests.Response] = []
        calling = threading.Thread(target=lambda: answers.append(hook.call("GET")))
        calling.start()
        assert asked.wait(60)
        clients = Clients(nora, "stop", 60, CLIENTS)
        assert clients.reached.wait(60)
        for each in (signal.SIGTERM, signal.SIGTERM, signal.SIGINT):
            server.process.send_signal(each)
        clients.join()
        assert set(clients.refused) <= {503} and server.process.poll() is None
        go.set()
        calling.join()
        assert server.process.wait(STOP_SECONDS) == 0
    assert [(each.status_code, each.text) for each in answers] == [(200, "from far away")]
    server.stop()
    _is_all_there(data, nora.token, clients)


def test_a_server_that_is_told_to_stop_sends_others_away_before_it_stops(data: Path) -> None:
    """For a load balancer: not ready at once, but still responding, and each connection ends with its response."""
    server = Server(data, env={"HELPDESK_STOP_GRACE_SECONDS": "600"})
    nora = server.set_up()
    assert nora.session.get(f"{server.url}/health", timeout=60).headers.get("Connection") != "close"
    server.process.send_signal(signal.SIGTERM)
    for _ in range(20_000):
        health = requests.get(f"{server.url}/health", timeout=60)
        if health.status_code == 503:
            break
    told = health.json()
    assert told["status"] == "problem"
    assert [name for name, is_well in told["checks"].items() if not is_well] == ["takes_requests"]
    made = nora.session.post(f"{server.url}/rest/records/task/create.json", {"fields[title]": "late"}, timeout=60)
    assert (made.status_code, made.headers["Connection"]) == (200, "close")
    assert server.process.poll() is None
    assert server.stop() == 0  # sends a second signal


def test_requests_of_connections_that_were_just_made_are_answered(data: Path) -> None:
    """Their connections are not yet accepted when the signal arrives: a balancer does not repeat them elsewhere."""
    server = Server(data)
    nora = server.set_up()
    form = b"fields[title]=late"
    head = (
        f"POST /rest/records/task/create.json HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {nora.token}\r\n"
        f"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {len(form)}\r\n\r\n"
    )
    server.process.send_signal(signal.SIGSTOP)
    waiting = [socket.create_connection((HOST, urlsplit(server.url).port or 0), timeout=60) for _ in range(CLIENTS)]
    for each in waiting:
        each.sendall(head.encode() + form)
    server.process.send_signal(signal.SIGTERM)
    server.process.send_signal(signal.SIGCONT)
    # Reads each connection to its end: some get a response before the signal is seen, without "Connection: close".
    answers = [each.makefile("rb").read() for each in waiting]
    assert {each.partition(b"\r\n")[0] for each in answers} == {b"HTTP/1.1 200 OK"}
    for each in waiting:
        each.close()
    assert server.process.wait(STOP_SECONDS) == 0
    server.stop()


@pytest.mark.sqlite("the file of the database")
def test_a_disk_that_takes_no_more_writes_does_not_break_the_stop(data: Path) -> None:
    """Acknowledged writes are in the write-ahead log, which the next start reads."""
    server = Server(data)
    nora = server.set_up()
    nora.create("task", title="before the disk refused").ok()
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (1, resource.RLIM_INFINITY))
    assert nora.create("task", title="refused").status == 507
    assert server.stop() == 0
    server = Server(data)
    rows = Api(server.url, nora.token).search("task", "").ok()["results"]
    assert [row["title"] for row in rows] == ["before the disk refused"]
    assert server.stop() == 0
    assert command("check", data=data).stdout == b"the database is intact\n"


def _is_all_there(data: Path, token: str, clients: Clients) -> None:
    server = Server(data)
    api = Api(server.url, token)
    assert api.search("task", 'title:"after the answer"').ok()["total"] == 1
    for uri, acknowledged in clients.acknowledged.items():
        assert acknowledged.items() <= found(api, uri, "stopx").items()
    assert server.stop() == 0
    assert command("check", data=data).stdout == b"the database is intact\n"


def test_a_clock_that_goes_back_and_forward_loses_nothing_and_does_nothing_twice(data: Path, tmp_path: Path) -> None:
    """An hour ahead, then right, then two hours ahead: a reminder for the second hour is sent once, tokens and sessions
    created ahead of time stay valid, and jobs run only at their due times."""
    env = {"HELPDESK_BACKUP_FOLDER": str(tmp_path / "kept")}
    server = Server(data, seconds_off=HOUR, env=env)
    nora = server.set_up()
    me = nora.get("/rest/workers/me.json").ok()["id"]
    visitor = Visitor(server.url)
    assert visitor.sign_in().status_code == 303 and visitor.is_in
    first = nora.create("task", title="made an hour ahead").ok()["id"]
    reminder = nora.create("reminder", name="Oil the pump", remind_at="+30 minutes", worker_id=me).ok()["id"]
    assert server.stop() == 0
    for seconds_off, is_told in ((0, False), (2 * HOUR, True)):
        server = Server(data, seconds_off=seconds_off, env=env)
        api, visitor.url = Api(server.url, nora.token), server.url
        assert visitor.is_in
        assert api.record("task", first).ok()["title"] == "made an hour ahead"
        assert api.create("task", title="goes on").ok()["id"] > first
        for _ in range(20_000):
            if api.record("reminder", reminder).ok()["is_closed"] == is_told:
                break
        told = api.search("notification", f"worker.id:{me}").ok()["results"]
        assert [each["message"] for each in told] == (["Oil the pump"] if is_told else [])
        assert requests.get(f"{server.url}/health", timeout=30).status_code == 200
        assert server.stop() == 0
    made = list((tmp_path / "kept").glob("*.db"))
    assert len(made) <= 2  # one for each day of the clock; none where operators make the backups
    runs = dict(_rows(data, "SELECT kind, count(*) FROM job_run GROUP BY kind"))
    assert runs.pop("backup", 0) == len(made) and max(runs.values(), default=0) <= 3, runs
    assert bool(made) != databases.is_postgresql()
    assert _rows(data, "SELECT error FROM job_run WHERE error <> ''") == []


def _rows(data: Path, query: str) -> list[tuple[Any, ...]]:
    with databases.opened(data) as connection:
        found: list[tuple[Any, ...]] = connection.execute(query).fetchall()
    return found
