"""The command that asks a data query."""

from typing import Any

from server.automation.acting import parameters, service_of
from server.automation.command import CommandCall, Input, command
from server.queries import frame

MAX_QUERY_CHARS = 65_536  # of the input; the query language takes fewer


def _tells(inputs: dict[str, Any]) -> dict[str, Any]:
    """The type as the query itself is read, so that no other `type:` in it can stand for it."""
    return {"query": {"type": frame.type_named(inputs["query"], parameters(inputs["query_params"]))}}


@command(
    "data.query",
    "Ask a data query.",
    Input("query", "text", "The query; ${name} stands for a value.", required=True, max=MAX_QUERY_CHARS),
    Input("query_params", "map", "The values for ${name}.", default={}),
    needs_output=True,
    tells=_tells,
)
def data_query(call: CommandCall) -> Any:
    """{data, _} as the data query endpoint answers."""
    return frame.answer(service_of(call), call.inputs["query"], parameters(call.inputs["query_params"]))
