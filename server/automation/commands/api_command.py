"""The command api.command: runs operations that have no command of their own, by name."""

import json
import math
from collections.abc import Callable, Iterator
from typing import Any

from server.access import tokens
from server.automation import file_contents
from server.automation.acting import service_of, words
from server.automation.command import CommandCall, CommandFailed, Input, command
from server.automation.run_dictionary import Dictionary
from server.context import Context
from server.errors import Invalid, Required, nearest
from server.template.values import is_numeric, items, number, printed

PREFIX = "svc.commands."
NAME_CHARS = 255
MAX_MATCHES, DEFAULT_MATCHES = 500, 10
MAX_DIMENSIONS = 8192  # numbers per vector
STEPS_A_LINE = 8  # budget per line, plus one step per number
Command = Callable[[CommandCall, Context, dict[str, Any]], Any]


@command(
    "api.command",
    "Run an API function by name.",
    Input("name", "text", "Such as svc.commands.oauth2.token.validate.", required=True, max=NAME_CHARS),
    Input("params", "map", "Its parameters.", default={}),
    needs_output=True,
)
def api_command(call: CommandCall) -> Any:
    """Returns the result of the named operation."""
    ctx, name = service_of(call), call.inputs["name"]
    if name not in _COMMANDS:
        raise Invalid(f"api.command: there is no '{name[:100]}'{nearest(name, _COMMANDS)}", field="name")
    command, param_names = _COMMANDS[name]
    params = call.inputs["params"] or {}
    for each in params:
        if each not in param_names:
            raise Invalid(f"{name} takes no '{each[:80]}'{nearest(each, param_names)}", field=each)
    return command(call, ctx, params)


def _validated(call: CommandCall, ctx: Context, params: dict[str, Any]) -> Any:
    """Returns token_*, app_* and worker_* of a token, {} for an unknown one. An expired or revoked token is an
    error."""
    text = printed(params.get("token"))
    if not text:
        raise Required("svc.commands.oauth2.token.validate needs 'token'", field="token")
    token = ctx.service.store.read(lambda tx: tokens.find_token(tx, text))
    if token is None:
        return {}
    if token.revoked_at or token.expires_at <= ctx.now:
        raise CommandFailed(f"the token {'was revoked' if token.revoked_at else 'has expired'}")
    registry = ctx.service.registry
    values = {
        "token_id": token.id,
        "token_type": token.kind,
        "token_created_at": token.created_at,
        "token_expires_at": token.expires_at,
        "token_scopes": list(token.scopes),
        "app__context": registry.type("oauth_app").context,
        "app_id": token.app_id,
        "worker__context": registry.type("worker").context,
        "worker_id": token.worker_id,
    }
    return Dictionary(values, call.run.load)


def _similar(call: CommandCall, ctx: Context, params: dict[str, Any]) -> Any:
    """Returns {matches: [{score, data}]}: the lines of a data set with the most similar vectors, best first.

    score: cosine similarity, 1 for the same direction."""
    for name in ("uri", "vector", "embeddings_key"):
        if not params.get(name):
            raise Required(f"svc.commands.dataset.vector_similarity needs '{name}'", field=name)
    query = _vector(params["vector"])
    if query is None:
        raise Invalid(f"vector: must be a list of 1 to {MAX_DIMENSIONS:,} numbers that are not all 0", field="vector")
    limit = params.get("limit", DEFAULT_MATCHES)
    if not is_numeric(limit) or not 1 <= number(limit) <= MAX_MATCHES:
        raise Invalid(f"limit: must be a whole number from 1 to {MAX_MATCHES}", field="limit")
    keys = words(params.get("return_keys") or "id")
    scored = []
    for line in _lines(call, ctx, printed(params["uri"])):
        vector = _vector(line.get(printed(params["embeddings_key"])))
        if vector is not None and len(vector) == len(query):
            call.run.budget.step(STEPS_A_LINE + len(vector))
            score = sum(map(float.__mul__, query, vector))
            scored.append((score, {key: line[key] for key in keys if key in line}))
    scored.sort(key=lambda each: -each[0])
    return {"matches": [{"score": score, "data": data} for score, data in scored[: int(number(limit))]]}


def _lines(call: CommandCall, ctx: Context, uri: str) -> Iterator[dict[str, Any]]:
    """Yields the maps of a data set, one JSON text per line. Raises CommandFailed for a line that is not a map."""
    for place, line in enumerate(file_contents.content(ctx, file_contents.find(ctx, uri)).splitlines(), start=1):
        call.run.budget.step(STEPS_A_LINE)
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            entry = None
        if not isinstance(entry, dict):
            raise CommandFailed(f"'{uri[:100]}' has no JSON map on line {place}")
        yield entry


def _vector(value: Any) -> list[float] | None:
    """Returns a list of numbers as a vector of length 1, None for a zero vector or invalid numbers."""
    numbers = items(value)
    if not 1 <= len(numbers) <= MAX_DIMENSIONS or not all(map(is_numeric, numbers)):
        return None
    vector = [float(number(each)) for each in numbers]
    length = math.hypot(*vector)
    return [each / length for each in vector] if 0 < length < math.inf else None


def _has_no_screen(call: CommandCall, ctx: Context, params: dict[str, Any]) -> Any:
    raise CommandFailed(f"{call.inputs['name']} is not available on this installation: it needs worklists on screen")


_COMMANDS: dict[str, tuple[Command, tuple[str, ...]]] = {
    f"{PREFIX}dataset.vector_similarity": (_similar, ("uri", "vector", "embeddings_key", "return_keys", "limit")),
    f"{PREFIX}oauth2.token.validate": (_validated, ("token",)),
    f"{PREFIX}worklist.explorer.create": (_has_no_screen, ("interaction", "interaction_inputs", "title")),
    f"{PREFIX}worklist.search": (_has_no_screen, ("worklist_id", "worker_id", "worklist_query")),
}
