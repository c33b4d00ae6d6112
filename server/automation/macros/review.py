"""Stores the texts of a macro as drafts of the worker, who reviews them before they are sent or added."""

from contextlib import suppress
from datetime import datetime
from typing import Any

from server.automation.macros.running import MacroOutcome
from server.context import Context
from server.errors import Conflict, Invalid
from server.people import form_drafts
from server.records import records
from server.tickets import answered, reply_drafts, reply_start
from server.tickets.outgoing_identity import UNKNOWN


def store_texts(ctx: Context, ticket_id: int, outcome: MacroOutcome) -> list[str]:
    """Appends the texts to the caller's drafts of a reply and of a note, and returns the kinds of the texts. A reply
    without a message to reply to becomes a note."""
    message_id = answered.newest(ctx, ticket_id) if outcome.reply else 0
    note = outcome.note if message_id else _joined(outcome.reply, outcome.note)
    if message_id:
        _store_reply(ctx, records.retrieve(ctx, "ticket", ticket_id), message_id, outcome)
    if note:
        key = reply_drafts.note_key(ticket_id)
        draft = form_drafts.load(ctx, key)
        form_drafts.save(ctx, key, [("note", _joined(draft.text("note") if draft is not None else "", note))])
    return [*(["reply"] if message_id else []), *(["note"] if note else [])]


def _store_reply(ctx: Context, ticket: dict[str, Any], message_id: int, outcome: MacroOutcome) -> None:
    """Appends the text to the caller's draft, or creates one that leaves the status as the macro has set it."""
    draft = reply_drafts.newest_own(ctx, ticket["id"], "reply")
    if draft is not None:
        params = draft.params | {"content": _joined(str(draft.params.get("content") or ""), outcome.reply)}
        with suppress(Conflict, Invalid):  # the worker has typed since: the text of the macro becomes a separate draft
            reply_drafts.save(ctx, "reply", ticket["id"], params, draft.id, draft.revision)
            return
    start = reply_start.of_reply(ctx, ticket, "reply", message_id, UNKNOWN)
    values = start.values | {"content": outcome.reply}
    if {"status", "status_id"} & set(outcome.changed):
        at = ticket["reopen_date"]
        reopen_at = datetime.fromtimestamp(at, ctx.tz).strftime("%Y-%m-%d %H:%M") if at else ""
        values |= {"status": str(ticket["status_id"]), "reopen_at": reopen_at}
    reply_drafts.save(ctx, "reply", ticket["id"], reply_drafts.params_of(values, message_id))


def _joined(*texts: str) -> str:
    return "\n\n".join(filter(None, (each.rstrip() for each in texts)))
