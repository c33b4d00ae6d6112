"""What the bytes of a part mean: transfer encoding undone, then the character set read into text.

Never raises on bad bytes. Not for headers' encoded words (headers.py), which only borrow from here.
"""

import binascii
import codecs
import re
from encodings.aliases import aliases
from functools import lru_cache

LABEL_CHARACTERS = 60  # no registered charset name is longer
BASE64_PIECES = 1_000  # padded pieces joined in one part; more is no honest mail
REPLACED_SHARE = 10  # at most one unreadable character in so many non-ASCII ones, or the charset was the wrong one

# Text codecs by Python's own mark, but made for source code or host names, slow on long input, or bound to the machine.
_NOT_FOR_MAIL = frozenset({"idna", "punycode", "unicode_escape", "raw_unicode_escape", "undefined", "mbcs", "oem"})

# Python has these codecs without giving them an alias.
_WITHOUT_ALIAS = frozenset({"koi8_u", "koi8_t", "kz1048", "cp720", "cp737", "cp874", "cp1006", "utf_8_sig"})
# Looking up an unknown name makes Python remember it for good; only known names are looked up.
_KNOWN = frozenset(aliases) | frozenset(aliases.values()) | _WITHOUT_ALIAS

_OTHER_NAMES = {
    "ks_c_5601_1987": "cp949", "ks_c_5601": "cp949", "ksc5601": "cp949", "ksc_5601": "cp949", "windows_949": "cp949",
    "x_sjis": "cp932", "windows_31j": "cp932", "x_gbk": "gb18030", "gb_2312": "gb18030", "gb_2312_80": "gb18030",
    "x_euc_jp": "euc_jp", "x_windows_949": "cp949", "big5_eten": "cp950", "x_big5": "cp950", "windows_874": "cp874",
    "tis_620": "cp874", "iso_8859_8_i": "iso8859_8", "iso_8859_8_e": "iso8859_8", "iso_8859_6_i": "iso8859_6",
    "unicode_1_1_utf_7": "utf_7", "unicode_1_1_utf_8": "utf_8", "utf8mb4": "utf_8", "x_mac_roman": "mac_roman",
    "x_mac_cyrillic": "mac_cyrillic", "macintosh": "mac_roman", "x_cp1250": "cp1250", "x_cp1251": "cp1251",
    "x_cp1252": "cp1252", "cp_850": "cp850", "cp_1252": "cp1252", "cp_1251": "cp1251", "cp_1250": "cp1250",
}  # fmt: skip

# Senders name the small set and use the larger one.
_READ_AS = {
    "gb2312": "gb18030", "gbk": "gb18030", "euc_kr": "cp949", "shift_jis": "cp932", "big5": "cp950",
    "iso8859-1": "cp1252", "iso8859-9": "cp1254", "iso8859-11": "cp874", "iso2022_jp": "iso2022_jp_ext",
}  # fmt: skip

_UNFIT = re.compile("[\0\ud800-\udfff]")
_PRINTABLE = bytes(range(32, 127))
_BASE64_LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="
_NO_BASE64 = bytes(set(range(256)) - set(_BASE64_LETTERS))
_BAD_ESCAPE = re.compile(rb"=(?![0-9A-Fa-f]{2}|[ \t]*\r?\n|[ \t\r]*\Z)")
_AS_IT_IS = frozenset({"", "7bit", "8bit", "binary", "7-bit", "8-bit"})


def decode(content: bytes, label: str | None = None) -> str:
    """`content` as text: by `label` when it names a text codec, else UTF-8, else Windows-1252. NUL is removed.

    Source: Mail, Charset. Ours: a text of the declared set with a few bad bytes keeps that set.

    >>> decode(b"caf\\xe9", "no-such-set")
    'café'
    """
    codec = codec_of(label) if label else None
    if content.isascii() and b"\x1b" not in content and (codec is None or _reads_ascii(codec)):
        return fit(content.decode("ascii"))
    for candidate in (*_stricter_first(codec), "utf_8"):
        text = _strictly(content, candidate)
        if text is not None:
            return fit(text)
    text = _mostly(content, codec or "utf_8")
    return fit(content.decode("cp1252", "replace") if text is None else text)


def decode_raw(content: bytes, label: str) -> str:
    """Raw bytes of a header as text: as UTF-8 where they are that, else by the `label` that the body declares.

    >>> decode_raw("Grüße".encode(), "iso-8859-2"), decode_raw("Žluť".encode("iso8859-2"), "iso-8859-2")
    ('Grüße', 'Žluť')
    """
    if not label or (b"\x1b" not in content and is_utf8(content)):
        return decode(content)
    codec = codec_of(label)
    return decode(content, label if codec is not None and _reads_ascii(codec) else None)


def is_utf8(content: bytes) -> bool:
    return _strictly(content, "utf_8") is not None


@lru_cache(maxsize=512)
def codec_of(label: str) -> str | None:
    """Python's name of the text codec that reads a charset label, or None when there is none or it tells nothing.

    >>> codec_of("GB2312"), codec_of("zlib"), codec_of("us-ascii")
    ('gb18030', None, None)
    """
    name = re.sub(r"[\s_.:-]+", "_", label[:LABEL_CHARACTERS].strip(" \t\"'<>").lower())
    name = _OTHER_NAMES.get(name, name)
    if name not in _KNOWN:
        return None
    try:
        info = codecs.lookup(name)
    except LookupError:
        return None
    # "us-ascii" tells nothing: where it is true any other set reads the same, and often it is not true.
    if not getattr(info, "_is_text_encoding", False) or info.name in _NOT_FOR_MAIL or info.name == "ascii":
        return None
    return _READ_AS.get(info.name, info.name)


def fit(text: str) -> str:
    """`text` without NUL and with U+FFFD for lone surrogates, so that it can be stored as UTF-8."""
    if text.isascii():
        return text.replace("\0", "") if "\0" in text else text
    text = text.removeprefix("\ufeff")
    return _UNFIT.sub(lambda found: "" if found[0] == "\0" else "\ufffd", text)


def decode_transfer(content: bytes, encoding: str) -> tuple[bytes, str] | None:
    """`content` with its transfer encoding undone, and what was wrong with it ("" for nothing).

    None: the encoding is not one that is known. Source: Mail, Damaged mail.
    """
    name = encoding.strip().lower()
    if name in _AS_IT_IS:
        return content, ""
    if name == "base64":
        return decode_base64(content)
    if name == "quoted-printable":
        damage = "damaged quoted-printable" if _BAD_ESCAPE.search(content) else ""
        return binascii.a2b_qp(content), damage
    return None


def decode_base64(content: bytes) -> tuple[bytes, str]:
    """The bytes of a base64 text as far as it can be read, and "damaged base64" when it was not clean."""
    packed = content.translate(None, b"\r\n\t ")
    try:
        return binascii.a2b_base64(packed, strict_mode=True), ""
    except binascii.Error:
        pieces = re.split(rb"=+", packed.translate(None, _NO_BASE64), maxsplit=BASE64_PIECES)
    decoded = b"".join(_unpadded(piece.replace(b"=", b"")) for piece in pieces)
    return decoded, "damaged base64"


def _unpadded(piece: bytes) -> bytes:
    whole = piece[:-1] if len(piece) % 4 == 1 else piece  # one letter holds six bits: no byte
    return binascii.a2b_base64(whole + b"=" * (-len(whole) % 4))


@lru_cache(maxsize=256)
def _reads_ascii(codec: str) -> bool:
    return _strictly(_PRINTABLE, codec) == _PRINTABLE.decode("ascii")


def _stricter_first(codec: str | None) -> tuple[str, ...]:
    if codec is None:
        return ()
    if codec == "iso2022_jp_ext":
        return (codec, "iso2022_jp_2004")
    return (codec, "big5hkscs") if codec == "cp950" else (codec,)


def _strictly(content: bytes, codec: str) -> str | None:
    if codec == "iso2022_jp_2004":
        # Circled digits and the like, which mailers put into the plain set, are in the larger one at the same place.
        content = content.replace(b"\x1b$B", b"\x1b$(Q")
    try:
        return content.decode(codec)
    except ValueError:
        return None


def _mostly(content: bytes, codec: str) -> str | None:
    try:
        text = content.decode(codec, "replace")
    except ValueError:
        return None
    not_ascii = len(text) - len(text.encode("ascii", "ignore"))
    return text if text.count("\ufffd") * REPLACED_SHARE <= not_ascii else None
