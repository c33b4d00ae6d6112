"""Fixtures for tests of packages: a helpdesk without a server."""

from collections.abc import Iterator

import pytest

from server.automation import saving
from server.first_start import builtin_records
from server.jobs import job_queue
from server.record_types.registry import Registry, load
from server.store import schema
from tests.records.desk import Desk


@pytest.fixture(scope="session")
def registry() -> Registry:
    """Every record type; scripts and bindings are checked as in a running service."""
    saving.register()
    return load()


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory, registry: Registry) -> Iterator[Desk]:
    """A helpdesk with the built-in records."""
    opened = Desk(tmp_path_factory.mktemp("packages"), registry)
    opened.store.write(lambda tx: schema.add_tables(tx, [job_queue.JOB]))
    builtin_records.add_missing(opened.context())
    yield opened
    opened.close()


@pytest.fixture(scope="module", autouse=True)
def ids(desk: Desk) -> dict[str, int]:
    """nora administers; milo is a member of Support; olga is in no group."""
    return desk.people()
