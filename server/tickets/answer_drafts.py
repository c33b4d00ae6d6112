"""Drafts of answers as somebody writes them: kept while typing, never over what another tab or person has kept, taken
back while they wait to leave."""

from typing import Any

from server.context import Context
from server.dataclass import dataclass
from server.errors import Conflict, Invalid
from server.outbox import rows
from server.record_types.base import Record
from server.record_types.shared.sending import COMPOSE, FORWARD, REPLY
from server.records.reading import RecordReader
from server.records.writing import RecordWriter
from server.store.transaction import Transaction
from server.translation import N_

KINDS = {"reply": REPLY, "forward": FORWARD, "compose": COMPOSE}


@dataclass(frozen=True, slots=True)
class AnswerDraft:
    """A draft that somebody is writing. revision: tells whether it is still what they know; kind: of KINDS."""

    id: int
    kind: str
    revision: str
    params: dict[str, Any]
    updated: int
    worker_id: int
    ticket_id: int


def own(ctx: Context, ticket_id: int, kind: str = "") -> AnswerDraft | None:
    """What the caller is writing on a ticket, the newest of several; None for nothing. See list_own."""
    return next(iter(list_own(ctx, ticket_id, kind)), None)


def list_own(ctx: Context, ticket_id: int, kind: str = "") -> list[AnswerDraft]:
    """The drafts that the caller is writing on a ticket, the newest first. ticket_id: 0 for new tickets. kind: of
    KINDS, "" for any."""

    def read(tx: Transaction) -> list[AnswerDraft]:
        drafts = ctx.service.registry.type("draft")
        rows_found = tx.find(drafts.table, ticket_id=ticket_id, worker_id=ctx.actor.worker_id, is_queued=0)
        found = [drafts.record(row) for row in rows_found]
        kinds = (KINDS[kind],) if kind in KINDS else (COMPOSE,) if not ticket_id else (REPLY, FORWARD)
        fitting = [each for each in found if each["type"] in kinds]
        fitting.sort(key=lambda each: (each["updated"], each["id"]), reverse=True)
        return [_draft(each) for each in fitting]

    return ctx.service.store.read(read)


def of(ctx: Context, id: int) -> AnswerDraft | None:
    """One that the caller may read and that does not wait to leave; None for any other."""

    def read(tx: Transaction) -> AnswerDraft | None:
        reading = RecordReader(ctx, tx)
        draft = reading.record("draft", id)
        is_theirs = draft is not None and reading.may_read("draft", id)
        return _draft(draft) if draft is not None and is_theirs and not draft["is_queued"] else None

    return ctx.service.store.read(read)


def keep(
    ctx: Context, kind: str, ticket_id: int, params: dict[str, Any], id: int = 0, revision: str = ""
) -> AnswerDraft:
    """Keep what was typed, in a new draft or the one with this id; answers it with its new revision.

    revision: of the draft as the caller knows it. Raises Conflict with the details `revision` when it has another one
    by now, or is about to leave, Forbidden, Invalid for one that is gone or a kind that there is not."""
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

    def write(tx: Transaction) -> AnswerDraft:
        writing = RecordWriter(ctx, tx)
        drafts = writing.registry.type("draft")
        if not id:
            return _draft(_stored(writing, writing.create_sent(drafts, fields)))
        _require_same(writing.record("draft", id), revision)
        writing.update_sent(drafts, id, {name: fields[name] for name in ("type", "name", "to", "params")})
        return _draft(_stored(writing, id))

    return ctx.service.store.write(write)


def drop(ctx: Context, id: int, revision: str) -> None:
    """Forget a draft that has this revision. Raises Conflict when it has another one by now, or is about to leave,
    Invalid for one that is gone, Forbidden."""

    def write(tx: Transaction) -> None:
        writing = RecordWriter(ctx, tx)
        _require_same(writing.record("draft", id), revision)
        writing.delete_sent(writing.registry.type("draft"), id)

    ctx.service.store.write(write)


def take_back(ctx: Context, id: int) -> AnswerDraft:
    """Let mail that waits to leave be a draft again. Raises Conflict once it is on its way or gone, Forbidden."""

    def write(tx: Transaction) -> AnswerDraft:
        writing = RecordWriter(ctx, tx)
        draft, row = writing.record("draft", id), rows.get(tx, id)
        is_taken = row is not None and row["claimed_by"] and row["claimed_until"] > writing.now
        if draft is None or not draft["is_queued"] or is_taken:
            raise Conflict(N_("it is too late: the mail has left already"))
        params = {name: value for name, value in draft["params"].items() if name not in ("is_applied", "send_at")}
        writing.update_sent(writing.registry.type("draft"), id, {"is_queued": "0", "params": params})
        return _draft(_stored(writing, id))

    return ctx.service.store.write(write)


def _require_same(draft: Record | None, revision: str) -> None:
    if draft is None:
        raise Invalid(N_("the draft is gone: it was sent or deleted; what you typed is still here"), field="draft")
    if draft["is_queued"]:
        raise Conflict(N_("the draft waits to be sent already"), revision="")
    if _draft(draft).revision != revision:
        raise Conflict(N_("the draft was changed in another tab, or by somebody else"), revision=_draft(draft).revision)


def _stored(writing: RecordWriter, id: int) -> Record:
    draft = writing.record("draft", id)
    assert draft is not None
    return draft


def _draft(draft: Record) -> AnswerDraft:
    params = draft["params"] if isinstance(draft["params"], dict) else {}
    kind = next((kind for kind, type in KINDS.items() if type == draft["type"]), "reply")
    return AnswerDraft(
        draft["id"], kind, rows.digest(params)[:16], params, draft["updated"], draft["worker_id"], draft["ticket_id"]
    )
