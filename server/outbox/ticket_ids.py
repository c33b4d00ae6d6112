"""The signed id of a ticket that all its mail carries in References (RFC 5322, 3.6.4).

Mail programs repeat it in a reply, so the reply finds its ticket even if a provider replaced our Message-ID."""

import re
from collections.abc import Iterable

from server.mail.mail_bytes import ascii_address
from server.records.signed_names import is_signed, signed, stored_key
from server.store.transaction import Transaction

KEY = "ticket_key"  # name of the signing key in signed_names
_NAME = re.compile(r"(t-(\d{1,15}))-[a-z2-7]{24}@[^@\s]*")


def ticket_reference(key: bytes, ticket_id: int, from_address: str) -> str:
    """The id of a ticket, without angle brackets."""
    domain = ascii_address(from_address).rpartition("@")[2]
    return f"{signed(key, f't-{ticket_id}')}@{domain}"


def referenced_tickets(tx: Transaction, references: Iterable[str]) -> dict[str, int]:
    """{reference: ticket} of the references that were signed here."""
    matches = {each: match for each in references if (match := _NAME.fullmatch(each.lower().strip("<> ")))}
    key = stored_key(tx, KEY) if matches else None
    return {
        each: int(match[2]) for each, match in matches.items() if is_signed(key, match[1], match[0].partition("@")[0])
    }
