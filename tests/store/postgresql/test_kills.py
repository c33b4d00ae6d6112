"""One of three processes is killed repeatedly under sixteen writing clients: no acknowledged write is lost, each job is
done, and the others continue."""

import os
import random
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from server.jobs.scheduler import SLOTS
from tests import databases
from tests.clients import Clients, found
from tests.making import LOOKS, POLICY, script_that_makes
from tests.service import Api
from tests.store.postgresql.several import Processes

KILLS = int(os.environ.get("TEST_KILLS", "5"))
MAX_PAUSE_MS = int(os.environ.get("TEST_PAUSE_MS", "0"))  # the longest response time of other processes after a kill
CLIENTS, PROCESSES = 16, 3
WRITES_BEFORE_A_KILL = (30, 240)
MAKES = script_that_makes("org", "name")
BOUND = """
automation/one:
  uri: svc:automation:made
  disabled@bool: {{record__type != 'task'}}
"""


class Pauses:
    """Response times of the other processes right after a kill, in milliseconds."""

    def __init__(self) -> None:
        self.reads: list[float] = []
        self.writes: list[float] = []

    def measure(self, api: Api, name: str) -> None:
        began = time.monotonic()
        api.search("task", "", limit=1).ok()
        read = time.monotonic()
        api.create("task", title=name).ok()
        self.reads.append((read - began) * 1000)
        self.writes.append((time.monotonic() - read) * 1000)

    def summary(self) -> str:
        return "; ".join(
            f"{name}: median {sorted(found)[len(found) // 2]:.0f} ms, longest {max(found):.0f} ms"
            for name, found in (("read", self.reads), ("write", self.writes))
        )


@pytest.fixture
def three(tmp_path: Path) -> Iterator[Processes]:
    made = Processes(tmp_path, PROCESSES)
    yield made
    made.stop()


def test_one_of_three_is_killed_again_and_again(three: Processes, tmp_path: Path) -> None:
    chance, pauses = random.Random(16), Pauses()
    _bind(three.api(0))
    acknowledged: dict[str, dict[int, str]] = {"address": {}, "task": {}, "ticket": {}}
    for kill in range(KILLS):
        clients = _clients(three, kill, chance.randint(*WRITES_BEFORE_A_KILL))
        gone = kill % PROCESSES
        assert clients[gone].reached.wait(120)
        three.servers[gone].kill()
        others = [number for number in range(PROCESSES) if number != gone]
        for number in others:
            survivor = three.servers[number]
            assert survivor.process.poll() is None, Path(survivor.log.name).read_text()[-4000:]
            pauses.measure(three.api(number), f"others{kill}")
        for each in clients:
            each.stop()
        for each in clients:
            each.join()
            for uri, names in each.acknowledged.items():
                acknowledged[uri] |= names
        assert [clients[number].refused for number in others] == [[], []]
        three.servers[gone] = three.started(gone)
        for each in clients:
            for uri, names in each.acknowledged.items():
                assert names.items() <= found(three.api(gone), uri, f"kill{kill}p").items()
    for uri, names in acknowledged.items():
        assert names.items() <= found(three.api(0), uri, "kill").items()
    _every_ticket_has_its_message(three.api(1))
    again = _jobs_done_again(three.api(2), tmp_path, acknowledged["task"])
    print(f"{KILLS} kills, {sum(map(len, acknowledged.values()))} writes; jobs done again: {again}; {pauses.summary()}")
    assert again <= SLOTS * KILLS
    assert not MAX_PAUSE_MS or max(pauses.reads + pauses.writes) <= MAX_PAUSE_MS


def _bind(nora: Api) -> None:
    """Binds an automation that creates an organization for each task."""
    nora.create("automation", name="made", extension_id="svc.trigger.record.changed", script=MAKES,
                policy_kata=POLICY).ok()  # fmt: skip
    [event] = nora.search("automation_event", "name:record.changed").ok()["results"]
    nora.update("automation_event", event["id"], automations_kata=BOUND).ok()


def _clients(three: Processes, kill: int, after: int) -> list[Clients]:
    """Sixteen clients, spread over the processes."""
    share, more = divmod(CLIENTS, PROCESSES)
    return [
        Clients(three.api(number, is_checked=False), f"kill{kill}p{number}", max(after // PROCESSES, 1),
                share + (number < more))
        for number in range(PROCESSES)
    ]  # fmt: skip


def _every_ticket_has_its_message(api: Api) -> None:
    total = api.search("ticket", "").ok()["total"]
    assert total > 0
    assert api.search("ticket", "messages.count:1").ok()["total"] == total
    assert api.search("message", "").ok()["total"] == total


def _jobs_done_again(api: Api, data: Path, tasks: dict[int, str]) -> int:
    """Waits until all jobs are done and returns how many ran more than once, as jobs of a killed process may."""
    with databases.opened(data) as connection:
        for _ in range(LOOKS):
            assert api.session.get(f"{api.url}/health", timeout=60).status_code == 200
            if connection.execute("SELECT count(*) FROM job WHERE kind = 'event'").fetchone() == (0,):
                break
        rows = connection.execute("SELECT name FROM org WHERE name LIKE 'made for %'").fetchall()
        failed = connection.execute("SELECT error FROM job_run WHERE error <> ''").fetchall()
    done = Counter(int(name.removeprefix("made for ")) for (name,) in rows)
    assert set(done) >= set(tasks)
    assert failed == []
    return sum(count - 1 for count in done.values())
