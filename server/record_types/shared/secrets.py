"""Random names and secrets, digests of secrets, and the detection of secrets by name."""

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
    """Whether the name of a header, parameter or key suggests that its value is a secret."""
    return _SECRET_NAME.search(name) is not None


def random_text(length: int) -> str:
    """Random lower-case letters and digits, 5.17 bits each; suitable as a secret from 50 characters on."""
    # One random number for all characters; 64 extra bits make the bias of the remainder negligible.
    number = secrets.randbits(length * 6 + 64)
    return "".join([LETTERS[(number := number // SIZE) % SIZE] for _ in range(length)])


def digest(secret: str) -> str:
    """The stored form of a secret: SHA-256 in hex. Only for random secrets; passwords need a slow hash."""
    return hashlib.sha256(secret.encode()).hexdigest()
