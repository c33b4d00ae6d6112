"""Tools that list what the arguments of other tools may be: groups, statuses and macros; and data queries."""

import json

from server.automation import macros
from server.queries import query_run
from server.records import records
from server.records.records import SearchRequest
from server.tickets import ticket_statuses
from server.tickets.types.ticket_parts import status
from server.web.assistants.reading_tools import TICKET
from server.web.assistants.tool_declarations import ToolCall, ToolResult, like, tool
from server.web.rest import data as rest_data

MAX_GROUPS = 200
MAX_MACROS = 100
MAX_DATA_CHARS = 20_000  # length of the result of a data query


@tool(
    "list_groups",
    "List groups",
    "List the groups that tickets can be in, with their ids.",
    "read",
    reads=("group",),
)
def list_groups(call: ToolCall) -> ToolResult:
    records.require_thread(call.ctx)  # many records at once
    found = records.search(call.ctx, "group", SearchRequest("sort:name", MAX_GROUPS))["results"]
    rows = [{"id": each["id"], "name": each["name"]} for each in found]
    return ToolResult("\n".join(f"{each['id']}: {each['name']}" for each in rows), {"groups": rows})


@tool(
    "list_statuses",
    "List statuses",
    "List the states of tickets, and the named statuses that belong to each.",
    "read",
)
def list_statuses(call: ToolCall) -> ToolResult:
    rows = [
        {"status_name": each.name, "status": status.WORDS[each.status_id], "group_id": each.group_id}
        for each in ticket_statuses.all_of(call.ctx)
    ]
    lines = [f"{each['status_name']} ({each['status']})" for each in rows]
    return ToolResult(
        "\n".join([f"States: {', '.join(status.WORDS)}", *lines]), {"states": list(status.WORDS), "names": rows}
    )


@tool(
    "list_macros",
    "List macros",
    "List the macros that can run on a ticket, with their inputs.",
    "read",
    TICKET,
    reads=("ticket",),
    about="ticket_id",
)
def list_macros(call: ToolCall) -> ToolResult:
    found = macros.usable(call.ctx, call.number("ticket_id"))[:MAX_MACROS]
    rows = [
        {
            "name": each.name,
            "label": each.label,
            "description": each.more,
            "inputs": [{"name": one.name, "required": one.is_required} for one in each.inputs],
        }
        for each in found
    ]
    return ToolResult("\n".join(f"{each['name']}: {each['label']}" for each in rows), {"macros": rows})


@tool(
    "run_data_query",
    "Run a data query",
    "Run a data query, for numbers over many records. Data queries change nothing.",
    "read",
    like(rest_data, "GET data/query", "q"),
    about="q",
    is_untrusted=True,
)
def run_data_query(call: ToolCall) -> ToolResult:
    found = query_run.evaluate(call.ctx, call.text("q"))
    text = json.dumps(found["data"], ensure_ascii=False, separators=(",", ":"), default=str)
    if len(text) > MAX_DATA_CHARS:
        cut = f"[cut after {MAX_DATA_CHARS} of {len(text)} characters; narrow the query down]"
        return ToolResult(f"{text[:MAX_DATA_CHARS]}\n{cut}", {"is_cut": True})
    return ToolResult(text, {"data": found["data"], "is_cut": False})
