"""The tours in resources/help/tour.md, typed exactly: bash runs their blocks, and the output must match the page.

Only the ports differ, so that tests can run next to each other and next to a service. Without curl, which the program
does not need, tests/tour/curl.py replaces it."""

import doctest
import os
import queue
import random
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from tests.automation.told import MAY_ALL
from tests.outbound.peer import Asked, Peer, answer
from tests.service import Api, hears_ctrl_c
from tests.telling import telling

pytestmark = pytest.mark.exhaustive("tours of several minutes")

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "resources" / "help" / "tour.md").read_text("utf-8")
BLOCK = re.compile(r"^```(\w+) (tour|tour service|tour mailbox|tour peer|shows)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SERVICE_PORT, MAIL_PORT, PEER_PORT = "8200", "8025", "8300"  # the ports on the page
PORTS = range(20_000, 32_000)
FIRST, SECOND = "A tour in ten minutes", "A tour of automations"
END_OF_STEP = "=== end of step ==="
START_SECONDS, TOUR_SECONDS = 60, 120
BETWEEN_TRIES = 0.05
CURLS = ["curl", "stand-in"] if shutil.which("curl") else ["stand-in"]


class Tour:
    """The blocks of a chapter of the page. steps: (input, expected output), in order; programs: commands that run in
    separate terminals; ports: {port of the page: port of the test}."""

    def __init__(self, chapter: str, *ports: str) -> None:
        self.ports = dict(zip(ports, free_ports(len(ports)), strict=True))
        self.steps: list[tuple[str, str]] = []
        self.programs: dict[str, str] = {}
        _, _, following = PAGE.partition(f"\n## {chapter}\n")
        for _, kind, content in BLOCK.findall(following.partition("\n## ")[0]):
            text = self._with_our_ports(content)
            if kind == "tour":
                self.steps.append((text, ""))
            elif kind == "shows":
                self.steps[-1] = (self.steps[-1][0], text)
            else:
                self.programs[kind.removeprefix("tour ")] = text

    def _with_our_ports(self, text: str) -> str:
        return re.sub("|".join(self.ports), lambda found: self.ports[found[0]], text)


def free_ports(count: int) -> list[str]:
    """Different ports outside the range that the system assigns to clients: free until the programs bind them."""
    with ExitStack() as held:
        found: list[str] = []
        for port in random.sample(PORTS, len(PORTS)):
            taken = held.enter_context(socket.socket())
            with suppress(OSError):
                taken.bind(("127.0.0.1", port))
                found.append(str(port))
            if len(found) == count:
                break
        return found


@pytest.fixture(params=telling(CURLS, CURLS[:1], "without curl"))
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return checkout(tmp_path, request.param)


def checkout(folder: Path, curl: str) -> Path:
    """A checkout after `make run`: the Makefile, and an environment with `python` and `helpdesk` of this run."""
    programs = folder / ".venv" / "bin"
    programs.mkdir(parents=True)
    for name in ("Makefile", "setup.py", "build"):
        (folder / name).symlink_to(ROOT / name)
    runs = {"python": "", "helpdesk": "-m server"}
    if curl == "stand-in":
        runs["curl"] = shlex.quote(str(ROOT / "tests" / "tour" / "curl.py"))
    for name, arguments in runs.items():
        script = programs / name
        script.write_text(f'#!/bin/sh\nPYTHONPATH={shlex.quote(str(ROOT))} exec {sys.executable} {arguments} "$@"\n')
        script.chmod(0o755)
    (folder / ".venv" / ".for-run").touch()
    return folder


@pytest.mark.parametrize(("chapter", "program", "port"), [
    (FIRST, "mailbox", MAIL_PORT), (SECOND, "peer", PEER_PORT),
])  # fmt: skip
def test_the_tour_shows_what_it_says(chapter: str, program: str, port: str, folder: Path) -> None:
    tour = Tour(chapter, SERVICE_PORT, port)
    assert len(tour.steps) >= 5 and all(shown for _, shown in tour.steps)
    with (
        running(tour, "service", SERVICE_PORT, folder),
        running(tour, program, port, folder),
    ):
        shown = typed([text for text, _ in tour.steps], folder, environment(tour))
    compared = doctest.OutputChecker()
    for (text, expected), got in zip(tour.steps, shown, strict=True):
        assert compared.check_output(expected, got, doctest.ELLIPSIS), f"{text}\nshows:\n{got}\nnot:\n{expected}"


def environment(tour: Tour) -> dict[str, str]:
    return {**os.environ, "HELPDESK_PORT": tour.ports[SERVICE_PORT]}


def typed(steps: list[str], folder: Path, environment: dict[str, str]) -> list[str]:
    """The output of each step, in one shell."""
    script = "".join(f"{step}\necho '{END_OF_STEP}'\n" for step in steps)
    done = subprocess.run(
        ["bash"], input=script, cwd=folder, env=environment, capture_output=True, text=True, timeout=TOUR_SECONDS
    )
    assert done.returncode == 0 and not done.stderr, done.stdout + done.stderr
    *shown, rest = done.stdout.split(f"{END_OF_STEP}\n")
    assert rest == ""
    return shown


@contextmanager
def running(tour: Tour, program: str, port: str, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Runs a program of the tour, from its first response on its port to Ctrl-C, unless it ends earlier."""
    log, port = folder / f"{program}.log", tour.ports[port]
    with log.open("ab") as output:
        process = subprocess.Popen(
            ["bash", "-c", tour.programs[program]], cwd=folder, env=environment(tour), stdout=output, stderr=output,
            start_new_session=True, preexec_fn=hears_ctrl_c,
        )  # fmt: skip
    try:
        assert answers(process, int(port)), log.read_text()
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGINT)
        process.wait(START_SECONDS)


def answers(process: subprocess.Popen[bytes], port: int) -> bool:
    """Whether the port accepts connections before the program ends."""
    for _ in range(int(START_SECONDS / BETWEEN_TRIES)):
        try:
            socket.create_connection(("127.0.0.1", port), timeout=START_SECONDS).close()
            return True
        except ConnectionRefusedError:
            if process.poll() is not None:
                return False
            threading.Event().wait(BETWEEN_TRIES)
    return False


WAITING = """
start:
  http.request:
    output: answer
    inputs:
      url: {url}
      method: POST
      body: {{{{record_id}}}}
  log: told of {{{{record_id}}}}
"""
BINDING = "automation/waiting:\n  uri: waiting\n  disabled@bool: {{record__type != 'org'}}"


def test_a_run_that_a_kill_cuts_short_is_run_once_more(tmp_path: Path) -> None:
    """The service of the second tour is killed while an automation waits for a response, and is started again."""
    folder = checkout(tmp_path, CURLS[-1])
    tour, reached, is_dead = Tour(SECOND, SERVICE_PORT), queue.Queue[int](), threading.Event()

    def answered(asked: Asked) -> bytes:
        reached.put(int(asked.body))
        is_dead.wait(START_SECONDS)
        return answer("{}", content_type="application/json")

    with Peer() as peer:
        peer.answers["/slow"] = answered
        with running(tour, "service", SERVICE_PORT, folder) as service:
            api = administrator(tour, folder)
            script = WAITING.format(url=peer.url("/slow"))
            trigger = {"extension_id": "svc.trigger.record.changed", "policy_kata": MAY_ALL}
            api.create("automation", name="waiting", script=script, **trigger).ok()
            (event,) = api.found("automation_event", "name:record.changed")
            api.update("automation_event", event, automations_kata=BINDING).ok()
            first = api.create("org", name="Kite Ltd").ok()["id"]
            assert reached.get(timeout=START_SECONDS) == first
            os.killpg(service.pid, signal.SIGKILL)
            service.wait(START_SECONDS)
        is_dead.set()
        with running(tour, "service", SERVICE_PORT, folder):
            assert reached.get(timeout=START_SECONDS) == first
            second = api.create("org", name="Kite Inc").ok()["id"]
            assert logged(api, 2) == {f"told of {first}", f"told of {second}"}
        assert [int(each.body) for each in peer.asked] == [first, first, second]


def administrator(tour: Tour, folder: Path) -> Api:
    """The administrator of the second tour."""
    (made,) = typed([f'{tour.steps[0][0]}\necho "$AUTH"'], folder, environment(tour))
    return Api(f"http://127.0.0.1:{tour.ports[SERVICE_PORT]}", made.split()[-1])


def logged(api: Api, number: int) -> set[str]:
    """The log entries of automations, once there are this many. Each poll is a request, so that the server gets its
    turns."""
    for _ in range(20_000):
        found = api.get("/rest/automations/logs/search.json", q="automation:(name:waiting)").ok()["results"]
        if len(found) >= number:
            break
    return {each["message"] for each in found}
