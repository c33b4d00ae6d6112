"""The command that calls another automation."""

from typing import Any

from server.automation.command import CommandCall, CommandFailed, Input, command
from server.automation.host import FUNCTION

MAX_URI_CHARS = 512
MAX_CALLS_DEEP = 16  # length of a chain of calls


@command(
    "function",
    "Run another automation, and use what it returns.",
    Input("uri", "text", "The automation: svc:automation:<name>, or its name.", required=True, max=MAX_URI_CHARS),
    Input("inputs", "map", "Its inputs.", default={}),
    reads=True,
    own_keys=("uri", "inputs"),
    policy_values=lambda inputs: {"uri": inputs["uri"], "inputs": inputs["inputs"]},
)
def function(call: CommandCall) -> Any:
    """Calls an automation, which sees only its inputs and has its own policy and time limit."""
    run, name = call.run, call.inputs["uri"]
    automation = run.host.automation(automation_name(name))
    if automation is None:
        raise CommandFailed(f"there is no automation '{name[:100]}'")
    if automation.trigger != FUNCTION:
        raise CommandFailed(f"'{name[:100]}' is not a function; its trigger is {automation.trigger}")
    if run.calls >= MAX_CALLS_DEEP:
        raise CommandFailed(f"at most {MAX_CALLS_DEEP} automations may call each other")
    result = run.called(automation, {"inputs": call.inputs["inputs"] or {}})
    if result.state in ("failure", "error"):
        raise CommandFailed(result.message)
    return result.returned


def automation_name(uri: str) -> str:
    """Returns the name in `svc:automation:<name>`, or a bare name."""
    parts = uri.split(":")
    return parts[2] if len(parts) == 3 and parts[0] == "svc" else uri
