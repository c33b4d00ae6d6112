"""A courier without threads: one round at a time, each request within its round."""

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from server import clock
from server.outgoing import deliveries, retry_schedule
from server.outgoing.courier import Courier
from server.outgoing.deliveries import DELIVERY
from server.outgoing.pace import Pace
from tests.outbound.peer import HOST, Asked, Peer, answer
from tests.records.desk import NOW, Desk


class Here:
    """Runs work immediately in place of a pool."""

    def submit(self, work: Callable[..., Any], *given: Any) -> Future[Any]:
        work(*given)
        return Future()


class Budget(Pace):
    """Allows a number of deliveries; None for any number."""

    def __init__(self, left: int | None = None) -> None:
        super().__init__()
        self.left = left

    def claim(self) -> bool:
        if self.left is None:
            return True
        self.left -= 1
        return self.left >= 0


class Post:
    """A desk, a receiver, and the courier between them. now: Unix seconds, for all three."""

    def __init__(self, folder: Path, peer: Peer, monkeypatch: pytest.MonkeyPatch) -> None:
        self.desk = Desk(folder)
        self.desk.service = replace(
            self.desk.service, settings=self.desk.service.settings.replace(outbound_allow=[HOST])
        )
        self.peer = peer
        self.now = NOW
        monkeypatch.setattr(clock, "now", lambda: self.now)
        monkeypatch.setattr(retry_schedule, "_about", lambda seconds: seconds)
        peer.answers["/hook"] = answer("thanks")
        self.restart()

    def restart(self) -> None:
        self.courier = Courier(self.desk.service)
        self.courier._pool.shutdown()
        self.courier._pool = Here()  # type: ignore[assignment]
        self.courier._pace = Budget()

    def hook(self, events: str = "task.*", **fields: Any) -> dict[str, Any]:
        values = {"name": "Shop", "url": self.peer.url("/hook"), "events": events} | fields
        made = self.desk.create("outgoing_webhook", **values)
        self.courier._is_known = False
        return made

    def task(self, title: str = "Splice") -> int:
        return int(self.desk.create("task", title=title)["id"])

    def run_rounds(self, rounds: int = 4) -> list[Asked]:
        """Runs some rounds of the courier; returns the requests that arrive."""
        before = len(self.peer.asked)
        for _ in range(rounds):
            self.courier._round()
        return self.peer.asked[before:]

    def rows(self, **equals: Any) -> list[dict[str, Any]]:
        found = self.desk.read(lambda tx: tx.find(DELIVERY, **equals))
        return [dict(zip(DELIVERY.names, row, strict=True)) for row in found]

    def state(self, id: int) -> deliveries.ReceiverState:
        return self.desk.read(lambda tx: deliveries.state_of(tx, id))
