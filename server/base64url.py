"""Base64url without padding (RFC 7515, section 2)."""

import base64


def base64url(raw: bytes) -> str:
    """Encodes bytes.

    >>> base64url(b"\\xfb\\xff"), base64url(b"")
    ('-_8', '')
    """
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
