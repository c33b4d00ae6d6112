"""Which drafts automations wrote. Their mail leaves later, and two automations that answer each other's mail would go
on for ever."""

from server.record_types.base import Change, Writing
from server.store.tables import Column, Table
from server.store.transaction import Transaction

CAUSE = Table(
    "draft_cause",
    [Column("draft_id", references="draft(id)"), Column("depth"), Column("is_by_machine")],
    key=("draft_id",),
)
# depth: of the automation that wrote the draft, for what its mail sets off. Drafts of others have no row.
# is_by_machine: whether it did so because of mail that a program wrote, and the draft is not sent.


def follow(change: Change, writing: Writing) -> None:
    """After every write of a draft: remember that an automation wrote it. What somebody else queues afterwards is
    theirs."""
    tx, ctx = writing.tx, writing.ctx
    is_queueing = bool(change.changes("is_queued") and change.value("is_queued"))
    if ctx.depth:
        by_machine = ctx.is_by_machine and (change.is_create or is_queueing)
        by_machine = by_machine or of(tx, change.id)[1]
        tx.put(CAUSE, {"draft_id": change.id, "depth": ctx.depth, "is_by_machine": int(by_machine)})
    elif is_queueing and not change.is_create:
        tx.delete(CAUSE, draft_id=change.id)


def of(tx: Transaction, draft_id: int) -> tuple[int, bool]:
    """How many automations caused each other before this draft, and whether mail that a program wrote set them off."""
    row = tx.first(CAUSE, draft_id=draft_id)
    return (int(row[1]), bool(row[2])) if row is not None else (0, False)
