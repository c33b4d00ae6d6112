"""Fixtures for tests of record types: a new helpdesk for each test, without a server."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from server.record_types.registry import Registry, load
from tests.records.desk import Desk
from tests.records.filled import FAMILIES


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


Filled = tuple[Desk, dict[str, int]]


@pytest.fixture(scope="module")
def families(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Filled]]:
    """Returns, by the name of a family of types, a helpdesk with its records and their ids. Created on first use."""
    made: dict[str, Filled] = {}

    def family(name: str) -> Filled:
        if name not in made:
            opened = Desk(tmp_path_factory.mktemp(name))  # with a separate registry, since it creates a record type
            made[name] = opened, FAMILIES[name].populate(opened)
        return made[name]

    yield family
    for opened, _ in made.values():
        opened.close()


@pytest.fixture(scope="module")
def filled(request: pytest.FixtureRequest, families: Callable[[str], Filled]) -> Filled:
    """The helpdesk of the family that the module names."""
    return families(request.module.FAMILY)
