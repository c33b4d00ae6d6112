"""Scripts and the expected end of their runs, from the tables in cases/."""

from itertools import chain
from typing import Any

import pytest

from server.automation import engine
from server.automation.automation_service import ServiceHost
from server.automation.engine import RunResult
from server.automation.host import Host, Script, StandaloneHost
from server.automation.run_dictionary import plain
from server.automation.stored_values import STORED
from tests.automation.cases import commands, flow, guarded, setting, values
from tests.automation.cases.case import FAILS, MISSING, Case, Whole, same
from tests.records.desk import Desk

pytestmark = pytest.mark.sqlite("the same with any store")

ALONE = (
    flow.SHAPE, flow.ENDINGS, flow.LOGGING, flow.DECISIONS, flow.LOOPS, setting.SET, setting.WHOLE, commands.VARIABLES,
    commands.KATA_TEXTS, guarded.CALLS, guarded.REQUESTS,
)  # fmt: skip
IN_A_SERVICE = (commands.BRANCHES, guarded.STORAGE, guarded.POLICIES, guarded.SIMULATIONS)
DECLARATION = "inputs:\n  {}\nstart:\n  return:\n    v@key: inputs:v\n"


@pytest.mark.parametrize("case", [*chain(*ALONE)], ids=lambda case: case.name)
def test_scripts_without_a_service(case: Case) -> None:
    require(case, StandaloneHost(case.functions))


@pytest.mark.parametrize("case", [*chain(*IN_A_SERVICE)], ids=lambda case: case.name)
def test_scripts_in_a_service(case: Case, desk: Desk) -> None:
    desk.store.write(lambda tx: tx.delete(STORED))
    require(case, ServiceHost(desk.context()))


def require(case: Case, host: Host) -> None:
    """Runs a case and compares its end, values and log."""
    found = engine.run(Script(case.script, case.policy), case.given, host)
    logged = [(each.level, each.node, each.message) for each in found.log]
    assert found.state == case.state, (found.message, logged)
    if case.state == "failure":
        assert case.message in ("", found.message) and found.message
        if not case.given.get("__simulate"):
            assert logged.pop() == (3, "", found.message)
    else:
        assert same(case.returned, plain(found.returned)), found.returned
        assert same(case.values, found.variables), found.variables
    assert same(case.log, logged), logged


@pytest.mark.parametrize(("key", "text", "expected"), values.VALUES)
def test_annotations_of_parameters(key: str, text: str, expected: Any) -> None:
    script = f"start:\n  return:\n    {key}: {text}"
    require_value(engine.run(Script(script), values.GIVEN, StandaloneHost()), expected)


@pytest.mark.parametrize(("declaration", "given", "expected"), values.DECLARED)
def test_declared_inputs(declaration: str, given: Any, expected: Any) -> None:
    script = DECLARATION.format(declaration.replace("\n", "\n  "))
    inputs = given.value if isinstance(given, Whole) else {"v": given}
    require_value(
        engine.run(Script(script), {} if given is MISSING else {"inputs": inputs}, StandaloneHost()), expected
    )


def require_value(found: RunResult, expected: Any) -> None:
    if expected is FAILS:
        assert found.state == "failure" and [each.level for each in found.log] == [3], found
        return
    assert found.state == "return" and not found.log, (found.message, found.log)
    returned = expected.value if isinstance(expected, Whole) else {"v": expected}
    assert same(returned, plain(found.returned)), found.returned
