"""Fixtures for features that only PostgreSQL has. Tests that need PostgreSQL run with --store=postgresql."""

from collections.abc import Iterator

import psycopg
import pytest

from tests import databases
from tests.postgresql import Cluster, folder_for

NEEDING = [
    "test_away.py", "test_failover.py", "test_kills.py", "test_processes.py", "test_renewal.py",
    "test_shown.py", "test_small_reads.py", "test_tables.py", "test_turns.py",
]  # fmt: skip
collect_ignore = [] if databases.is_postgresql() else NEEDING


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """A PostgreSQL server for one test, with an empty database."""
    made = Cluster(folder_for("pgown"))
    try:
        made.make()
        made.start()
        with psycopg.connect(made.address("postgres"), autocommit=True) as connection:
            connection.execute("CREATE DATABASE desk")
        yield made
    finally:
        made.remove()
