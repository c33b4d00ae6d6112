"""Makes file names safe to store and show: a name must not be a path, nor pass for another name."""

import re

from server.late_pattern import late_pattern

MAX_CHARS, MAX_BYTES = 200, 255  # per name; the second is the limit of file systems
READ_CHARS = 65_536  # length of an incoming name; the rest is ignored
EXTENSION_CHARS = 20  # a longer ending is not an extension
# Control and zero-width characters, direction marks, lone surrogates, and characters that Windows forbids.
_UNSAFE = late_pattern(
    r'[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff<>:"|?*]'
)
_DEVICE = late_pattern(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)", re.IGNORECASE)


def safe_name(name: str) -> str:
    """Returns the last part of a path without deceptive or harmful characters, in at most 200 characters; "" if nothing
    is left.

    >>> safe_name("../../etc/passwd"), safe_name("C:\\\\tmp\\\\a.txt"), safe_name("invoice\\u202efdp.exe")
    ('passwd', 'a.txt', 'invoicefdp.exe')
    >>> safe_name("con.txt"), safe_name("..")
    ('_con.txt', '')
    """
    text = " ".join(name[:READ_CHARS].replace("\\", "/").rpartition("/")[2].split())
    text = _UNSAFE.sub("", text).strip().rstrip(". ")
    return _shortened(f"_{text}" if _DEVICE.match(text) else text)


def _shortened(name: str) -> str:
    """Shortens a name to MAX_CHARS and MAX_BYTES, with its extension."""
    base, dot, extension = name.rpartition(".")
    if not base or len(extension) > EXTENSION_CHARS:
        base, dot, extension = name, "", ""
    base = base[: MAX_CHARS - len(dot + extension)]
    room = MAX_BYTES - len((dot + extension).encode())
    return base.encode()[:room].decode("utf-8", "ignore") + dot + extension
