"""Commands that store values between runs, under keys that all automations share."""

from typing import Any

from server.automation import stored_values
from server.automation.acting import changed, instant, service_of
from server.automation.command import CommandCall, CommandFailed, Input, command
from server.automation.run_dictionary import plain

KEY = Input("key", "text", "The key.", required=True, max=stored_values.MAX_KEY_CHARS)


@command(
    "storage.set",
    "Store a value under a key.",
    KEY,
    Input("value", "any", "Text, number, list or map.", required=True),
    Input("expires", "text", "When it expires: a time, such as `+2 hours`; never when blank."),
    Input(
        "if_absent",
        "flag",
        "Whether to store it only if the key has no value yet. The output then also has "
        "`is_stored`, which is true for exactly one of several concurrent runs, and `value`, the "
        "stored value.",
        default=False,
    ),
)
def set_(call: CommandCall) -> Any:
    """Returns {key, expires}: Unix seconds, 0 for never; with if_absent also {is_stored, value}."""
    value = call.inputs["value"]
    if value is None or isinstance(value, bool):
        raise CommandFailed("storage.set: the input 'value' must be a text, a number, a list or a map")
    ctx = service_of(call, ("value",))
    key, expires_at = call.inputs["key"], instant(call, ctx, "expires", 0)
    if_absent = bool(call.inputs["if_absent"])
    stored = changed(call, ctx, lambda ctx: stored_values.put(ctx, key, plain(value), expires_at, if_absent=if_absent))
    more = {"is_stored": stored.is_new, "value": stored.value} if if_absent else {}
    return {"key": key, "expires": stored.expires_at, **more}


@command(
    "storage.get",
    "Read the value under a key.",
    KEY,
    Input("default", "any", "Used if there is no value; without a default, a missing value is an error."),
    needs_output=True,
    reads=True,
)
def get(call: CommandCall) -> Any:
    """Returns the value."""
    is_there, value = stored_values.get(service_of(call, ("default",)), call.inputs["key"])
    if is_there:
        return value
    if "default" in call.given:
        return call.inputs["default"]
    raise CommandFailed(f"storage.get: there is no value under '{call.inputs['key'][:100]}'; add a `default:`")


@command("storage.delete", "Remove the value under a key.", KEY)
def delete(call: CommandCall) -> Any:
    """Returns true, even if there was no value."""
    changed(call, service_of(call), lambda ctx: stored_values.delete(ctx, call.inputs["key"]))
    return True
