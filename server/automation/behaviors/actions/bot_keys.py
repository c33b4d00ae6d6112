"""Actions on named values that a bot stores between runs."""

from typing import Any

from server import times
from server.automation import stored_values
from server.automation.behaviors.action import ActionCall, action
from server.errors import Invalid

MAX_KEY_CHARS = 1024  # characters of a name


@action("_get_key", "Get the value that the bot stored under a key.", placeholder="var")
def get_key(call: ActionCall) -> Any:
    """Null if there is none or it has expired."""
    return stored_values.get(call.run.ctx, _key(call))[1]


@action("_set_key", "Store a text under a key, until a time or forever.", effects=True)
def set_key(call: ActionCall) -> None:
    """Raises Invalid for a time that cannot be parsed."""
    ctx, key = call.run.ctx, _key(call)
    stored_values.put(ctx, key, call.text("value"), times.instant(call.text("expires_at"), ctx.now, ctx.tz))


def _key(call: ActionCall) -> str:
    name = call.text("key")
    if not name or len(name) > MAX_KEY_CHARS:
        raise Invalid(f"key: must be a name of 1 to {MAX_KEY_CHARS} characters", field="key")
    return f"bot:{call.run.behavior.bot_id}:{name}"
