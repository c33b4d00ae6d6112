"""Runs a macro on a ticket and applies its result in one transaction."""

from collections.abc import Mapping
from dataclasses import field, replace
from typing import Any

from server.automation import automation_service, inputs
from server.automation.engine import RunResult
from server.automation.macros import forms, listing, macro_result
from server.automation.macros.listing import Macro
from server.automation.macros.macro_result import MacroResult
from server.context import Context
from server.contexts import TICKET
from server.dataclass import dataclass
from server.errors import Forbidden, Invalid, ScriptError, TimedOut
from server.outbox.delivery import Delivery
from server.records import comments, records
from server.records.writing import RecordWriter
from server.tickets import answered, assignment, properties
from server.tickets import reply as reply_on

MAX_SECONDS = 30.0  # limit for the script, whatever its policy says: a worker waits
POINT = "ticket.macro"
# Fields that are restored to undo a macro, and the fields whose change this reverts.
TAGS = "tag_names"
UNDONE = (
    "status_id",
    "status_name_id",
    "reopen_date",
    "owner_id",
    "bucket_id",
    "org_id",
    "importance",
    "subject",
    TAGS,
)
UNDOABLE = frozenset((*UNDONE, "status", "status_name", "reopen_at", "group_id", "tags", assignment.FIELD))


@dataclass(frozen=True, slots=True)
class MacroOutcome:
    """The outcome of a macro. reply, note: Markdown that awaits review, "" for none. changed: the fields that were set.
    delivery: of the sent reply, None for none. note_id: of the new note, 0 for none. before: earlier values of the
    changed columns of the ticket; {} if restoring them would not undo all of `changed`."""

    macro: Macro
    reply: str = ""
    note: str = ""
    changed: tuple[str, ...] = ()
    delivery: Delivery | None = None
    note_id: int = 0
    before: Mapping[str, str] = field(default_factory=dict)


def run(
    ctx: Context,
    ticket_id: int,
    name: str,
    input_values: Mapping[str, Any],
    *,
    send_at: int = 0,
    sends: bool = True,
) -> MacroOutcome:
    """Runs a macro on a ticket as the caller, who must be allowed to change it. name: or id, or label.
    input_values: its inputs. send_at: Unix seconds when the reply is sent, 0 for now.
    sends: False leaves every text for review.

    The effects of its commands remain, whatever it returns. Raises NotFound, Forbidden, Required and Invalid for
    inputs, ScriptError if it fails, TimedOut, and the errors of changing and replying."""
    macro = listing.find(ctx, ticket_id, name)
    records.require(ctx, "ticket", "update", ticket_id)
    forms.require_intact(ctx, macro)
    _require_inputs(macro, input_values)
    values = listing.values_of(ctx, ticket_id) | {"inputs": dict(input_values)}
    was = _state(ctx, ticket_id)
    result = automation_service.perform(ctx, macro.automation, values, seconds=MAX_SECONDS)
    done = macro_result.read(_returned(macro, result), ctx.actor.worker_id)
    outcome = _do(ctx, macro, ticket_id, done, send_at, sends and done.sends)
    return replace(outcome, before=_differing(was, _state(ctx, ticket_id)) if UNDOABLE.issuperset(done.changes) else {})


def _state(ctx: Context, ticket_id: int) -> dict[str, str]:
    """Returns the fields to restore; {} for a ticket that the worker may no longer read."""
    try:
        ticket = records.retrieve(ctx, "ticket", ticket_id, "tags")
    except Forbidden:
        return {}
    values = ticket | {TAGS: ", ".join(ticket["tags"])}
    return {name: str(values[name] or (0 if name not in ("subject", TAGS) else "")) for name in UNDONE}


def _differing(was: dict[str, str], now: dict[str, str]) -> dict[str, str]:
    differing = {name: text for name, text in was.items() if name in now and text != now[name]}
    if TAGS in differing:
        before, after = ({each for each in text[TAGS].split(", ") if each} for text in (was, now))
        differing[TAGS] = ", ".join([*(f"-{name}" for name in sorted(after - before)), *sorted(before - after)])
    return differing


def _require_inputs(macro: Macro, values: Mapping[str, Any]) -> None:
    """Requires valid inputs. Raises Required, Invalid."""
    for each in macro.inputs:
        if each.kind != "text":
            raise Invalid(
                f"inputs: '{each.name}' is of the kind {each.kind}; macros accept only texts", field=each.name
            )
    wrong = inputs.misfit(macro.automation.script, values)
    if wrong is not None:
        raise wrong


def _returned(macro: Macro, result: RunResult) -> Any:
    if result.state == "error":
        raise TimedOut(f"the macro '{macro.name}' took too long and was stopped; what it had done is kept")
    if result.state == "failure":
        raise ScriptError(f"the macro '{macro.name}' failed: {result.message}")
    if result.state == "await":
        raise ScriptError(f"the macro '{macro.name}' waits, but macros cannot wait; use return")
    return result.returned


def _do(ctx: Context, macro: Macro, ticket_id: int, done: MacroResult, send_at: int, sends: bool) -> MacroOutcome:
    note_id = 0

    def also(writing: RecordWriter) -> None:
        nonlocal note_id
        note_id = comments.on_record(ctx, "ticket", ticket_id, done.note, "note") if sends and done.note else 0
        if done.changes:
            properties.change(ctx, ticket_id, done.changes, {})
        entry = {"target": writing.label("ticket", ticket_id), "macro": macro.label}
        writing.log(POINT, TICKET, ticket_id, entry)
        forms.count_use(writing.tx, macro.id, ctx.now)

    delivery = None
    if sends and done.reply:
        delivery = reply_on(ctx, _reply_values(ctx, ticket_id, done, send_at), also).delivery
    else:
        ctx.service.store.write(lambda tx: also(RecordWriter(ctx, tx)))
    reply, note = ("", "") if sends else (done.reply, done.note)
    return MacroOutcome(macro, reply, note, tuple(done.changes), delivery, note_id)


def _reply_values(ctx: Context, ticket_id: int, done: MacroResult, send_at: int) -> dict[str, Any]:
    """Returns the values for reply(). The ticket keeps its status, since the changes are applied afterwards; only a
    move is applied before, since sender and signature depend on it. Raises Invalid for a ticket without messages."""
    ticket = records.retrieve(ctx, "ticket", ticket_id)
    message_id = answered.newest(ctx, ticket_id)
    if not message_id:
        raise Invalid("the ticket has no message to reply to", field="reply")
    moved = {name: done.changes[name] for name in ("group_id", "bucket_id") if name in done.changes}
    return moved | {
        "message_id": str(message_id),
        "content": done.reply,
        "content_format": "markdown",
        "status": str(ticket["status_id"]),
        "reopen_at": str(ticket["reopen_date"] or ""),
        "send_at": str(send_at or ""),
    }
