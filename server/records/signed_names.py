"""Signed names that only this service can create: a text and its signature, used in message ids of mail.

The keys never leave the database. Names are lower case, since mail programs may change the case of an id."""

import base64
import hmac
import secrets

from server.context import Service
from server.records import service_settings
from server.store.transaction import Transaction

KEY_BYTES = 32
SIGNATURE_BYTES = 15  # 24 characters in base32


def signing_key(service: Service, setting: str) -> bytes:
    """Returns the key stored under the name of a setting, created at first use."""
    stored = service.store.read(lambda tx: stored_key(tx, setting))
    return stored if stored is not None else service.store.write(lambda tx: ensured_key(tx, setting))


def stored_key(tx: Transaction, setting: str) -> bytes | None:
    """Returns the key stored under the name of a setting, None before its first use."""
    memo = ("signing key", setting)
    key: bytes | None = tx.memo.get(memo)
    if key is None:
        text = service_settings.get(tx, setting)
        key = tx.memo[memo] = bytes.fromhex(text) if text else None
    return key


def signed(key: bytes, text: str) -> str:
    """Returns the text, a hyphen and its signature in letters and digits."""
    digest = hmac.digest(key, text.encode(), "sha256")[:SIGNATURE_BYTES]
    return f"{text}-{base64.b32encode(digest).decode().lower()}"


def keyed_digest(key: bytes, text: str) -> str:
    """Returns a digest of a text, by which it is recognized without being stored."""
    return signed(key, text).rpartition("-")[2]


def is_signed(key: bytes | None, text: str, name: str) -> bool:
    """Whether a name is this text with its valid signature."""
    return key is not None and hmac.compare_digest(signed(key, text), name)


def ensured_key(tx: Transaction, setting: str) -> bytes:
    """Returns the key stored under the name of a setting, created at first use; inside a write."""
    stored = stored_key(tx, setting)
    if stored is None:
        stored = secrets.token_bytes(KEY_BYTES)
        service_settings.put(tx, setting, stored.hex())
    return stored
