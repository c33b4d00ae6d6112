"""Invitations as rows, and the one-time links by which people accept them. Only the hash of a link's code is stored; a
new link replaces the previous one.

An invitation reserves nothing: the worker is created when it is accepted, so that a mistyped address gives nobody
access."""

import secrets
from dataclasses import replace
from typing import Any

import peewee

from server.dataclass import dataclass
from server.record_types.shared.secrets import digest
from server.store.statements import slot
from server.store.tables import Column, Index, Table
from server.store.transaction import Row, Transaction

VALID_SECONDS = 7 * 86400  # lifetime of a link, from the moment it is sent or shown
ENDED_SECONDS = 30 * 86400  # how long an ended invitation is stored, so that its link can say why it does not work
MAX_CODE_CHARS = 200
OPEN, ACCEPTED, WITHDRAWN = "", "accepted", "withdrawn"

INVITATION = Table(
    "invitation",
    [
        Column("email", "TEXT"),
        Column("hash", "TEXT"),
        Column("is_admin"),
        Column("group_ids", "TEXT"),
        Column("language", "TEXT"),
        Column("remark", "TEXT"),
        Column("invited_by"),
        Column("inviter", "TEXT"),
        Column("created_at"),
        Column("sent_at"),
        Column("expires_at"),
        Column("outcome", "TEXT"),
        Column("ended_at"),
    ],
    [
        Index(("hash",), "the invitation of a link"),
        Index(("email",), "the open invitation of an address"),
        Index(("expires_at",), "those that are over"),
    ],
)  # invited_by: a worker, 0 for the command line; inviter: their name then. outcome: OPEN, ACCEPTED or WITHDRAWN


@dataclass(frozen=True, slots=True)
class Invitation:
    """An invitation. group_ids: the groups that its worker joins. Times in Unix seconds, ended_at 0 for an open one."""

    id: int
    email: str
    is_admin: bool
    group_ids: tuple[int, ...]
    language: str
    remark: str
    invited_by: int
    inviter: str
    created_at: int
    sent_at: int
    expires_at: int
    outcome: str
    ended_at: int

    def has_expired(self, now: int) -> bool:
        return self.expires_at <= now


def add(tx: Transaction, invitation: Invitation) -> Invitation:
    """Stores an invitation without a link; returns it with its id."""
    id = tx.insert(
        INVITATION,
        {
            "email": invitation.email,
            "hash": "",
            "is_admin": int(invitation.is_admin),
            "group_ids": ",".join(map(str, invitation.group_ids)),
            "language": invitation.language,
            "remark": invitation.remark,
            "invited_by": invitation.invited_by,
            "inviter": invitation.inviter,
            "created_at": invitation.created_at,
            "sent_at": invitation.sent_at,
            "expires_at": invitation.expires_at,
            "outcome": invitation.outcome,
            "ended_at": invitation.ended_at,
        },
    )
    return replace(invitation, id=id)


def new_code(tx: Transaction, id: int, now: int) -> str:
    """Returns the code of a new link, which works for VALID_SECONDS; a former link no longer works."""
    code = secrets.token_urlsafe(32)
    tx.update(INVITATION, id, {"hash": digest(code), "sent_at": now, "expires_at": now + VALID_SECONDS})
    return code


def renew(tx: Transaction, id: int, now: int) -> None:
    """Ends the link of an invitation before another one is mailed."""
    tx.update(INVITATION, id, {"hash": "", "sent_at": now, "expires_at": now + VALID_SECONDS})


def change_inviter(tx: Transaction, id: int, worker_id: int, name: str) -> None:
    """Sets who invites. worker_id: 0 for the command line."""
    tx.update(INVITATION, id, {"invited_by": worker_id, "inviter": name})


def end(tx: Transaction, id: int, outcome: str, now: int) -> None:
    """Records that an invitation was accepted or withdrawn."""
    tx.update(INVITATION, id, {"outcome": outcome, "ended_at": now})


def get(tx: Transaction, id: int) -> Invitation | None:
    row = tx.get(INVITATION, id)
    return of_row(row) if row is not None else None


def of_code(tx: Transaction, code: str) -> Invitation | None:
    """Returns the invitation of a link, in any state; None for an unknown or replaced link."""
    row = tx.first(INVITATION, hash=digest(code)) if code and len(code) <= MAX_CODE_CHARS else None
    return of_row(row) if row is not None else None


def open_of(tx: Transaction, email: str) -> Invitation | None:
    """Returns the open invitation of an address, even if it has expired."""
    row = tx.first(INVITATION, email=email, outcome=OPEN)
    return of_row(row) if row is not None else None


def open_ones(tx: Transaction, limit: int, offset: int) -> tuple[list[Invitation], int]:
    """Returns a page of the open invitations, the newest first, and the number of all."""
    table: Any = INVITATION.sql
    rows = tx.rows(
        lambda: (
            table.select(*INVITATION.all_columns)
            .where(table.outcome == OPEN)
            .order_by(table.id.desc())
            .limit(slot(0))
            .offset(slot(1))
        ),
        (limit, offset),
    )
    count = tx.value(lambda: table.select(peewee.fn.COUNT(table.id)).where(table.outcome == OPEN))
    return [of_row(row) for row in rows], int(count)


def has_over(tx: Transaction, now: int) -> bool:
    """Returns whether an invitation ended, or expired, so long ago that it is forgotten."""
    table: Any = INVITATION.sql
    return tx.value(lambda: table.select(table.id).where(_is_over()).limit(1), (now - ENDED_SECONDS,)) is not None


def forget_over(tx: Transaction, now: int) -> int:
    """Deletes invitations that ended or expired long ago. Returns their number."""
    return tx.run(lambda: INVITATION.sql.delete().where(_is_over()), (now - ENDED_SECONDS,))


def of_row(row: Row) -> Invitation:
    """Reads an invitation from its row."""
    values = dict(zip(INVITATION.names, row, strict=True))
    del values["hash"]
    values["is_admin"] = bool(values["is_admin"])
    values["group_ids"] = tuple(int(id) for id in values["group_ids"].split(",") if id)
    return Invitation(**values)


def _is_over() -> Any:
    return INVITATION.sql.expires_at <= slot(0)
