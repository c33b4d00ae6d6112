"""Failover from a lost primary to its streaming replica: 503 with Retry-After, then automatic recovery."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest

from server.errors import Unavailable
from server.store.schema import open_store
from server.store.tables import Column, Table
from tests.clients import Clients, found
from tests.postgresql import USER, Cluster, folder_for
from tests.service import Api
from tests.store.postgresql.several import Processes
from tests.store.postgresql.test_away import until_it_answers

CLIENTS, WRITES = 16, 120
LOOKS = 20_000
NOTE = Table("note", [Column("text", "TEXT")])
SYNCED = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'"


class Pair:
    """A primary and its synchronous replica. address: both servers, as the setting expects it."""

    def __init__(self) -> None:
        self.primary, self.replica = Cluster(folder_for("pgone")), Cluster(folder_for("pgtwo"))
        self.address = f"postgresql://{USER}@/desk?host={self.primary.folder},{self.replica.folder}"

    def start(self) -> None:
        self.primary.make()
        self.primary.start()
        self.replica.copy(self.primary)
        self.replica.start()
        with psycopg.connect(self.primary.address("postgres"), autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
            connection.execute("SELECT pg_reload_conf()")
            for _ in range(LOOKS):
                if connection.execute(SYNCED).fetchone() == (1,):
                    break
            connection.execute("CREATE DATABASE desk")

    def remove(self) -> None:
        self.primary.remove()
        self.replica.remove()


@pytest.fixture
def pair() -> Iterator[Pair]:
    made = Pair()
    try:
        made.start()
        yield made
    finally:
        made.remove()


def test_a_replica_that_is_promoted_under_load_takes_over(pair: Pair, tmp_path: Path) -> None:
    """The address only lists both servers: the client uses the one that accepts writes."""
    two = Processes(tmp_path, 2, pair.address)
    clients = _clients(two, "before")
    assert all(each.reached.wait(120) for each in clients)
    pair.primary.kill()
    for each in clients:
        each.join()  # each client stops at its first refusal
        assert set(each.refused) == {503} and len(each.refused) == CLIENTS // 2
    for number in range(2):
        _is_away(two.api(number))
    pair.replica.promote()
    for number in range(2):
        until_it_answers(two.api(number))
        two.api(number).create("task", title=f"on again {number}").ok()
    for each in clients:
        for uri, names in each.acknowledged.items():
            there = found(two.api(0), uri, "before")
            assert names.items() <= there.items()
    more = _clients(two, "after")
    assert all(each.reached.wait(120) for each in more)
    for each in more:
        each.stop()
    for each in more:
        each.join()
        assert each.refused == []
        for uri, names in each.acknowledged.items():
            assert names.items() <= found(two.api(1), uri, "after").items()
    total = two.api(0).search("ticket", "").ok()["total"]
    assert total == two.api(0).search("ticket", "messages.count:1").ok()["total"]  # nothing half written
    assert total == two.api(0).search("message", "").ok()["total"]
    two.stop()


def test_a_write_that_the_lost_replica_would_have_to_have_is_refused_and_reads_go_on(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A primary confirms a commit only after its replica has it; that wait must be limited."""
    monkeypatch.setattr("server.store.postgresql.store.COMMIT_SECONDS", 0.5)
    monkeypatch.setattr("server.store.postgresql.store.TURN_SECONDS", 0.5)
    with psycopg.connect(pair.primary.address("desk"), autocommit=True) as connection:
        connection.execute("CREATE EXTENSION citext")
    store = open_store(pair.address, [NOTE], [])
    try:
        store.write(lambda tx: tx.insert(NOTE, {"text": "on both"}))
        pair.replica.stop()
        for text in ("while it was lost", "behind that one"):
            with pytest.raises(Unavailable):
                store.write(lambda tx, text=text: tx.insert(NOTE, {"text": text}))
        assert store.read(lambda tx: tx.find(NOTE))[0][1] == "on both"
        pair.replica.start()
        for _ in range(LOOKS):
            with suppress(Unavailable):
                store.write(lambda tx: tx.insert(NOTE, {"text": "on both again"}))
                break
        texts = [row[1] for row in store.read(lambda tx: tx.find(NOTE))]
        assert texts in (["on both", "while it was lost", "on both again"], ["on both", "on both again"])
    finally:
        store.close()


def _clients(two: Processes, name: str) -> list[Clients]:
    return [
        Clients(two.api(number, is_checked=False), f"{name}p{number}", WRITES // 2, CLIENTS // 2) for number in range(2)
    ]


def _is_away(api: Api) -> None:
    for reply in (api.create("task", title="away"), api.search("task", "")):
        assert reply.status == 503 and int(reply.headers["Retry-After"]) >= 1, reply
    asked = 0
    while api.session.get(f"{api.url}/health", timeout=60).status_code == 200:  # served from the last snapshot
        asked += 1
        assert asked < 20_000
