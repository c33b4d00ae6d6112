"""Deliveries of webhooks that are no longer kept: old ones, too many, too much."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from server.automation.webhooks import deliveries
from server.automation.webhooks.deliveries import BATCH, DAY_SECONDS, DELIVERY, KEPT_DAYS, Delivery, forget_old, keep
from server.automation.webhooks.responding import Received
from tests.records.desk import NOW, Desk


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    opened = Desk(tmp_path)
    opened.create("webhook_listener", name="Hook")
    yield opened
    opened.close()


def add(desk: Desk, count: int, at: int = NOW, body: bytes = b"") -> list[int]:
    received = Received("POST", "", "", [], {}, body, "127.0.0.1")
    return desk.store.write(lambda tx: [keep(tx, Delivery.of(1, received, at)) for _ in range(count)])


def kept(desk: Desk) -> list[int]:
    return [row[0] for row in desk.read(lambda tx: tx.find(DELIVERY))]


def test_old_ones_go(desk: Desk) -> None:
    add(desk, BATCH + 1, NOW - KEPT_DAYS * DAY_SECONDS - 1)
    young = add(desk, 1, NOW - KEPT_DAYS * DAY_SECONDS)
    forget_old(desk.service, NOW)
    assert kept(desk) == young


def test_of_too_many_the_oldest_go(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deliveries, "MAX_KEPT", 2)
    ids = add(desk, 5)
    forget_old(desk.service, NOW)
    assert kept(desk) == ids[-2:]


def test_of_too_much_the_oldest_go(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deliveries, "MAX_KEPT_BYTES", 1000)
    ids = add(desk, 3, body=b"x" * 400)
    small = add(desk, 3, body=b"x" * 10)
    forget_old(desk.service, NOW)
    assert kept(desk) == [*ids[1:], *small]


def test_their_sizes_are_found_without_a_look_at_the_bodies(desk: Desk) -> None:
    def plan(tx: object) -> str:
        connection = tx.connection  # type: ignore[attr-defined]
        asked = "EXPLAIN QUERY PLAN SELECT id, size, answer_size FROM webhook_delivery"
        return str(connection.execute(asked).fetchall())

    assert "COVERING INDEX" in desk.read(plan)
