"""The input values of the last run of each automation."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from server.automation import automation_service, run_values
from server.errors import AdminOnly
from tests.records.desk import NOW, Desk

SCRIPT = "start:\n  set:\n    inputs:\n      a: changed\n  return:\n    a: 1\n"


def run(desk: Desk, id: int, **values: object) -> None:
    automation_service.perform(desk.context(), automation_service.of_record(desk.row("automation", id)), values)


@pytest.fixture
def automation(tmp_path: Path) -> Iterator[tuple[Desk, int]]:
    desk = Desk(tmp_path)
    id = desk.create("automation", name="kept", script=SCRIPT, extension_id="svc.trigger.mail.sent")["id"]
    yield desk, int(id)
    desk.close()


def test_they_are_as_received_before_and_after_they_are_stored(automation: tuple[Desk, int]) -> None:
    desk, id = automation
    assert run_values.last(desk.context(), id) is None
    for number in (1, 2):
        run(desk, id, inputs={"a": f"given {number}"}, message_id=7)
    for _ in range(2):
        found = run_values.last(desk.context(), id)
        assert found is not None and found.at == NOW
        assert found.values == {"inputs": {"a": "given 2"}, "message_id": 7}
        run_values.store_noted(desk.service, NOW)


def test_long_ones_and_those_of_deleted_automations_are_not_stored(automation: tuple[Desk, int]) -> None:
    desk, id = automation
    run(desk, id, text="x" * run_values.MAX_CHARS)
    run_values.store_noted(desk.service, NOW)
    assert run_values.last(desk.context(), id) is None
    run(desk, id, text="short")
    desk.delete("automation", id)
    run_values.store_noted(desk.service, NOW)
    assert desk.read(lambda tx: tx.find(run_values.LAST_VALUES)) == []


def test_only_administrators_see_them(automation: tuple[Desk, int]) -> None:
    desk, id = automation
    with pytest.raises(AdminOnly):
        run_values.last(desk.context(desk.people()["milo"]), id)
