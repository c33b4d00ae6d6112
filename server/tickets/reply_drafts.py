"""Drafts of replies while they are being written: saved during typing, never over a version that another tab or worker
saved, and taken back from the queue."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

import peewee

from server.context import Context
from server.dataclass import dataclass
from server.errors import Conflict, Invalid
from server.outbox import queue_rows
from server.record_types.record_type import Record
from server.record_types.shared.sending_addresses import COMPOSE, FORWARD, REPLY
from server.records.reading import RecordReader
from server.records.writing import RecordWriter
from server.store.statements import in_list, slot
from server.store.tables import table_named
from server.store.transaction import Transaction
from server.translation import N_

KINDS = {"reply": REPLY, "forward": FORWARD, "compose": COMPOSE}
# {parameter of a reply: parameter of its draft}; others have the same name.
PARAMS = {"status": "status_id", "reopen_at": "ticket_reopen"}


@dataclass(frozen=True, slots=True)
class ReplyDraft:
    """A draft that is being written. revision: changes with every save, to detect concurrent edits. kind: a key of
    KINDS."""

    id: int
    kind: str
    revision: str
    params: dict[str, Any]
    updated: int
    worker_id: int
    ticket_id: int


def note_key(ticket_id: int) -> str:
    """Returns the key of the draft of a note on a ticket, in people/form_drafts.py."""
    return f"note:{ticket_id}"


def params_of(values: Mapping[str, Any], message_id: int) -> dict[str, Any]:
    """Returns the params of the draft of a reply. values: the parameters of the reply."""
    params = {PARAMS.get(name, name): value for name, value in values.items()}
    return params | {"format": "parsedown", "in_reply_message_id": message_id}


def newest_own(ctx: Context, ticket_id: int, kind: str = "") -> ReplyDraft | None:
    """Returns the caller's newest unsent draft on a ticket, or None. See list_own."""
    return next(iter(list_own(ctx, ticket_id, kind)), None)


def list_own(ctx: Context, ticket_id: int, kind: str = "") -> list[ReplyDraft]:
    """Returns the caller's unsent drafts on a ticket, newest first. ticket_id: 0 for new tickets. kind: a key of KINDS,
    "" for any."""

    def read(tx: Transaction) -> list[ReplyDraft]:
        drafts = ctx.service.registry.type("draft")
        rows_found = tx.find(drafts.table, ticket_id=ticket_id, worker_id=ctx.actor.worker_id, is_queued=0)
        unsent = [drafts.record(row) for row in rows_found]
        kinds = (KINDS[kind],) if kind in KINDS else (COMPOSE,) if not ticket_id else (REPLY, FORWARD)
        fitting = [each for each in unsent if each["type"] in kinds]
        fitting.sort(key=lambda each: (each["updated"], each["id"]), reverse=True)
        return [_draft(each) for each in fitting]

    return ctx.service.store.read(read)


def tickets_with_own(ctx: Context, ticket_ids: Iterable[int]) -> set[int]:
    """Returns those of the tickets on which the caller has an unsent draft."""
    params = (ctx.actor.worker_id, json.dumps(list(ticket_ids)))
    return {ticket_id for (ticket_id,) in ctx.service.store.read(lambda tx: tx.rows(_own_on_tickets, params))}


def _own_on_tickets() -> Any:
    draft = table_named("draft").c
    is_own = (draft.worker_id == slot(0)) & (draft.is_queued == peewee.SQL("0"))
    return table_named("draft").select(draft.ticket_id).where(is_own & in_list(draft.ticket_id, slot(1)))


def find_unsent(ctx: Context, id: int) -> ReplyDraft | None:
    """Returns an unsent draft that the caller may read, or None."""

    def read(tx: Transaction) -> ReplyDraft | None:
        reading = RecordReader(ctx, tx)
        draft = reading.record("draft", id)
        is_theirs = draft is not None and reading.may_read("draft", id)
        return _draft(draft) if draft is not None and is_theirs and not draft["is_queued"] else None

    return ctx.service.store.read(read)


def save(
    ctx: Context, kind: str, ticket_id: int, params: dict[str, Any], id: int = 0, revision: str = ""
) -> ReplyDraft:
    """Saves the typed text as a new draft or over the one with this id, and returns it with its new revision.

    revision: the last one that the caller saw. Raises Conflict with the detail `revision` if the draft has changed
    since or is queued, Forbidden, and Invalid for a deleted draft or an unknown kind."""
    if kind not in KINDS:
        raise Invalid(f"kind: '{kind[:40]}' is not reply, forward or compose", field="kind")
    fields = {
        "type": KINDS[kind],
        "name": params.get("subject", ""),
        "to": params.get("to", ""),
        "params": {name: value for name, value in params.items() if value not in ("", None)},
        "ticket_id": str(ticket_id),
        "worker_id": str(ctx.actor.worker_id),
    }

    def write(tx: Transaction) -> ReplyDraft:
        writing = RecordWriter(ctx, tx)
        drafts = writing.registry.type("draft")
        if not id:
            return _draft(_stored(writing, writing.create_sent(drafts, fields)))
        _require_same(writing.record("draft", id), revision)
        writing.update_sent(drafts, id, {name: fields[name] for name in ("type", "name", "to", "params")})
        return _draft(_stored(writing, id))

    return ctx.service.store.write(write)


def drop(ctx: Context, id: int, revision: str) -> None:
    """Deletes a draft that has this revision. Raises Conflict if it has changed since or is queued, Invalid for a
    deleted draft, Forbidden."""

    def write(tx: Transaction) -> None:
        writing = RecordWriter(ctx, tx)
        _require_same(writing.record("draft", id), revision)
        writing.delete_sent(writing.registry.type("draft"), id)

    ctx.service.store.write(write)


def take_back(ctx: Context, id: int) -> ReplyDraft:
    """Turns a queued mail into a draft again. Raises Conflict if it is being sent or was sent, Forbidden."""

    def write(tx: Transaction) -> ReplyDraft:
        writing = RecordWriter(ctx, tx)
        draft, row = writing.record("draft", id), queue_rows.get(tx, id)
        is_taken = row is not None and row["claimed_by"] and row["claimed_until"] > writing.now
        if draft is None or not draft["is_queued"] or is_taken:
            raise Conflict(N_("too late: the email has already been sent"))
        params = {name: value for name, value in draft["params"].items() if name not in ("is_applied", "send_at")}
        writing.update_sent(writing.registry.type("draft"), id, {"is_queued": "0", "params": params})
        return _draft(_stored(writing, id))

    return ctx.service.store.write(write)


def _require_same(draft: Record | None, revision: str) -> None:
    if draft is None:
        raise Invalid(
            N_("the draft no longer exists: it was sent or deleted; what you typed is still here"), field="draft"
        )
    if draft["is_queued"]:
        raise Conflict(N_("the draft is already waiting to be sent"), revision="")
    if _draft(draft).revision != revision:
        raise Conflict(N_("the draft was changed in another tab or by somebody else"), revision=_draft(draft).revision)


def _stored(writing: RecordWriter, id: int) -> Record:
    draft = writing.record("draft", id)
    assert draft is not None
    return draft


def _draft(draft: Record) -> ReplyDraft:
    params = draft["params"] if isinstance(draft["params"], dict) else {}
    kind = next((kind for kind, type in KINDS.items() if type == draft["type"]), "reply")
    return ReplyDraft(
        draft["id"],
        kind,
        queue_rows.digest(params)[:16],
        params,
        draft["updated"],
        draft["worker_id"],
        draft["ticket_id"],
    )
