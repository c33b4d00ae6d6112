"""Fixtures for tests of record types: a new helpdesk for each test, without a server."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from server.records.registry import Registry, load
from tests.records.desk import Desk


@pytest.fixture(scope="session")
def registry() -> Registry:
    """Every record type."""
    return load()


@pytest.fixture
def desk(tmp_path: Path, registry: Registry) -> Iterator[Desk]:
    """A helpdesk with an empty database."""
    opened = Desk(tmp_path, registry)
    yield opened
    opened.close()


@pytest.fixture
def ids(desk: Desk) -> dict[str, int]:
    """nora administers; milo is a member of Support; olga is in no group."""
    return desk.people()
