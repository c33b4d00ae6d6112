"""The command that runs a data query."""

from typing import Any

from server.automation.acting import parameters, service_of
from server.automation.command import CommandCall, CommandFailed, Input, command
from server.queries import query_run

INVOKE = "automation.invoke"  # the type that runs an automation
MAX_QUERY_CHARS = 65_536  # length of the input; the query language has a lower limit


def _policy_values(inputs: dict[str, Any]) -> dict[str, Any]:
    """Returns the type as the query parser reads it, so that another `type:` in the text cannot stand in for it."""
    return {"query": {"type": query_run.type_named(inputs["query"], parameters(inputs["query_params"]))}}


@command(
    "data.query",
    "Run a data query.",
    Input("query", "text", "The query; ${name} is replaced by a value.", required=True, max=MAX_QUERY_CHARS),
    Input("query_params", "map", "The values for ${name}.", default={}),
    needs_output=True,
    reads=True,
    policy_values=_policy_values,
)
def data_query(call: CommandCall) -> Any:
    """Returns {data, _}, the same as the data query endpoint."""
    query, values = call.inputs["query"], parameters(call.inputs["query_params"])
    if call.run.host.reads_only and query_run.type_named(query, values) == INVOKE:
        raise CommandFailed(f"{INVOKE} is not run here: an automation of a widget only reads")
    return query_run.evaluate(service_of(call), query, values)
