"""Single commands run in a service: their result or failure."""

from typing import Any

from server.automation import engine
from server.automation.automation_service import ServiceHost
from server.automation.host import Script
from server.automation.run_dictionary import plain
from tests.automation.cases.case import ALLOW
from tests.records.desk import Desk


class Failed(AssertionError):
    """The command failed with this message."""


def done(desk: Desk, name: str, /, policy: str = ALLOW, dry: bool = False, **inputs: Any) -> Any:
    """Returns the output of a command for these inputs. Raises Failed."""
    found = ran(desk, {"c1": (name, inputs)}, policy, dry)
    if found.state == "failure":
        raise Failed(found.message)
    return plain(found.values["c1"])


def refused(desk: Desk, name: str, /, **inputs: Any) -> str:
    """Returns the message of the failed command."""
    try:
        response = done(desk, name, **inputs)
    except Failed as error:
        return str(error)
    raise AssertionError(f"{name} did not fail: {response}")


def ran(
    desk: Desk, commands: dict[str, tuple[str, dict[str, Any]]], policy: str = ALLOW, dry: bool = False, after: str = ""
) -> engine.RunResult:
    """Runs commands in turn, each with its inputs; outputs are stored under their keys. after: further KATA below
    `start`."""
    text = "start:\n"
    for key, (name, _) in commands.items():
        text += f"  {name}/{key}:\n    output: {key}\n    inputs@key: given:{key}\n"
    given = {"given": {key: inputs for key, (_, inputs) in commands.items()}}
    return engine.run(Script(text + after, policy), given, ServiceHost(desk.context(), dry=dry))
