"""DKIM: keys, the DNS entries that publish them, and signatures of outgoing mail. Follows RFC 6376, RFC 8301."""

import base64
import re

from server import log

ONE_CLICK = b"list-unsubscribe-post"
KEY_BITS = 2048  # the largest that fits into one DNS entry of every provider
_LOG = log.get("mail")
_SPACES = re.compile(r"\s+")


def new_key() -> tuple[str, str]:
    """(private key as PEM, public key in the form for DNS). Takes about 0.1 s of CPU time."""
    from cryptography.hazmat.primitives import serialization  # 20 ms to import, and few processes generate keys
    from cryptography.hazmat.primitives.asymmetric import rsa

    key = rsa.generate_private_key(65537, KEY_BITS)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )
    public = key.public_key().public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    return private.decode("ascii"), base64.b64encode(public).decode("ascii")


def entry_of(public: str) -> str:
    """The text of the DNS entry of a public key."""
    return f"v=DKIM1; k=rsa; p={public}"


def publishes(text: str, public: str) -> bool:
    """Whether a DNS entry contains a public key, ignoring blanks.

    >>> publishes("v=DKIM1; h=sha256 ; p= AB CD", "ABCD"), publishes("v=DKIM1; p=", "ABCD")
    (True, False)
    """
    tags = dict(each.strip().partition("=")[::2] for each in text.split(";"))
    return _SPACES.sub("", next((value for name, value in tags.items() if name.strip() == "p"), "")) == public


def signed(raw: bytes, domain: str, selector: str, private_key: str) -> bytes:
    """The mail with a signature of its domain on top. If the key cannot sign it, logs that and returns the mail
    unchanged: a mail without a signature is better than none."""
    import dkim  # 80 ms to import, and needed for signing only

    try:
        mail = dkim.DKIM(raw)
        # One click leaves a list only where the signature covers the field that says so (RFC 8058).
        covered = [*mail.default_sign_headers(), *(name for name, _ in mail.headers if name.lower() == ONE_CLICK)]
        signature: bytes = mail.sign(
            selector.encode("ascii"),
            domain.encode("ascii"),
            private_key.encode("ascii"),
            canonicalize=(b"relaxed", b"relaxed"),
            include_headers=covered,
        )
    except (dkim.DKIMException, ValueError) as error:
        _LOG.error("mail.unsigned", domain=domain, reason=str(error))
        return raw
    return signature + raw
