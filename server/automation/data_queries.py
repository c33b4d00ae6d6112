"""Runs the automations of data queries of the type `automation.invoke`."""

from dataclasses import replace
from typing import Any

from server.automation.automation_service import MAX_DEPTH, find, perform
from server.automation.input_values import holds_bytes
from server.automation.run_dictionary import plain
from server.context import Context
from server.errors import NotFound, ScriptError


def invoke(ctx: Context, name: str, inputs: dict[str, Any], format: str) -> dict[str, Any]:
    """Returns {data, _} of the automation of a name: its return value, or the `data` key in it.

    Raises NotFound, ScriptError with the error of the automation."""
    if ctx.depth >= MAX_DEPTH:
        raise ScriptError(f"at most {MAX_DEPTH} automations may cause each other")
    automation = ctx.service.store.read(lambda tx: find(ctx, tx, name))
    if automation is None:
        raise NotFound(f"there is no automation '{name[:80]}'")
    result = perform(replace(ctx, depth=ctx.depth + 1), automation, {"inputs": inputs, "query_format": format})
    if result.state in ("failure", "error"):
        raise ScriptError(result.message)
    returned = plain(result.returned)
    if holds_bytes(returned):
        raise ScriptError("it returns bytes that are not text; encode them, for example as base64")
    if not isinstance(returned, dict) or "data" not in returned:
        return {"data": returned, "_": {}}
    extra = returned.get("_")
    return {"data": returned["data"], "_": extra if isinstance(extra, dict) else {}}
