"""Tracks which mails of a mailbox were fetched. Written in the transaction that stores a mail, so that each mail is
stored exactly once, wherever the process ends."""

import hashlib
from typing import Any

from server.context import Service
from server.dataclass import dataclass
from server.mail.inboxes import ChangesInbox, Inbox, Login, WaitingMail
from server.mailroom.types.mailbox_parts.fetch_columns import (
    MAILBOX_HISTORY,
    MAILBOX_MISSED,
    MAILBOX_STATE,
    MAILBOX_TAKEN,
)
from server.record_types.record_type import Record
from server.store import blobs
from server.store.statements import slot
from server.store.transaction import Transaction

RETRY_SECONDS, MAX_RETRY_SECONDS = 120, 1800  # wait after the second try of a mail; grows with each one
LAST_FROM = 2  # lost connections after which a mail is read last
MAX_SINGLE_READS = 500  # mails that are looked up one by one; more are read with all others
NOT_KNOWN = -1  # value of history_below before the first listing


@dataclass(frozen=True, slots=True)
class MissedMail:
    """A mail that the server did not deliver. since, tried_at: Unix seconds of the first and the last try."""

    uid: str
    tries: int
    since: int
    tried_at: int
    error: str

    @property
    def due_at(self) -> int:
        return self.tried_at + min(RETRY_SECONDS * (self.tries - 1), MAX_RETRY_SECONDS)


class FetchState:
    """The fetched mails of one mailbox, while it is open. last_uid: all mails up to it are done, if uids rise. uids:
    mails recorded individually, each with whether it stays on the server."""

    def __init__(self, service: Service, box: Record, login: Login, inbox: Inbox, now: int) -> None:
        """Loads the state, and resets it if it belongs to another place or to other uids."""
        self._store = service.store
        self._id = int(box["id"])
        self._is_rising = inbox.is_rising
        self._is_kept = login.is_kept
        self._changes = inbox if isinstance(inbox, ChangesInbox) else None
        self._received: dict[str, int] = {}
        end = now if self._changes is not None else inbox.end
        place = f"{login.username}@{login.host}:{login.port}/{login.folder}"
        state, self.uids = self._store.write(lambda tx: self._begin(tx, place, inbox.scope, end))
        self.last_uid: int = state["last_uid"]
        self._again_below: int = state["again_below"]
        self._history_below: int = state["history_below"]
        self._history = self._store.read(self._read_history)
        self.missed = {each.uid: each for each in self._store.read(self._read_missed)}
        if self._changes is not None:
            self._changes.position = state["position"]

    def may_come_again(self, uid: str) -> bool:
        """Whether the mail may have been stored before, under another uid."""
        return self._is_rising and int(uid) < self._again_below

    def is_history(self, uid: str) -> bool:
        """Whether the mail was in the mailbox before its first check."""
        if self._changes is not None:
            return self._received.get(uid, 0) < self._history_below
        return int(uid) < self._history_below if self._is_rising else uid in self._history

    def record_listed(self, mails: list[WaitingMail]) -> None:
        """Records the mails on the server. At the first check they are history if the server does not report the next
        uid."""
        if self._changes is not None:
            uids = [*(each.uid for each in mails), *self._changes.gone]
            has_all = self._changes.is_complete or len(uids) > MAX_SINGLE_READS
            self.uids = self._store.read(lambda tx: self._read_taken(tx, None if has_all else uids))
        self._received |= {each.uid: each.received_at for each in mails}
        if self._history_below != NOT_KNOWN:
            return
        uids = [each.uid for each in mails]
        self._history_below = max(map(int, uids), default=0) + 1 if self._is_rising else 0
        self._history = set() if self._is_rising else set(uids)
        self._store.write(self._write_history)

    def in_order(self, mails: list[WaitingMail], missed: list[WaitingMail], now: int) -> list[WaitingMail]:
        """The mails to read now, in the listed order, with mails that repeatedly cost a connection last, and without
        mails that were tried recently. missed: missed mails that are still on the server."""
        self._received |= {each.uid: each.received_at for each in missed}
        everything = {each.uid: each for each in (*missed, *mails)}
        self._forget_missed(sorted(self.missed.keys() - everything.keys()))
        ready = [
            each for each in everything.values() if each.uid not in self.missed or self.missed[each.uid].due_at <= now
        ]
        return sorted(ready, key=lambda each: each.uid in self.missed and self.missed[each.uid].tries >= LAST_FROM)

    def record_missed(self, uid: str, error: str, now: int, *, is_over: bool) -> MissedMail:
        """Records a mail that was not delivered. is_over: the connection was lost, which may have another cause: the
        mail keeps its place in the order once."""
        before = self.missed.get(uid)
        missed = MissedMail(uid, before.tries + 1 if before else 1, before.since if before else now, now, error)
        self.missed[uid] = missed

        def write(tx: Transaction) -> None:
            values = {name: getattr(missed, name) for name in ("uid", "tries", "since", "tried_at", "error")}
            tx.put(MAILBOX_MISSED, {"mailbox_id": self._id, **values})
            if self._is_rising and not (is_over and missed.tries < LAST_FROM):
                self._pass(tx, int(uid))

        self._store.write(write)
        return missed

    def passed_over(self) -> list[str]:
        """Missed mails up to `last_uid`, which the server no longer lists with new mail."""
        if self._changes is not None:
            return list(self.missed)
        return [uid for uid in self.missed if self._is_rising and int(uid) <= self.last_uid]

    def to_remove(self, present: set[str]) -> list[str]:
        """Stored mails to remove from the server. If uids do not rise, forgets mails that are not listed any more."""
        if self._is_rising:
            return sorted(self.uids)
        if self._changes is not None and not self._changes.is_complete:
            gone = self.uids.keys() & set(self._changes.gone)
            self.forget(sorted(gone))
            return sorted(uid for uid, is_left in self.uids.items() if not (is_left or uid in gone))
        self.forget(sorted(self.uids.keys() - present))
        return sorted(uid for uid, is_left in self.uids.items() if uid in present and not is_left)

    def note(self, tx: Transaction, uid: str, is_left: bool = False) -> None:
        """Records a stored mail, in its transaction. is_left: it stays on the server in any case."""
        if self._is_rising:
            self._pass(tx, int(uid))
        if uid in self.missed:
            tx.delete(MAILBOX_MISSED, mailbox_id=self._id, uid=uid)
        if uid in self._history:
            tx.delete(MAILBOX_HISTORY, mailbox_id=self._id, uid=uid)
        if not self._is_rising or not (is_left or self._is_kept):
            stays = is_left or (self._is_kept and self._changes is not None)
            tx.add(MAILBOX_TAKEN, {"mailbox_id": self._id, "uid": uid, "is_left": int(stays)})

    def record_removed(self, uids: list[str]) -> None:
        """Records that mails were removed from the server. If it lists changes, they are forgotten once it lists their
        removal: until then, an earlier change may list them again."""
        if self._changes is None:
            self.forget(uids)
            return
        table: Any = MAILBOX_TAKEN.sql
        self._store.write(
            lambda tx: tx.run_many(
                lambda: table.update({table.is_left: 1}).where(table.mailbox_id == slot(0), table.uid == slot(1)),
                [(self._id, uid) for uid in uids],
            )
        )

    def record_position(self) -> None:
        """Records that all listed mails are stored or missed, if the server lists changes."""
        if self._changes is None or self._changes.following == self._changes.position:
            return
        following, table = self._changes.following, MAILBOX_STATE.sql
        self._store.write(
            lambda tx: tx.run(
                lambda: table.update({table.position: slot(0)}).where(table.mailbox_id == slot(1)),
                (following, self._id),
            )
        )

    def forget(self, uids: list[str]) -> None:
        """Forgets mails that are no longer on the server."""
        if uids:
            table: Any = MAILBOX_TAKEN.sql
            self._store.write(
                lambda tx: tx.run_many(
                    lambda: table.delete().where(table.mailbox_id == slot(0), table.uid == slot(1)),
                    [(self._id, uid) for uid in uids],
                )
            )

    def _pass(self, tx: Transaction, uid: int) -> None:
        """Records that every mail up to this one is stored or missed."""
        table: Any = MAILBOX_STATE.sql
        tx.run(
            lambda: table.update({table.last_uid: slot(0)}).where(
                table.mailbox_id == slot(1), table.last_uid < slot(2)
            ),
            (uid, self._id, uid),
        )

    def _forget_missed(self, uids: list[str]) -> None:
        """Forgets missed mails that are no longer on the server."""
        if uids:
            for uid in uids:
                del self.missed[uid]
            table: Any = MAILBOX_MISSED.sql
            self._store.write(
                lambda tx: tx.run_many(
                    lambda: table.delete().where(table.mailbox_id == slot(0), table.uid == slot(1)),
                    [(self._id, uid) for uid in uids],
                )
            )

    def _read_taken(self, tx: Transaction, uids: list[str] | None) -> dict[str, bool]:
        """Returns {uid: whether the mail stays in the mailbox} of recorded mails: of those to be removed, and of these
        uids, None for all. Most records of a mailbox that retains its mail are neither."""
        if uids is None:
            rows = tx.find(MAILBOX_TAKEN, mailbox_id=self._id)
        else:
            rows = tx.find(MAILBOX_TAKEN, mailbox_id=self._id, is_left=0)
            rows += [row for uid in uids if (row := tx.first(MAILBOX_TAKEN, mailbox_id=self._id, uid=uid)) is not None]
        return {uid: bool(is_left) for _, uid, is_left in rows}

    def _read_missed(self, tx: Transaction) -> list[MissedMail]:
        return [MissedMail(*row[1:]) for row in tx.find(MAILBOX_MISSED, mailbox_id=self._id)]

    def _read_history(self, tx: Transaction) -> set[str]:
        return {uid for _, uid in tx.find(MAILBOX_HISTORY, mailbox_id=self._id)}

    def _write_history(self, tx: Transaction) -> None:
        table: Any = MAILBOX_STATE.sql
        tx.run(
            lambda: table.update({table.history_below: slot(0)}).where(table.mailbox_id == slot(1)),
            (self._history_below, self._id),
        )
        for uid in self._history:
            tx.add(MAILBOX_HISTORY, {"mailbox_id": self._id, "uid": uid})

    def _begin(self, tx: Transaction, place: str, scope: str, end: int) -> tuple[dict[str, Any], dict[str, bool]]:
        row = tx.first(MAILBOX_STATE, mailbox_id=self._id)
        stored = dict(zip(MAILBOX_STATE.names, row, strict=True)) if row else None
        if stored is not None and (stored["place"], stored["scope"]) == (place, scope):
            rows = tx.find(MAILBOX_TAKEN, mailbox_id=self._id) if self._changes is None else []
            return stored, {uid: bool(is_left) for _, uid, is_left in rows}
        is_elsewhere = stored is None or stored["place"] != place
        state = {
            "mailbox_id": self._id,
            "place": place,
            "scope": scope,
            "last_uid": 0,
            "again_below": end if stored is not None else 0,
            "history_below": (end or NOT_KNOWN) if is_elsewhere else 0,
            "position": "",
        }
        tx.put(MAILBOX_STATE, state)
        tx.delete(MAILBOX_TAKEN, mailbox_id=self._id)
        tx.delete(MAILBOX_HISTORY, mailbox_id=self._id)
        tx.delete(MAILBOX_MISSED, mailbox_id=self._id)
        return state, {}


def is_stored(tx: Transaction, message: Any, raw: bytes) -> bool:
    """Whether a message with exactly these bytes exists. message: its table. For mails that may return under another
    uid: most are recognized by their Message-Id, this also finds mails without one."""
    row = tx.first(blobs.BLOB, sha256=hashlib.sha256(raw).hexdigest())
    return row is not None and tx.first(message, raw_blob_id=row[0]) is not None
