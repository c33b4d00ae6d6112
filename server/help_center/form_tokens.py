"""The token in a contact form: signed, with the time when the page was shown, and used once. A proof of work is bound
to it.

There is no session, so a token proves neither who opened the page nor where: it holds back programs that post without
opening the form, and makes one ticket of a form that arrives several times."""

import hashlib
import secrets
from typing import Any

from server.context import Service
from server.dataclass import dataclass
from server.digits import whole_in
from server.jobs.expiry import expire
from server.records.signed_names import is_signed, keyed_digest, signed, signing_key
from server.store.statements import slot
from server.store.tables import Column, Index, Table
from server.store.transaction import Transaction
from server.translation import N_

KEY = "contact_form_key"  # name of the signing key in signed_names
NONCE_BYTES = 10
MAX_FILL_SECONDS = 86400
PROOF_BITS = 17  # leading zero bits, 131,072 attempts on average: about a second
MAX_PROOF_CHARS = 20
RETAINED_SECONDS = 7 * 86400
HOUR_SECONDS = 3600
MAX_HOURLY_OF_ADDRESS = 5  # accepted forms that name the same email address

SENT_FORM = Table(
    "sent_form",
    [
        Column("nonce", "TEXT"),
        Column("form_id"),
        Column("network", "TEXT"),
        Column("email", "TEXT"),
        Column("outcome", "TEXT"),
        Column("created_at"),
    ],
    [
        Index(("created_at",), "those that are too old"),
        Index(("network", "created_at"), "recent forms of a network"),
        Index(("email", "created_at"), "recent forms that name an address"),
    ],
    key=("nonce",),
)  # accepted forms, so that each is accepted once. network, email: keyed digests. outcome: ticket or mail


@dataclass(frozen=True, slots=True)
class FormToken:
    """A token with a valid signature. issued_at: Unix seconds."""

    text: str
    form_id: int
    issued_at: int
    nonce: str

    def age(self, now: int) -> int:
        """Seconds since the page was shown."""
        return now - self.issued_at


def new_token(service: Service, form_id: int, now: int) -> FormToken:
    """Creates the token of a form that is being shown."""
    nonce = secrets.token_hex(NONCE_BYTES)
    return FormToken(signed(signing_key(service, KEY), f"{form_id}.{now}.{nonce}"), form_id, now, nonce)


def token_of(service: Service, form_id: int, text: str, now: int) -> FormToken | None:
    """Parses the token of a form. Returns None if it was not signed here, belongs to another form, or has expired."""
    name = text.rpartition("-")[0]
    parts = name.split(".")
    if len(text) > 200 or len(parts) != 3 or not text.isascii() or parts[0] != str(form_id):
        return None
    issued_at = whole_in(parts[1], now - MAX_FILL_SECONDS, now + 60)  # clocks of two processes may differ
    if issued_at is None or not is_signed(signing_key(service, KEY), name, text):
        return None
    return FormToken(text, form_id, issued_at, parts[2])


def is_proven(token: FormToken, proof: str) -> bool:
    """Whether SHA-256 of token, colon and proof begins with PROOF_BITS zero bits."""
    if not proof or len(proof) > MAX_PROOF_CHARS or not proof.isascii():
        return False
    digest = hashlib.sha256(f"{token.text}:{proof}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> (64 - PROOF_BITS) == 0


def address_digest(service: Service, text: str) -> str:
    """Returns a keyed digest of an address, so that it can be counted without being stored."""
    return keyed_digest(signing_key(service, KEY), text.lower())


def outcome_of(tx: Transaction, nonce: str) -> str | None:
    """Returns the outcome of an accepted form, None for a form that was not accepted before."""
    row = tx.first(SENT_FORM, nonce=nonce)
    return None if row is None else str(row[SENT_FORM.position["outcome"]])


def known_outcome(service: Service, nonce: str) -> str | None:
    """Returns the outcome of a form that was accepted before, None for another one."""
    return service.store.read(lambda tx: outcome_of(tx, nonce))


def count_recent(tx: Transaction, column: str, value: str, now: int) -> int:
    """Returns the number of forms that were accepted within an hour from a network, or for an address."""
    table: Any = SENT_FORM.sql
    rows = tx.rows(
        lambda: table.select(table.nonce).where(
            getattr(table, column) == slot(0), table.created_at > slot(1), table.created_at <= slot(2)
        ),
        (value, now - HOUR_SECONDS, now),
    )
    return len(rows)


forget_sent = expire(
    N_("sent contact forms"),
    N_("Forgets that they were sent, after a week."),
    SENT_FORM,
    "created_at",
    RETAINED_SECONDS,
)
