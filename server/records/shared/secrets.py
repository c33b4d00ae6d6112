"""Random names and secrets, and what is kept of a secret."""

import hashlib
import secrets
import string

LETTERS = string.ascii_lowercase + string.digits


def random_text(length: int) -> str:
    """That many random lower-case letters and digits, fit for a secret from 50 on: each is worth 5.17 bits."""
    return "".join(secrets.choice(LETTERS) for _ in range(length))


def digest(secret: str) -> str:
    """What is stored of a secret: SHA-256 in hex. Only for random secrets; passwords are hashed slowly."""
    return hashlib.sha256(secret.encode()).hexdigest()
