"""The signed name of a mail to a worker about a ticket, by which their answer says who answers what.

It stands in the mail's Message-Id, which mail programs repeat in In-Reply-To, and in its Reply-To where the setting
`answer_address` has a place for it. The key never leaves the database; nobody can make a name, and one that somebody
else came to know does nothing without mail from the worker's own address. Source: Mail, Workers answering by mail; that
an address may carry it, and the days, are ours."""

import hmac
import re
from collections.abc import Iterable

from server.context import Service
from server.dataclass import dataclass
from server.desk.signed_names import signed, signing_key, stored_key
from server.store.transaction import Transaction

KEY = "answer_key"
DAY_SECONDS = 86400
VALID_DAYS = 180  # after that, an answer is refused
MAX_NAMES = 50  # of one mail that are looked at
_NAME = re.compile(r"(?<![a-z0-9])([nr])-(\d{1,15})-(\d{1,15})-(\d{1,6})-([a-z2-7]{24})(?![a-z0-9])")


@dataclass(frozen=True, slots=True)
class AnswerId:
    """Which ticket and worker, whether the answer is a note, and the day, in days since 1970, that it was made."""

    ticket_id: int
    worker_id: int
    is_note: bool
    day: int

    def is_over(self, now: int) -> bool:
        """now: Unix seconds."""
        return now // DAY_SECONDS - self.day > VALID_DAYS

    def name(self, key: bytes) -> str:
        """With its signature: letters, digits and hyphens, in lower case, as any local part may be."""
        text = f"{'n' if self.is_note else 'r'}-{self.ticket_id}-{self.worker_id}-{self.day}"
        return signed(key, text)


@dataclass(frozen=True, slots=True)
class FoundAnswerId:
    """As it stands in a mail. is_genuine: whether it was made here."""

    id: AnswerId
    is_genuine: bool


def key(service: Service) -> bytes:
    """The key that signs answers to this service, created when there is none."""
    return signing_key(service, KEY)


def find(tx: Transaction, texts: Iterable[str]) -> FoundAnswerId | None:
    """The first genuine one in these ids and addresses, else the first that is none, else None. Nothing is read where
    there is none at all."""
    matches = [match for text in list(texts)[:MAX_NAMES] for match in _NAME.finditer(text.lower())]
    if not matches:
        return None
    key = stored_key(tx, KEY)
    found = [FoundAnswerId(each := _id_of(match), _is_genuine(key, each, match[0])) for match in matches]
    return next((each for each in found if each.is_genuine), found[0])


def _id_of(match: re.Match[str]) -> AnswerId:
    return AnswerId(int(match[2]), int(match[3]), match[1] == "n", int(match[4]))


def _is_genuine(key: bytes | None, id: AnswerId, name: str) -> bool:
    return key is not None and hmac.compare_digest(id.name(key), name)
