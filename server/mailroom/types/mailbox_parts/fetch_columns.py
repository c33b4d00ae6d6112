"""The progress of each mailbox, and its fetched mails. Written in the transaction of each mail."""

from server.store.tables import Column, Table

MAILBOX_STATE = Table(
    "mailbox_state",
    [
        Column("mailbox_id"),
        Column("place", "TEXT"),
        Column("scope", "TEXT"),
        Column("last_uid"),
        Column("again_below"),
        Column("has_more"),
        Column("history_below"),
        Column("position", "TEXT"),
    ],
    key=("mailbox_id",),
)  # place: server, login and folder; scope: within which uids mean something (UIDVALIDITY); last_uid: every mail up to
# it was taken; again_below: mails with lower uids may have been taken under other uids; has_more: more mails wait;
# history_below: mails with lower uids were there before the mailbox was first read; -1 until that is known. Where the
# server lists changes: position: all changes up to it were taken; history_below: time of the first check, Unix seconds

MAILBOX_HISTORY = Table(
    "mailbox_history",
    [Column("mailbox_id"), Column("uid", "TEXT")],
    key=("mailbox_id", "uid"),
)  # the same where uids do not rise: mails that were there at the first look and have not been taken yet

MAILBOX_TAKEN = Table(
    "mailbox_taken",
    [Column("mailbox_id"), Column("uid", "TEXT"), Column("is_left")],
    key=("mailbox_id", "uid"),
)  # mails that were taken and may still be on the server: those to be removed, and where uids do not rise all of them;
# is_left: it is not to be removed, or we removed it, and the server has not listed that as a change yet

MAILBOX_MISSED = Table(
    "mailbox_missed",
    [
        Column("mailbox_id"),
        Column("uid", "TEXT"),
        Column("tries"),
        Column("since"),
        Column("tried_at"),
        Column("error", "TEXT"),
    ],
    key=("mailbox_id", "uid"),
)  # mails that the server lists but did not deliver; each is tried again as long as it is listed

MAILBOX_LOOK = Table(
    "mailbox_look",
    [Column("mailbox_id"), Column("arrived_at"), Column("failing_since"), Column("retry_at")],
    key=("mailbox_id",),
)  # arrived_at: when a check last found a mail; failing_since: first of the present row of failed checks, or 0;
# retry_at: when the server allows the next check after a failure, or 0
