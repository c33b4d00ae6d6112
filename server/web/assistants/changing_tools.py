"""Tools that change tickets: drafts, replies, notes, fields and macros. They do what the REST API does, with its rights
and events. With `dry_run`, the transaction is rolled back, or a macro is simulated."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from server import tickets
from server.automation import automation_service, macros
from server.automation.macros import forms, listing, macro_result
from server.automation.macros.running import MAX_SECONDS
from server.context import Context
from server.errors import Invalid, Required, ScriptError
from server.outbox.delivery import Delivery
from server.records import comments, records
from server.tickets import answered, reply_drafts, reply_start
from server.tickets.outgoing_identity import UNKNOWN
from server.web.assistants.reading_tools import TICKET
from server.web.assistants.tool_declarations import ToolArgument, ToolCall, ToolResult, like, tool
from server.web.rest import tickets as rest_tickets

REPLY = "POST tickets/reply"
DRY_RUN = ToolArgument("dry_run", "boolean", "true: only check what would happen, and change nothing.")
IDEMPOTENCY_KEY = ToolArgument(
    "idempotency_key",
    "string",
    "Any text of your own: a call that repeats it within a day gets the first result again and does nothing.",
)
CONTENT = like(rest_tickets, REPLY, "content", required=True)
FIELDS = ("status", "status_name", "owner_id", "group_id", "bucket_id", "importance", "org_id", "subject")
NUMBERS = ("owner_id", "group_id", "bucket_id", "importance", "org_id")
DRY = "Dry run, nothing was changed: "


@tool(
    "draft_reply",
    "Draft a reply",
    "Write a draft of a reply to the newest message of a ticket. It is never sent: a person reads it in the ticket, "
    "changes it and sends it.",
    "small write",
    TICKET,
    CONTENT,
    DRY_RUN,
    IDEMPOTENCY_KEY,
    reads=("ticket", "message"),
    about="ticket_id",
    is_idempotent=True,
)
def draft_reply(call: ToolCall) -> ToolResult:
    ctx, id, content = call.ctx, call.number("ticket_id"), call.text("content")
    records.require(ctx, "ticket", "update", id)
    message_id = _answered(ctx, id)
    same = next(
        (each for each in reply_drafts.list_own(ctx, id, "reply") if each.params.get("content") == content), None
    )
    if same is None and not call.is_dry:
        ticket = records.retrieve(ctx, "ticket", id)
        start = reply_start.of_reply(ctx, ticket, "reply", message_id, UNKNOWN)
        params = reply_drafts.params_of(start.values | {"content": content}, message_id)
        same = reply_drafts.save(ctx, "reply", id, params)
    if same is None:
        return ToolResult(f"{DRY}a draft would be saved on ticket {id}", {"dry_run": True, "ticket_id": id})
    data = {"draft_id": same.id, "ticket_id": id, "is_sent": False}
    return ToolResult(f"Draft {same.id} is saved on ticket {id}. A person sends it.", data)


@tool(
    "send_reply",
    "Send a reply",
    "Send a reply to the requesters of a ticket, as an email. It cannot be undone.",
    "write",
    TICKET,
    CONTENT,
    like(rest_tickets, REPLY, "content_format"),
    like(rest_tickets, REPLY, "to"),
    like(rest_tickets, REPLY, "cc"),
    ToolArgument("status", "string", "The state of the ticket afterwards.", choices=("open", "waiting", "closed")),
    IDEMPOTENCY_KEY,
    reads=("ticket", "message"),
    about="ticket_id",
    is_destructive=True,
    is_open_world=True,
)
def send_reply(call: ToolCall) -> ToolResult:
    names = ("content", "content_format", "to", "cc")
    values = {name: call.text(name) for name in names if call.text(name)} | {"ticket_id": str(call.number("ticket_id"))}
    if call.text("status"):
        values["status"] = str(("open", "waiting", "closed").index(call.text("status")))
    delivery = tickets.reply(call.ctx, values).delivery
    return ToolResult(_sent(delivery), {"ticket_id": call.number("ticket_id"), "delivery": delivery.as_dict()})


@tool(
    "add_note",
    "Write a note",
    "Write a note on a ticket. Workers see it, customers do not.",
    "small write",
    TICKET,
    ToolArgument("text", "string", "comment.comment", required=True),
    DRY_RUN,
    IDEMPOTENCY_KEY,
    reads=("ticket",),
    about="ticket_id",
)
def add_note(call: ToolCall) -> ToolResult:
    id = call.number("ticket_id")

    def work(ctx: Context) -> ToolResult:
        note_id = comments.on_record(ctx, "ticket", id, call.text("text"), "text")
        return ToolResult(f"Note {note_id} is on ticket {id}.", {"note_id": note_id, "ticket_id": id})

    return _unless_dry(call, work, f"{DRY}a note would be written on ticket {id}")


@tool(
    "set_ticket_fields",
    "Set fields of a ticket",
    "Change fields of a ticket. Fields that are absent stay as they are.",
    "small write",
    TICKET,
    ToolArgument("status", "string", "ticket.status", choices=("open", "waiting", "closed")),
    ToolArgument("status_name", "string", "ticket.status_name"),
    ToolArgument("owner_id", "integer", "ticket.owner_id"),
    ToolArgument("group_id", "integer", "ticket.group_id"),
    ToolArgument("bucket_id", "integer", "ticket.bucket_id"),
    ToolArgument("importance", "integer", "ticket.importance"),
    ToolArgument("org_id", "integer", "ticket.org_id"),
    ToolArgument("subject", "string", "ticket.subject"),
    ToolArgument("add_tags", "strings", "Tags to add, by name."),
    ToolArgument("remove_tags", "strings", "Tags to remove, by name."),
    ToolArgument("custom", "map", 'Values of custom fields by id, such as {"12": "blue"}.'),
    DRY_RUN,
    IDEMPOTENCY_KEY,
    reads=("ticket", "worker", "group", "tag"),
    about="ticket_id",
    is_destructive=True,
    is_idempotent=True,
)
def set_ticket_fields(call: ToolCall) -> ToolResult:
    id, fields = call.number("ticket_id"), _fields(call)

    def work(ctx: Context) -> ToolResult:
        changed = records.update(ctx, "ticket", id, fields, "tags")
        shown = {name: changed.get(name) for name in (*FIELDS, "tags")}
        names = ", ".join(sorted(fields))
        return ToolResult(f"Ticket {id} was changed: {names}.", {"ticket_id": id, "ticket": shown})

    return _unless_dry(call, work, "")


@tool(
    "run_macro",
    "Run a macro",
    "Run a macro on a ticket, with the rights of the worker. Its reply is sent only if the token has the scope "
    "mcp:send; otherwise it becomes a draft. What the commands of the macro do cannot be undone.",
    "write",
    TICKET,
    like(rest_tickets, "POST tickets/{id}/macro", "macro"),
    like(rest_tickets, "POST tickets/{id}/macro", "inputs", "map"),
    DRY_RUN,
    IDEMPOTENCY_KEY,
    reads=("ticket",),
    about="ticket_id",
    is_destructive=True,
    is_open_world=True,
)
def run_macro(call: ToolCall) -> ToolResult:
    ctx, id, name = call.ctx, call.number("ticket_id"), call.text("macro")
    inputs = {key: str(value) for key, value in call.arguments.get("inputs", {}).items()}
    if call.is_dry:
        return _simulated(ctx, id, name, inputs)
    outcome = macros.run(ctx, id, name, inputs, sends=call.may("send_reply"))
    drafts = macros.store_texts(ctx, id, outcome) if outcome.reply or outcome.note else []
    data: dict[str, Any] = {"macro": outcome.macro.name, "changed": list(outcome.changed), "drafts": drafts}
    if outcome.note_id:
        data["note_id"] = outcome.note_id
    sent = ""
    if outcome.delivery is not None:
        data["delivery"], sent = outcome.delivery.as_dict(), f" {_sent(outcome.delivery)}"
    waiting = f" Texts wait as drafts: {', '.join(drafts)}." if drafts else ""
    return ToolResult(f"The macro {outcome.macro.label} ran on ticket {id}.{sent}{waiting}", data)


def _simulated(ctx: Context, ticket_id: int, name: str, inputs: dict[str, str]) -> ToolResult:
    macro = listing.find(ctx, ticket_id, name)
    records.require(ctx, "ticket", "update", ticket_id)
    forms.require_intact(ctx, macro)
    values = listing.values_of(ctx, ticket_id) | {"inputs": inputs}
    result = automation_service.perform(ctx, macro.automation, values, dry=True, seconds=MAX_SECONDS)
    if result.state != "return":
        raise ScriptError(f"the macro '{macro.name}' would not end by itself: {result.message}")
    done = macro_result.read(result.returned, ctx.actor.worker_id)
    data = {"dry_run": True, "macro": macro.name, "reply": done.reply, "note": done.note, "changes": dict(done.changes)}
    return ToolResult(f"{DRY}the macro {macro.label} would return this. {data}", data)


def _answered(ctx: Context, ticket_id: int) -> int:
    message_id = answered.newest(ctx, ticket_id)
    if not message_id:
        raise Invalid("the ticket has no message to reply to", field="ticket_id")
    return message_id


def _fields(call: ToolCall) -> dict[str, Any]:
    """Returns the fields to change, as the API reads them. Raises Required without any."""
    sent = call.arguments
    fields: dict[str, Any] = {name: str(sent[name]) for name in FIELDS if name in sent}
    tags = [*sent.get("add_tags", ()), *(f"-{name}" for name in sent.get("remove_tags", ()))]
    if any("," in each for each in tags) or any(each.startswith("-") for each in sent.get("add_tags", ())):
        raise Invalid("tags: a tag has no comma, and does not begin with -", field="add_tags")
    if tags:
        fields["tags"] = tags
    for key, value in sent.get("custom", {}).items():
        if not (key.isascii() and key.isdigit()):
            raise Invalid(f"custom: '{key[:80]}' is not the id of a custom field", field="custom")
        fields[f"custom_{key}"] = value
    if not fields:
        raise Required("send at least one field to change", field="ticket_id")
    return fields


def _unless_dry(call: ToolCall, work: Callable[[Context], ToolResult], text: str) -> ToolResult:
    """Runs the work, or rehearses it. text: that of a rehearsal; by default, the text of the work."""
    if not call.is_dry:
        return work(call.ctx)
    ctx = replace(call.ctx, is_dry=True, is_quiet=True)
    result = ctx.service.store.rehearse(lambda tx: work(ctx))
    data = {name: value for name, value in result.data.items() if name != "note_id"}
    return ToolResult(text or f"{DRY}{result.text}", data | {"dry_run": True})


def _sent(delivery: Delivery) -> str:
    return f"The email is {delivery.state}{f': {delivery.reason}' if delivery.reason else ''}."
