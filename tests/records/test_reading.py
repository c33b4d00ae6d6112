"""The reader: as a caller it hides unreadable records; as the service it sees everything; it never writes."""

from collections.abc import Callable
from typing import Any

import pytest

from server.errors import Forbidden, NotFound
from server.records.reading import RecordReader
from tests.records.desk import Desk


@pytest.fixture
def hidden(desk: Desk) -> tuple[dict[str, int], int]:
    """The people, and a ticket of a private group that only nora reads."""
    ids = desk.people()
    group = desk.create("group", name="Closed", is_private=1)["id"]
    return ids, desk.create("ticket", subject="Kite", group_id=group)["id"]


def reading(desk: Desk, by: int, work: Callable[[RecordReader], Any]) -> Any:
    return desk.read(lambda tx: work(RecordReader(desk.context(by), tx)))


def test_a_caller_retrieves_readable_records(desk: Desk, hidden: tuple[dict[str, int], int]) -> None:
    ids, ticket = hidden
    assert reading(desk, ids["nora"], lambda reader: reader.retrieve("ticket", ticket))["subject"] == "Kite"
    with pytest.raises(Forbidden):
        reading(desk, ids["olga"], lambda reader: reader.retrieve("ticket", ticket))
    with pytest.raises(NotFound):
        reading(desk, ids["nora"], lambda reader: reader.retrieve("ticket", ticket + 1))


@pytest.mark.parametrize("operation", ["read", "update", "delete"])
def test_requirements_on_a_caller(desk: Desk, hidden: tuple[dict[str, int], int], operation: str) -> None:
    ids, ticket = hidden
    reading(desk, ids["nora"], lambda reader: reader.require(operation, "ticket", ticket))
    with pytest.raises(Forbidden):
        reading(desk, ids["olga"], lambda reader: reader.require(operation, "ticket", ticket))


def test_the_service_reads_everything(desk: Desk, hidden: tuple[dict[str, int], int]) -> None:
    ids, ticket = hidden
    found = reading(desk, ids["olga"], lambda reader: reader.as_service().retrieve("ticket", ticket))
    assert found["subject"] == "Kite"
    assert reading(desk, ids["olga"], lambda reader: reader.search_ids("ticket", "subject:Kite")) == [ticket]


def test_a_search_of_the_caller_sees_readable_records(desk: Desk, hidden: tuple[dict[str, int], int]) -> None:
    ids, ticket = hidden
    tickets = desk.registry.type("ticket")

    def readable(reader: RecordReader) -> bool:
        return reader.rules.may_read(reader.tx, tickets, ticket)

    assert reading(desk, ids["nora"], readable) and not reading(desk, ids["olga"], readable)


def test_a_reader_cannot_write() -> None:
    assert not {"create", "update", "set", "delete", "log", "wake", "create_sent"} & set(dir(RecordReader))
