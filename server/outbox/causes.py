"""Records which drafts automations wrote, so that two automations that reply to each other's mail stop at some
point."""

from server.record_types.record_type import Change, Writing
from server.store.tables import Column, Table
from server.store.transaction import Transaction

CAUSE = Table(
    "draft_cause",
    [Column("draft_id", references="draft(id)"), Column("depth"), Column("is_by_machine")],
    key=("draft_id",),
)
# depth: nesting of the automation that wrote the draft; its mail triggers automations one level deeper. Drafts of
# workers have no row. is_by_machine: automatic mail triggered the automation, so the draft is not sent.


def follow(change: Change, writing: Writing) -> None:
    """Records, after every write of a draft, that an automation wrote it. A draft that a worker queues later is
    theirs."""
    tx, ctx = writing.tx, writing.ctx
    is_queueing = bool(change.changes("is_queued") and change.value("is_queued"))
    if ctx.depth:
        by_machine = ctx.is_by_machine and (change.is_create or is_queueing)
        by_machine = by_machine or cause_of_draft(tx, change.id)[1]
        tx.put(CAUSE, {"draft_id": change.id, "depth": ctx.depth, "is_by_machine": int(by_machine)})
    elif is_queueing and not change.is_create:
        tx.delete(CAUSE, draft_id=change.id)


def cause_of_draft(tx: Transaction, draft_id: int) -> tuple[int, bool]:
    """Returns how many automations triggered each other before this draft, and whether automatic mail set them off."""
    row = tx.first(CAUSE, draft_id=draft_id)
    return (int(row[1]), bool(row[2])) if row is not None else (0, False)
