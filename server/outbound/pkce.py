"""Proof Key for Code Exchange, the part of the client. Follows RFC 7636, with S256 only."""

import hashlib
import secrets

from server.base64url import base64url

METHOD = "S256"
VERIFIER_BYTES = 48  # random bytes, 64 characters


def new_verifier() -> str:
    """Returns a new code verifier."""
    return secrets.token_urlsafe(VERIFIER_BYTES)


def challenge(verifier: str) -> str:
    """Returns the code challenge of a verifier, as RFC 7636, appendix B.

    >>> challenge("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk")
    'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM'
    """
    return base64url(hashlib.sha256(verifier.encode("ascii")).digest())
