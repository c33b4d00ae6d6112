"""The state of a mail that a worker wrote, as shown in the response to compose and reply, and on its ticket."""

import json
from collections.abc import Mapping
from typing import Any, Literal

from server.context import Context
from server.dataclass import dataclass
from server.outbox.holds import next_attempts
from server.outbox.queue_rows import OUTGOING, is_partly_sent
from server.store.statements import slot
from server.store.tables import table_named
from server.store.transaction import Transaction

State = Literal["sent", "kept", "sending", "queued", "later", "parked", "held", "partly", "failing", "failed"]
# The meaning of each, as shown to people.
STATES: dict[State, str] = {
    "sent": "a mail server accepted it",
    "kept": "it is stored and not sent",
    "sending": "it is on its way",
    "queued": "it is queued",
    "later": "it is sent at `send_at`",
    "parked": "it has no mail transport",
    "held": "its mail server cannot be reached; it is retried",
    "partly": "some recipients have it, those in `reason` do not; it is retried at `due_at`, or was "
    "given up if there is none",
    "failing": "it could not be sent, and is retried",
    "failed": "it could not be sent, and was given up",
}
_DRAFT, _OUTGOING = (
    ("id", "is_queued", "queue_delivery_date", "queue_fails"),
    (
        "message_id",
        "claimed_by",
        "claimed_until",
        "is_parked",
        "held_by",
        "settled",
        "last_error",
    ),
)


@dataclass(frozen=True, slots=True)
class Delivery:
    """The state of one mail. reason: why it has not been sent, "" if there is no reason. draft_id: the draft that holds
    it, 0 for none; message_id: its stored message, 0 for none yet. due_at: time of the next attempt, Unix seconds."""

    state: State
    reason: str = ""
    draft_id: int = 0
    message_id: int = 0
    due_at: int = 0

    def as_dict(self) -> dict[str, Any]:
        """The object that endpoints return."""
        return {
            "state": self.state,
            "reason": self.reason,
            "draft_id": self.draft_id,
            "message_id": self.message_id,
            "due_at": self.due_at,
        }


def kept(*notes: str) -> Delivery:
    """The state of a message that is stored and not mailed. notes: the reasons; none if the worker asked for that."""
    return Delivery("kept", "; ".join(notes))


def of_draft(ctx: Context, draft_id: int) -> Delivery:
    """The state of a mail that was put into the queue. Its draft is deleted once the mail was sent."""
    deliveries = ctx.service.store.read(lambda tx: _found(tx, "id", draft_id, ctx.now))
    return deliveries[0] if deliveries else Delivery("sent")


def of_ticket(ctx: Context, ticket_id: int) -> list[Delivery]:
    """The states of unsent mails on a ticket. The caller checks who may read the ticket."""
    return ctx.service.store.read(lambda tx: _found(tx, "ticket_id", ticket_id, ctx.now))


def of_worker(ctx: Context, worker_id: int) -> list[Delivery]:
    """The states of a worker's unsent mails. The caller checks who may read them."""
    return ctx.service.store.read(lambda tx: _found(tx, "worker_id", worker_id, ctx.now))


def of_record(ctx: Context, uri: str, record: Mapping[str, Any]) -> Delivery | None:
    """The state of the unsent mail of a message or draft; None for another record, and once it was sent. The caller
    checks who may read the record."""
    if uri == "draft":
        delivery = of_draft(ctx, record["id"])
        return delivery if delivery.draft_id else None
    deliveries = of_ticket(ctx, record["ticket_id"]) if uri == "message" else []
    return next((each for each in deliveries if each.message_id == record["id"]), None)


def state_of(row: dict[str, Any], now: int) -> State:
    """The state of an unsent mail. row: columns of its draft and of its row in the queue."""
    if not row["is_queued"]:
        return "partly" if _is_partly_sent(row) else "failed"
    if row.get("claimed_by") and row["claimed_until"] >= now:
        return "sending"
    if row.get("is_parked"):
        return "parked"
    if row.get("held_by"):
        return "held"
    if row["queue_fails"] and _is_partly_sent(row):
        return "partly"
    if row["queue_fails"]:
        return "failing"
    return "later" if row["queue_delivery_date"] > now else "queued"


def next_attempt(row: dict[str, Any], state: State, holds: Mapping[int, int]) -> int:
    """The time of the next attempt, Unix seconds; 0 for at once, and for never. holds: {transport: its next
    attempt}."""
    if state == "held":
        return holds.get(row["held_by"], 0)
    is_put_off = state in ("failing", "later", "partly") and row["is_queued"]
    return int(row["queue_delivery_date"]) if is_put_off else 0


def _is_partly_sent(row: dict[str, Any]) -> bool:
    settled = row.get("settled") or {}
    return is_partly_sent(json.loads(settled) if isinstance(settled, str) else settled)


def _found(tx: Transaction, column: str, id: int, now: int) -> list[Delivery]:
    draft, outgoing = table_named("draft"), OUTGOING.sql
    rows = tx.rows(
        lambda: (
            draft.select(*(getattr(draft.c, name) for name in _DRAFT), *(getattr(outgoing, name) for name in _OUTGOING))
            .join(outgoing, on=(outgoing.draft_id == draft.c.id))
            .where(getattr(draft.c, column) == slot(0), (draft.c.is_queued == 1) | (outgoing.last_error != ""))
            .order_by(draft.c.id)
        ),
        (id,),
    )
    drafts = [dict(zip((*_DRAFT, *_OUTGOING), row, strict=True)) for row in rows]
    holds = next_attempts(tx) if any(each["held_by"] for each in drafts) else {}
    return [_delivery(each, now, holds) for each in drafts]


def _delivery(row: dict[str, Any], now: int, holds: Mapping[int, int]) -> Delivery:
    state = state_of(row, now)
    due_at = next_attempt(row, state, holds)
    return Delivery(state, str(row["last_error"] or ""), row["id"], row["message_id"] or 0, due_at)
