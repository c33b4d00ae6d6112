"""Codes of six digits that change every 30 seconds, as authenticator apps show them. Pure; the rows are in
second_factor.py. Our own, because it is a few lines and pyotp does not return the step of a code, which prevents its
reuse. Follows RFC 6238 and 4226."""

import base64
import hashlib
import hmac
import secrets
import struct
from urllib.parse import quote, urlencode

from server.digits import is_whole

SECRET_BYTES = 20
STEP_SECONDS = 30
DIGITS = 6
DRIFT_STEPS = 1  # tolerated drift of a clock, in either direction


def new_secret() -> str:
    """Generates a random secret, in Base32 without padding."""
    return base64.b32encode(secrets.token_bytes(SECRET_BYTES)).decode()


def code(secret: str, step: int) -> str:
    """Returns the code of a step of 30 seconds since 1970.

    >>> code("GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ", 59 // 30)
    '287082'
    """
    digest = hmac.new(base64.b32decode(secret), struct.pack(">Q", step), hashlib.sha1).digest()
    start = digest[-1] & 15
    number = struct.unpack(">I", digest[start : start + 4])[0] & 0x7FFFFFFF
    return str(number % 10**DIGITS).zfill(DIGITS)


def step_of(secret: str, entered: str, now: int, after: int = 0) -> int | None:
    """Returns the step of a code, None for a wrong one. after: the last used step; codes up to it are rejected.

    >>> step_of("GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ", "287 082", 89), step_of("GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ", "1", 89)
    (1, None)
    """
    digits = "".join(entered.split())
    if len(digits) != DIGITS or not is_whole(digits):
        return None
    present = now // STEP_SECONDS
    for step in range(present - DRIFT_STEPS, present + DRIFT_STEPS + 1):
        if step > after and hmac.compare_digest(code(secret, step), digits):
            return step
    return None


def address(secret: str, issuer: str, account: str) -> str:
    """Returns the otpauth: address for a QR code."""
    query = urlencode({"secret": secret, "issuer": issuer}, quote_via=quote)
    return f"otpauth://totp/{quote(f'{issuer}:{account}', safe='')}?{query}"
