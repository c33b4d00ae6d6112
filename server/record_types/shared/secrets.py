"""Random names and secrets, what is stored of a secret, and names that say that a value is one."""

import hashlib
import re
import secrets
import string

LETTERS = string.ascii_lowercase + string.digits
SIZE = len(LETTERS)
_SECRET_NAME = re.compile(
    r"auth|token|secret|passw|pwd|cookie|(?:api|access|private).?key|^key$|signature|hmac|jwt|session|credential"
    r"|(?:^|[-_])(?:sig|sign|hash|digest)(?:$|[-_])",
    re.IGNORECASE,
)


def is_secret(name: str) -> bool:
    """Whether the name of a header, parameter or key says that its value is a secret."""
    return _SECRET_NAME.search(name) is not None


def random_text(length: int) -> str:
    """That many random lower-case letters and digits, fit for a secret from 50 on: each is worth 5.17 bits."""
    # One draw of the system's random numbers for all of them; what the remainder prefers is one in 2^64.
    number = secrets.randbits(length * 6 + 64)
    return "".join([LETTERS[(number := number // SIZE) % SIZE] for _ in range(length)])


def digest(secret: str) -> str:
    """What is stored of a secret: SHA-256 in hex. Only for random secrets; passwords are hashed slowly."""
    return hashlib.sha256(secret.encode()).hexdigest()
