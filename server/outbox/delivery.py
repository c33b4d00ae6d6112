"""What has become of a mail that somebody wrote, told where it was written: in the answer to compose and reply, and on
its ticket. Source: ours."""

from typing import Any, Literal

from server.context import Context
from server.dataclass import dataclass
from server.outbox.rows import OUTGOING
from server.store.statements import slot
from server.store.tables import table_named
from server.store.transaction import Transaction

State = Literal["sent", "kept", "sending", "queued", "later", "parked", "failing", "failed"]
# What each means, for people.
STATES: dict[State, str] = {
    "sent": "a mail server took it", "kept": "it is kept and not mailed", "sending": "it is on its way",
    "queued": "it waits for its turn", "later": "it leaves at `send_at`", "parked": "no mail transport takes it",
    "failing": "it could not be sent, and is tried again", "failed": "it could not be sent, and was given up",
}  # fmt: skip
_DRAFT, _OUTGOING = ("id", "is_queued", "queue_delivery_date", "queue_fails"), (
    "message_id", "claimed_by", "claimed_until", "is_parked", "last_error",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Delivery:
    """state: of STATES. reason: why it has not left, "" where there is none. draft_id: the draft that holds it, 0 for
    none; message_id: the message that was kept of it, 0 for none yet. due_at: when it is tried next, Unix seconds."""

    state: State
    reason: str = ""
    draft_id: int = 0
    message_id: int = 0
    due_at: int = 0

    def as_dict(self) -> dict[str, Any]:
        """As endpoints answer it."""
        return {"state": self.state, "reason": self.reason, "draft_id": self.draft_id, "message_id": self.message_id,
                "due_at": self.due_at}  # fmt: skip


def kept(*notes: str) -> Delivery:
    """Of a message that is not mailed. notes: why, none when that was asked for."""
    return Delivery("kept", "; ".join(notes))


def of_draft(ctx: Context, draft_id: int) -> Delivery:
    """Of a mail that was put into the queue. Its draft goes when it has left."""
    found = ctx.service.store.read(lambda tx: _found(tx, "id", draft_id, ctx.now))
    return found[0] if found else Delivery("sent")


def of_ticket(ctx: Context, ticket_id: int) -> list[Delivery]:
    """Of the mails on a ticket that have not left. Whether the caller may read the ticket is for whoever shows it."""
    return ctx.service.store.read(lambda tx: _found(tx, "ticket_id", ticket_id, ctx.now))


def state_of(found: dict[str, Any], now: int) -> State:
    """How far a mail is that has not left. found: columns of its draft and of what the queue knows of it."""
    if not found["is_queued"]:
        return "failed"
    if found.get("claimed_by") and found["claimed_until"] >= now:
        return "sending"
    if found.get("is_parked"):
        return "parked"
    if found["queue_fails"]:
        return "failing"
    return "later" if found["queue_delivery_date"] > now else "queued"


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
    return [_delivery(dict(zip((*_DRAFT, *_OUTGOING), row, strict=True)), now) for row in rows]


def _delivery(found: dict[str, Any], now: int) -> Delivery:
    state = state_of(found, now)
    due_at = found["queue_delivery_date"] if state in ("failing", "later") else 0
    return Delivery(state, str(found["last_error"] or ""), found["id"], found["message_id"] or 0, due_at)
