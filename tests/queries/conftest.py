"""Fixtures for tests of data queries: a new helpdesk for each test, without a server."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from server.errors import HelpdeskError
from server.queries import query_run
from tests.queries.depot import Depot
from tests.records.conftest import desk, ids, registry
from tests.records.desk import Desk

__all__ = ["desk", "ids", "registry"]
Ask = Callable[..., dict[str, Any]]
Refuse = Callable[..., HelpdeskError]


@pytest.fixture(scope="session")
def depot(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Depot]:
    """A small desk that no test changes."""
    made = Depot(tmp_path_factory.mktemp("depot"))
    yield made
    made.desk.close()


@pytest.fixture
def ask(desk: Desk) -> Ask:
    """ask(q, by=worker id): runs a data query, as the service itself by default, and returns its result."""
    return lambda q, by=0: query_run.evaluate(desk.context(by), q)


@pytest.fixture
def refuse(desk: Desk) -> Refuse:
    """refuse(q, by=worker id): the error of a data query."""

    def refused(q: str, by: int = 0) -> HelpdeskError:
        with pytest.raises(HelpdeskError) as caught:
            query_run.evaluate(desk.context(by), q)
        return caught.value

    return refused
