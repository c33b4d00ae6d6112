"""Dry runs: whatever a script triggers, every row of the database stays as it was."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from server.automation.automation_service import find, perform
from server.record_types.shared.triggers import PREFIX
from server.store.transaction import Transaction
from tests import databases
from tests.automation.told import MAY_ALL
from tests.records.desk import Desk

KEEP = """
  storage.set:
    inputs:
      key: kept
      value: by an automation that another one set off
  log: it ran
  return:
    data@list: done
    file:
      content: made
"""
ASKING = {  # the trigger of the automation, and the command that starts it
    "a function": ("automation.function", "  function:\n    output: it\n    uri: kept.by\n"),
    "a template": ("scripting.function", "  set:\n    it: {{svc_automation('kept.by').exit_state}}\n"),
    "a data query": (
        "data.query", "  data.query:\n    output: it\n    inputs:\n      query: type:automation.invoke name:kept.by\n",
    ),
    "a file": (
        "resource.get", "  file.read:\n    output: it\n    inputs:\n      uri: svc:resource:made.csv\n",
    ),
    "a change": (
        "record.changed",
        "  record.create:\n    output: it\n    inputs:\n      record_type: org\n      fields:\n        name: Kite\n",
    ),
}  # fmt: skip


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    opened = Desk(tmp_path)
    yield opened
    opened.close()


def keep(desk: Desk, name: str, trigger: str, script: str) -> None:
    fields: dict[str, Any] = {"name": name, "extension_id": PREFIX + trigger, "policy_kata": MAY_ALL}
    desk.create("automation", script=f"start:\n{script}", **fields)


def run(desk: Desk, name: str, dry: bool) -> Any:
    ctx = desk.context()
    automation = desk.read(lambda tx: find(ctx, tx, name))
    assert automation is not None
    return perform(ctx, automation, {}, dry=dry)


def content(desk: Desk) -> dict[str, list[Any]]:
    """Returns all rows of the database, by table."""

    def read(tx: Transaction) -> dict[str, list[Any]]:
        names = databases.tables(tx.connection)
        return {name: tx.connection.execute(f'SELECT * FROM "{name}"').fetchall() for name in names}

    return desk.read(read)


@pytest.mark.parametrize("name", ASKING)
def test_automations_started_by_a_dry_run_are_dry(desk: Desk, name: str) -> None:
    trigger, asking = ASKING[name]
    keep(desk, "kept.by", trigger, KEEP)
    keep(desk, "asks", "automation.function", asking)
    binding = "automation/a:\n  uri: kept.by"
    desk.create("resource", name="made.csv", extension_id="svc.resource.dataset.csv", is_dynamic=1,
                automation_kata=binding, content="data:text/csv;base64,b2xk")  # fmt: skip
    event: dict[str, Any] = {"name": "record.changed", "extension_id": f"{PREFIX}record.changed"}
    desk.own("automation_event", **event, automations_kata=binding if name == "a change" else "")
    before = content(desk)
    found = run(desk, "asks", dry=True)
    assert found.state == "exit", found.message
    assert content(desk) == before
    assert run(desk, "asks", dry=False).state == "exit" and content(desk) != before


def test_a_type_created_in_a_dry_run_is_unknown_afterwards(desk: Desk) -> None:
    fields = "        name: Kite\n        name_plural: Kites\n        uri: kite\n"
    inputs = f"    inputs:\n      record_type: custom_record\n      fields:\n{fields}"
    keep(desk, "makes", "automation.function", f"  record.create:\n    output: it\n{inputs}")
    before = content(desk)
    found = run(desk, "makes", dry=True)
    assert found.state == "exit", found.message
    assert content(desk) == before and desk.registry.find("kite") is None
