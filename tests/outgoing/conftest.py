"""The desk, receiver and courier of the tests in this folder."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.outbound.peer import Peer
from tests.outgoing.courier_rounds import Post


@pytest.fixture
def post(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Post]:
    with Peer() as peer:
        opened = Post(tmp_path, peer, monkeypatch)
        yield opened
        opened.desk.close()
