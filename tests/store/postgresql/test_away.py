"""The database becomes unavailable: 503 with Retry-After, nothing half written, and recovery afterwards."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
import pytest

from server.store.schema import open_store
from server.store.tables import Column, Table
from server.store.transaction import Transaction
from tests.clients import Clients, found
from tests.postgresql import Cluster
from tests.service import Api, Server

NOTE = Table("note", [Column("text", "TEXT")])


def _served(cluster: Cluster, data: Path) -> Server:
    return Server(data, env={"HELPDESK_DATABASE": cluster.address("desk")})


def _cut(cluster: Cluster) -> None:
    with psycopg.connect(cluster.address("postgres"), autocommit=True) as connection:
        connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'desk'")


def until_it_answers(api: Api) -> list[Any]:
    """Requests the page until it succeeds; returns the failed responses."""
    refused = []
    while (reply := api.search("task", "")).status != 200:
        assert reply.status == 503 and int(reply.headers["Retry-After"]) >= 1, reply
        refused.append(reply)
    return refused


def test_a_silent_process_loses_its_turn(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stands for a process that was suspended during a write, or whose machine failed."""
    monkeypatch.setattr("server.store.postgresql.store.IDLE_MS", 200)
    with psycopg.connect(cluster.address("desk"), autocommit=True) as connection:
        connection.execute("CREATE EXTENSION citext")
    stuck, other = (open_store(cluster.address("desk"), [NOTE], []) for _ in range(2))
    began, go = threading.Event(), threading.Event()

    def write(tx: Transaction) -> None:
        tx.insert(NOTE, {"text": "of the one that was stuck"})
        began.set()
        assert go.wait(60)
        tx.insert(NOTE, {"text": "later"})

    try:
        with ThreadPoolExecutor(1) as pool:
            writing = pool.submit(stuck.write, write)
            assert began.wait(60)
            other.write(lambda tx: tx.insert(NOTE, {"text": "of the other"}))
            assert [row[1] for row in other.read(lambda tx: tx.find(NOTE))] == ["of the other"]
            go.set()
            writing.result(60)  # run again in a separate turn
        texts = [row[1] for row in other.read(lambda tx: tx.find(NOTE))]
        assert texts == ["of the other", "of the one that was stuck", "later"]
    finally:
        stuck.close()
        other.close()


def test_connections_that_are_cut_are_made_again(cluster: Cluster, tmp_path: Path) -> None:
    server = _served(cluster, tmp_path / "data")
    nora = server.set_up()
    for number in range(5):
        nora.create("task", title=f"before {number}").ok()
        _cut(cluster)
        assert nora.search("task", "").status in (200, 503)
        until_it_answers(nora)
        nora.create("task", title=f"after {number}").ok()
    assert nora.search("task", "").ok()["total"] == 10
    assert server.stop() == 0


def test_connections_cut_under_load_lose_nothing_acknowledged(cluster: Cluster, tmp_path: Path) -> None:
    server = _served(cluster, tmp_path / "data")
    nora = server.set_up()
    for number in range(3):
        clients = Clients(Api(server.url, nora.token), f"cut{number}", 60)
        assert clients.reached.wait(120)
        _cut(cluster)
        clients.stop()
        clients.join()
        assert set(clients.refused) <= {503}
        until_it_answers(nora)
        for uri, names in clients.acknowledged.items():
            assert names.items() <= found(nora, uri, f"cut{number}x").items()
    assert server.stop() == 0


def test_a_database_restart_under_load_is_reported_and_recovered(cluster: Cluster, tmp_path: Path) -> None:
    server = _served(cluster, tmp_path / "data")
    nora = server.set_up()
    clients = Clients(Api(server.url, nora.token), "restart", 100)
    assert clients.reached.wait(120)
    cluster.stop()
    clients.join()  # each client stops at its first refusal
    assert set(clients.refused) == {503} and len(clients.refused) == 16
    away = nora.create("task", title="away")
    assert away.status == 503 and int(away.headers["Retry-After"]) >= 1
    assert nora.search("task", "").status == 503
    cluster.start()
    until_it_answers(nora)
    for uri, names in clients.acknowledged.items():
        assert names.items() <= found(nora, uri, "restartx").items()
    total = nora.search("ticket", "").ok()["total"]
    assert nora.search("ticket", "messages.count:1").ok()["total"] == total  # nothing half written
    nora.create("task", title="on again").ok()
    assert server.stop() == 0
