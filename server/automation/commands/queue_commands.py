"""Commands on queues. Popped messages are deleted if the run succeeds, and delivered again if it fails."""

from typing import Any

from server.automation import queues
from server.automation.acting import changed, instant, service_of
from server.automation.command import CommandCall, Input, command
from server.automation.run_dictionary import plain
from server.template.values import pairs

NAME_CHARS = 255
NAME = Input("queue_name", "text", "The name of the queue.", required=True, max=NAME_CHARS)


@command(
    "queue.push",
    "Add messages to a queue.",
    NAME,
    Input("messages", "list", f"The messages, at most {queues.MAX_PUSHED:,}.", required=True),
    Input("available_at", "text", "When they become available: a time, such as `+5 minutes`; now when blank."),
    needs_output=True,
)
def push(call: CommandCall) -> Any:
    """Returns a uuid for each message, as 32 hex digits."""
    ctx = service_of(call, ("messages",))
    name, at = call.inputs["queue_name"], instant(call, ctx, "available_at", 0)
    messages = [plain(each) for _, each in pairs(call.inputs["messages"])]
    return changed(call, ctx, lambda ctx: queues.push(ctx, name, messages, at))


@command(
    "queue.pop",
    "Remove messages from a queue and return them.",
    NAME,
    Input("limit", "number", f"Most messages to return, 1 to {queues.MAX_TAKEN}.", default=1),
    needs_output=True,
)
def pop(call: CommandCall) -> Any:
    """Returns {consumer_id, messages: {uuid: {queue, data, available_at}}}, longest waiting first."""
    ctx, name, limit = service_of(call), call.inputs["queue_name"], call.inputs["limit"]
    consumer, leased = changed(call, ctx, lambda ctx: queues.pop(ctx, name, limit))
    if leased and not call.run.host.dry:
        call.run.at_end.append(lambda is_done: queues.settle(ctx, consumer, is_done=is_done))
    messages = {each.uuid: {"queue": name, "data": each.data, "available_at": each.available_at} for each in leased}
    return {"consumer_id": consumer, "messages": messages}
