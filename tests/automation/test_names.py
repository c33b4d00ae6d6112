"""Unknown names of record types and fields in scripts, reported while somebody types."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from server.automation import checker, names
from server.record_types.shared.custom.definitions import definitions
from tests.records.desk import Desk

COMMAND = "start:\n  record.create:\n    output: o\n    inputs:\n      record_type: {}\n      fields:\n        {}: x"
WITHIN = (
    "start:\n  decision:\n    outcome/a:\n      then:\n        record.search:\n          output: o\n          inputs:\n"
    "            record_type: nosuch\n            record_query: x"
)
INPUT = "inputs:\n  record/t:\n    record_type: {}\nstart:"

KNOWN = {
    "a field": COMMAND.format("task", "title"),
    "an annotation": COMMAND.format("task", "title@raw"),
    "the plural": COMMAND.format("tickets", "subject"),
    "a field that has another name, too": COMMAND.format("org", "name"),
    "a custom field by its name": COMMAND.format("task", "urgency"),
    "a template for the type": COMMAND.format("{{inputs.type}}", "x"),
    "a template for the field": COMMAND.format("task", "{{inputs.field}}"),
    "a command without records": "start:\n  storage.get/a:\n    output: o\n    inputs:\n      key: record_type",
    "an input": INPUT.format("task"),
    "no script": "start",
}
UNKNOWN = [
    (COMMAND.format("tsak", "title"), 5, "there is no record type 'tsak'; did you mean 'task'?"),
    (COMMAND.format("task", "titel"), 7, "'titel' is not a field of task; did you mean 'title'?"),
    (COMMAND.format("org", "urgency"), 7, "'urgency' is not a field of org"),
    (COMMAND.format("task", "custom_99"), 7, "'custom_99' is not a field of task"),
    (INPUT.format("tsak"), 3, "there is no record type 'tsak'; did you mean 'task'?"),
    (WITHIN, 8, "there is no record type 'nosuch'"),
]


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """A helpdesk whose tasks have a custom field."""
    folder: Path = tmp_path_factory.mktemp("names")
    opened = Desk(folder)
    opened.create("custom_field", name="Urgency", uri="urgency", context="task", type="S")
    yield opened
    opened.close()


def found(desk: Desk, script: str) -> list[checker.Mistake]:
    return names.unknown(script, desk.registry, desk.read(definitions))


@pytest.mark.parametrize("name", KNOWN)
def test_existing_names_are_not_flagged(desk: Desk, name: str) -> None:
    assert found(desk, KNOWN[name]) == []


@pytest.mark.parametrize(("script", "line", "told"), UNKNOWN)
def test_unknown_names_are_flagged_with_their_line(desk: Desk, script: str, line: int, told: str) -> None:
    [mistake] = found(desk, script)
    assert mistake.line == line and mistake.message.startswith(told)


@pytest.mark.parametrize("script", [script for script, _, _ in UNKNOWN])
def test_a_script_with_unknown_names_can_be_saved(desk: Desk, script: str) -> None:
    assert checker.check(script) == []
