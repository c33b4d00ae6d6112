"""Several processes on one PostgreSQL database: every process sees all writes, due work is done once, and another
process completes the work of a killed one."""

import re
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
import requests

from tests.console.visitor import Visitor
from tests.following import Following
from tests.making import LOOKS, POLICY, script_that_makes
from tests.outbound.peer import Asked, Peer, answer
from tests.postgresql import Guarded
from tests.service import PASSWORD, Api, Server

MAKES = script_that_makes("task", "title")
ASKS = """
start:
  http.request:
    output: got
    inputs:
      method: GET
      url: URL
      timeout: 60
  record.create:
    output: made
    inputs:
      record_type: task
      fields:
        title: after the answer
"""
BOUND = """
automation/one:
  uri: svc:automation:NAME
  disabled@bool: {{record__type != 'reminder'}}
"""


@pytest.fixture(scope="module")
def postgresql() -> Iterator[str]:
    """The address of a PostgreSQL server."""
    server = Guarded()
    yield server.address
    server.stop()


def database(postgresql: str, name: str) -> dict[str, str]:
    """The environment of a process that serves a new database."""
    with psycopg.connect(postgresql, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    return {"HELPDESK_DATABASE": postgresql.replace("/postgres?", f"/{name}?")}


class Three:
    """Three processes of one desk: one for everything, one for requests, one for jobs."""

    def __init__(self, folder: Path, env: dict[str, str]) -> None:
        self.env = env
        self.every = Server(folder / "every", env=env)
        self.nora = self.every.set_up()
        self.web = Server(folder / "web", "--role", "web", env=env)
        self.worker = Server(folder / "worker", "--role", "worker", env=env)
        self.elsewhere = Api(self.web.url, self.nora.token)

    def stop(self) -> None:
        assert [each.stop() for each in (self.web, self.worker, self.every)] == [0, 0, 0]
        with psycopg.connect(self.env["HELPDESK_DATABASE"]) as connection:
            assert connection.execute("SELECT count(*) FROM process").fetchone() == (0,)


@pytest.fixture(scope="module")
def three(postgresql: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Three]:
    made = Three(tmp_path_factory.mktemp("three"), database(postgresql, "three"))
    yield made
    made.stop()


def bind(nora: Api, name: str, script: str) -> None:
    """Binds an automation to changes of reminders."""
    nora.create("automation", name=name, extension_id="svc.trigger.record.changed", script=script,
                policy_kata=POLICY).ok()  # fmt: skip
    [event] = nora.search("automation_event", "name:record.changed").ok()["results"]
    nora.update("automation_event", event["id"], automations_kata=BOUND.replace("NAME", name)).ok()


def remind(api: Api, name: str) -> int:
    made = api.create("reminder", name=name, worker_id=1, remind_at="+3 hours").ok()
    return int(made["id"])


def titles(env: dict[str, str], api: Api, words: str, number: int) -> list[str]:
    """The titles of tasks with this prefix, once there are this many and the job queue is empty."""
    found: list[str] = []
    with psycopg.connect(env["HELPDESK_DATABASE"], autocommit=True) as connection:
        for _ in range(LOOKS):
            assert api.session.get(f"{api.url}/health", timeout=60).status_code == 200
            rows = connection.execute("SELECT title FROM task WHERE title LIKE %s ORDER BY title", (f"{words}%",))
            found = [row[0] for row in rows.fetchall()]
            left = connection.execute("SELECT count(*) FROM job WHERE kind = 'event'").fetchone()
            if len(found) >= number and left == (0,):
                return found
    raise AssertionError(f"{words}: {found}")


@pytest.mark.exhaustive("several processes")
def test_sessions_and_wrong_passwords_are_those_of_all_processes(three: Three) -> None:
    visitor = Visitor(three.every.url)
    assert visitor.sign_in().status_code == 303
    visitor.url = three.web.url
    assert visitor.is_in
    assert visitor.send("/sign-out", page="/account").status_code == 303
    visitor.url = three.every.url
    assert not visitor.is_in
    said = [
        Visitor((three.every, three.web)[place % 2].url).sign_in("nobody@desk.example").status_code
        for place in range(12)
    ]
    assert said == [422] * 10 + [429] * 2


def test_what_one_process_wrote_the_other_tells_and_knows(three: Three) -> None:
    with Following(three.elsewhere) as stream:
        id = three.nora.create("task", title="news").ok()["id"]
        assert stream.change() == ("created", "task", id)
    three.nora.create("custom_record", name="Boat", name_plural="Boats", uri="boat").ok()
    boat = three.elsewhere.create("boat", name="Nina").ok()["id"]
    assert three.nora.found("boat", "") == [boat]


def test_a_brand_saved_by_one_process_responds_to_the_next_request_at_the_other(three: Three) -> None:
    def visit(host: str, method: str = "GET", body: bytes = b"") -> requests.Response:
        return requests.request(method, three.web.url, headers={"Host": host}, data=body, timeout=60)

    for number in range(10):
        host, name = f"help{number}.kite.example", f"Kite {number}"
        brand = three.nora.create("brand", name=name, host=host, is_public=1).ok()["id"]
        page = visit(host)
        assert page.status_code == 200 and name in page.text
        three.nora.remove("brand", brand).ok()
        assert name not in visit(host).text
    assert visit("evil.example").status_code == visit("evil.example", "POST", b"x" * 500).status_code == 400


def test_who_is_on_a_ticket_is_seen_in_the_other_process(three: Three) -> None:
    [group] = three.nora.search("group", "default:yes").ok()["results"]
    composed = three.nora.compose(group_id=group["id"], to="ana@kite.example", subject="Boat", content="Hello",
                                  dont_send="1").ok()  # fmt: skip
    mask = three.nora.record("ticket", composed["id"]).ok()["mask"]
    three.nora.create("worker", first_name="Milo", last_name="Test", email="milo@desk.example", language="en_US",
                      timezone="UTC", is_superuser=1, password=PASSWORD).ok()  # fmt: skip
    nora, milo = Visitor(three.every.url), Visitor(three.web.url)
    assert nora.sign_in().status_code == 303 and milo.sign_in("milo@desk.example").status_code == 303
    nora.send(f"/tickets/{mask}/presence", {"doing": "writing"}, page="/account")
    for _ in range(LOOKS):
        there = milo.get(f"/tickets/{mask}/live").json()["people"]
        if there:
            break
    assert there == [{"name": "Nora Berg", "doing": "writing"}]


def test_a_worker_says_how_it_is_and_sends_others_away(three: Three) -> None:
    health = requests.get(f"{three.worker.url}/health", timeout=60)
    assert health.status_code == 200
    assert [each["role"] for each in health.json()["processes"]] == ["all", "web", "worker"]
    assert requests.get(f"{three.worker.url}/metrics", timeout=60).status_code == 200
    for path in ("/", "/rest/workers/me.json", "/webhooks/none"):
        refused = requests.post(f"{three.worker.url}{path}", data={"a": "b"}, timeout=60)
        assert refused.status_code == 503 and "only runs jobs" in refused.text


def test_what_is_due_is_done_once_by_one_of_them(three: Three) -> None:
    bind(three.nora, "made.once", MAKES)
    ids: list[int] = []

    def write(api: Api) -> None:
        ids.extend([remind(api, "one of many") for _ in range(20)])

    threads = [threading.Thread(target=write, args=(each,)) for each in (three.nora, three.elsewhere)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(ids) == 40
    assert titles(three.env, three.nora, "made for", 40) == sorted(f"made for {id}" for id in ids)


@pytest.mark.exhaustive("kills beside a load")
def test_what_a_killed_process_had_begun_is_done_by_another(postgresql: str, tmp_path: Path) -> None:
    env = {**database(postgresql, "killed"), "HELPDESK_OUTBOUND_ALLOW": "127.0.0.1"}
    asked, again, go = threading.Event(), threading.Event(), threading.Event()

    def when_asked(request: Asked) -> bytes:
        if asked.is_set():
            again.set()
        else:
            asked.set()
            assert go.wait(600)
        return answer("done")

    with Peer() as peer:
        peer.answers["/slow"] = when_asked
        first = Server(tmp_path / "first", env=env)
        nora = first.set_up()
        bind(nora, "asked.once", ASKS.replace("URL", peer.url("/slow")))
        remind(nora, "the one")
        assert asked.wait(600)
        second = Server(tmp_path / "second", env=env)
        api = Api(second.url, nora.token)
        first.kill()
        while not again.is_set():  # the other process continues
            api.create("task", title="meanwhile").ok()
        go.set()
        assert titles(env, api, "after the answer", 1) == ["after the answer"]
        [left] = requests.get(f"{second.url}/health", timeout=60).json()["processes"]
        assert left["leads"]
        assert second.stop() == 0


@pytest.mark.exhaustive("a race of two processes")
def test_two_processes_begin_on_a_new_database_at_the_same_time(postgresql: str, tmp_path: Path) -> None:
    env = {**database(postgresql, "begun"), "HELPDESK_STARTER_PACKAGE": "yes"}
    servers: list[Server] = []
    threads = [
        threading.Thread(target=lambda name=name: servers.append(Server(tmp_path / name, env=env)))  # type: ignore[misc]
        for name in ("one", "two")
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(servers) == 2
    printed = [each for each in servers if re.match("http", each.setup_link)]
    assert printed  # only the last link is valid
    nora: Any = None
    for each in printed:
        if requests.get(each.setup_link, timeout=60).status_code == 200:
            nora = each.set_up()
    assert [each["name"] for each in nora.search("group", "default:yes").ok()["results"]] == ["Support"]
    names = [each["name"] for each in nora.search("automation_event", "", limit=500).ok()["results"]]
    assert len(names) == len(set(names))
    for server in servers:
        server.process.send_signal(signal.SIGTERM)
    for server in servers:
        server.process.wait(60)  # otherwise `stop` would send a second signal, perhaps to an ending process
    assert [server.stop() for server in servers] == [0, 0]
