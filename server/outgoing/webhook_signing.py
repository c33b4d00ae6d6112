"""Secrets and signatures of outgoing webhooks (Standard Webhooks 1.0, Verifying Webhook Authenticity)."""

import base64
import binascii
import hashlib
import hmac
import secrets
from collections.abc import Iterable

from server.errors import Invalid

PREFIX = "whsec_"
SECRET_BYTES, LEAST_BYTES, MOST_BYTES = 32, 24, 64


def new_secret() -> str:
    """Generates a secret in the form for receivers: `whsec_` and base64."""
    return PREFIX + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def key_of(secret: str) -> bytes:
    """Decodes a secret to its key. Raises Invalid for malformed text."""
    try:
        key = base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not secret.startswith(PREFIX) or not LEAST_BYTES <= len(key) <= MOST_BYTES:
        raise Invalid(
            f"secret: send {PREFIX} and the base64 of {LEAST_BYTES} to {MOST_BYTES} random bytes, or leave it out "
            f"for a new one",
            field="secret",
        )
    return key


def headers(id: str, at: int, body: bytes, of: Iterable[str]) -> dict[str, str]:
    """The headers by which a receiver knows a delivery and its sender. at: Unix seconds, of this attempt. of: the
    secrets to sign with, several while one takes the place of another."""
    signed = b".".join((id.encode(), str(at).encode(), body))
    signatures = (base64.b64encode(hmac.new(key_of(each), signed, hashlib.sha256).digest()).decode() for each in of)
    return {
        "webhook-id": id,
        "webhook-timestamp": str(at),
        "webhook-signature": " ".join(f"v1,{each}" for each in signatures),
    }
