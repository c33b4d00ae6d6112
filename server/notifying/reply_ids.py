"""Signed names of mails to workers about a ticket, which identify worker and ticket when the worker replies.

A name is in the mail's Message-Id, which mail programs repeat in In-Reply-To, and in its Reply-To if the setting
`answer_address` has a place for it. The key never leaves the database, so names cannot be forged, and a leaked name has
no effect without mail from the worker's own address. Each name counts once, and stored text does not contain it
(mail/reply_names.py)."""

import base64
import hashlib
import hmac
import re
import secrets
from collections.abc import Iterable

from server.context import Service
from server.dataclass import dataclass
from server.jobs.scheduler import periodic
from server.mail.reply_names import NAME
from server.records.signed_names import signed, signing_key, stored_key
from server.store.statements import slot
from server.store.tables import Column, Index, Table
from server.store.transaction import Transaction
from server.translation import N_

KEY = "answer_key"
DAY_SECONDS = 86400
VALID_DAYS = 180  # maximum age of a name
MAX_NAMES = 50  # ids of one mail that are checked
NONCE_BYTES = 4  # random bytes, which are encoded as six letters

USED_NAME = Table(
    "answer_id_used",
    [Column("digest", "TEXT"), Column("used_at")],
    [Index(("used_at",), "those whose names are refused by now anyway")],
    key=("digest",),
)


@dataclass(frozen=True, slots=True)
class ReplyId:
    """Ticket, worker, whether the reply is a note, and the day of creation, in days since 1970. nonce: random letters
    that make each name unique; "" in older names."""

    ticket_id: int
    worker_id: int
    is_note: bool
    day: int
    nonce: str = ""

    def is_over(self, now: int) -> bool:
        """Whether it has expired. now: Unix seconds."""
        return now // DAY_SECONDS - self.day > VALID_DAYS

    def name(self, key: bytes) -> str:
        """With its signature: letters, digits and hyphens, in lower case, as any local part may be."""
        text = f"{'n' if self.is_note else 'r'}-{self.ticket_id}-{self.worker_id}-{self.day}"
        return signed(key, f"{text}-{self.nonce}" if self.nonce else text)

    @property
    def digest(self) -> str:
        """The digest by which a used id is remembered."""
        return hashlib.sha256(self.name(b"").encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class FoundReplyId:
    """A signed id in a mail. is_genuine: whether its signature is ours."""

    id: ReplyId
    is_genuine: bool


def key(service: Service) -> bytes:
    """The key that signs the ids of this service; it is created if there is none."""
    return signing_key(service, KEY)


def new_nonce() -> str:
    """Six random letters and digits."""
    return base64.b32encode(secrets.token_bytes(NONCE_BYTES)).decode().lower()[:6]


def use(tx: Transaction, id: ReplyId, now: int) -> bool:
    """Mark a name as used; False when it was used before."""
    return tx.add(USED_NAME, {"digest": id.digest, "used_at": now})


def find(tx: Transaction, texts: Iterable[str]) -> FoundReplyId | None:
    """The first genuine id among these ids and addresses, else the first forged one, else None. Queries the database
    only if there is a candidate."""
    matches = [match for text in list(texts)[:MAX_NAMES] for match in NAME.finditer(text.lower())]
    if not matches:
        return None
    key = stored_key(tx, KEY)
    signed_ids = [FoundReplyId(each := _id_of(match), _is_genuine(key, each, match[0])) for match in matches]
    return next((each for each in signed_ids if each.is_genuine), signed_ids[0])


def _id_of(match: re.Match[str]) -> ReplyId:
    return ReplyId(int(match[2]), int(match[3]), match[1] == "n", int(match[4]), match[5] or "")


def _is_genuine(key: bytes | None, id: ReplyId, name: str) -> bool:
    return key is not None and hmac.compare_digest(id.name(key), name)


@periodic(
    N_("signed names that were used"),
    N_("Removes used names of emails to workers that are too old to be accepted again."),
    deletes=True,
)
def forget_used(service: Service, now: int) -> None:
    """Remove used names that are too old to be accepted again."""
    table, before = USED_NAME.sql, now - (VALID_DAYS + 1) * DAY_SECONDS
    is_any = service.store.read(
        lambda tx: tx.value(
            lambda: table.select(table.used_at).where(table.used_at <= slot(0)).limit(1),
            (before,),
        )
    )
    if is_any is not None:
        service.store.write(lambda tx: tx.run(lambda: table.delete().where(table.used_at <= slot(0)), (before,)))
