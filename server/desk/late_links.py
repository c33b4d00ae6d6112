"""Mail with a one-time link for a password: the code of the link is made when the mail leaves, so that it stands in no
draft that waits, in no backup, and in no row that was deleted.

A mail that is tried again gets another code, and the one before works no more. Source: ours."""

from dataclasses import replace

from server.access import password_links
from server.context import Context
from server.errors import Invalid
from server.mail.compose import Outgoing
from server.store.tables import Column, Table
from server.store.transaction import Transaction

PATH, CODE = "/reset/", "***"  # CODE stands in a draft where the code will be
LATE_LINK = Table(
    "draft_late_link",
    [Column("draft_id", references="draft(id)"), Column("worker_id"), Column("seconds")],
    key=("draft_id",),
)  # seconds: that the link works once the mail has left


def address(ctx: Context) -> str:
    """The link as a draft has it."""
    return f"{ctx.service.base_url}{PATH}{CODE}"


def note(tx: Transaction, draft_id: int, worker_id: int, seconds: int) -> None:
    """The link in a draft is to be one of this worker."""
    tx.put(LATE_LINK, {"draft_id": draft_id, "worker_id": worker_id, "seconds": seconds})


def filled(ctx: Context, draft_id: int, outgoing: Outgoing) -> Outgoing:
    """The mail of a draft with its code, when it is one with a link. Raises Invalid for a worker who is gone."""
    store = ctx.service.store
    row = store.read(lambda tx: tx.first(LATE_LINK, draft_id=draft_id))
    if row is None:
        return outgoing
    _, worker_id, seconds = row
    workers = ctx.service.registry.type("worker").table

    def write(tx: Transaction) -> str:
        if tx.get(workers, worker_id) is None:
            raise Invalid("the worker whose password this link would set is gone; drop the mail")
        return password_links.create(tx, worker_id, ctx.now, seconds)

    code = store.write(write)
    return replace(outgoing, text=outgoing.text.replace(PATH + CODE, PATH + code))
