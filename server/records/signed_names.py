"""Names that only this service can make: a text and its signature, as ids of mail carry them.

The keys never leave the database. A name is in lower case, since mail programs may change the case of an id."""

import base64
import hmac
import secrets

from server.context import Service
from server.records import service_settings
from server.store.transaction import Transaction

KEY_BYTES = 32
SIGNATURE_BYTES = 15  # 24 letters


def signing_key(service: Service, setting: str) -> bytes:
    """The key stored under the name of a setting, created when there is none."""
    stored = service.store.read(lambda tx: stored_key(tx, setting))
    return stored if stored is not None else service.store.write(lambda tx: _create_key(tx, setting))


def stored_key(tx: Transaction, setting: str) -> bytes | None:
    """The key stored under the name of a setting, None before its first use."""
    text = service_settings.get(tx, setting)
    return bytes.fromhex(text) if text else None


def signed(key: bytes, text: str) -> str:
    """The text, a hyphen and its signature: letters and digits."""
    digest = hmac.digest(key, text.encode(), "sha256")[:SIGNATURE_BYTES]
    return f"{text}-{base64.b32encode(digest).decode().lower()}"


def is_signed(key: bytes | None, text: str, name: str) -> bool:
    """Whether a name is this text with its signature."""
    return key is not None and hmac.compare_digest(signed(key, text), name)


def _create_key(tx: Transaction, setting: str) -> bytes:
    stored = stored_key(tx, setting)
    if stored is None:
        stored = secrets.token_bytes(KEY_BYTES)
        service_settings.put(tx, setting, stored.hex())
    return stored
