"""Signs outgoing mail with the DKIM key of its domain. mailroom/dkim.py creates and rotates the keys."""

from collections.abc import Callable

from server.context import Context
from server.mail import dkim_signing
from server.mail.mail_bytes import ascii_address
from server.store.tables import Column, Index, Table
from server.store.transaction import Transaction

DKIM_KEY = Table(
    "dkim_key",
    [
        Column("domain", "TEXT"),
        Column("selector", "TEXT"),
        Column("private_key", "TEXT"),
        Column("public_key", "TEXT"),
        Column("created_at"),
        Column("is_used"),
    ],
    [Index(("domain", "is_used"), "the key in use of a domain")],
)


def signer(ctx: Context, from_address: str) -> Callable[[bytes], bytes]:
    """Returns a function that signs mail from an address: with the key in use of its domain, else of the nearest parent
    domain with a key. Without a key it returns the mail unchanged."""
    above = signing_domains(from_address.rpartition("@")[2])

    def read(tx: Transaction) -> tuple[str, str, str] | None:
        for each in above:
            row = tx.first(DKIM_KEY, domain=each, is_used=1)
            if row is not None:
                return row[1], row[2], row[3]
        return None

    key = ctx.service.store.read(read)
    return lambda raw: raw if key is None else dkim_signing.signed(raw, *key)


def signing_domains(domain: str) -> list[str]:
    """The domains whose keys may sign mail of a domain, most specific first.

    >>> signing_domains("Shop.desk.example")
    ['shop.desk.example', 'desk.example']"""
    labels = ascii_domain(domain).split(".")
    return [".".join(labels[place:]) for place in range(max(len(labels) - 1, 1))]


def ascii_domain(domain: str) -> str:
    """A domain as in DNS: IDNA-encoded, in lower case."""
    return ascii_address(f"x@{domain.strip().lower()}").rpartition("@")[2]
