"""Decodes the bytes of a part: first the transfer encoding, then the character set.

Never raises on bad bytes. Encoded words of headers are decoded in headers.py, which uses some of these functions."""

import binascii
import codecs
import re
import unicodedata
from encodings.aliases import aliases

from server.late_pattern import late_pattern

LABEL_CHARACTERS = 60  # no registered charset name is longer
BASE64_PIECES = 1_000  # padded pieces joined in one part; honest mail has fewer
HTML_START_BYTES = 16 * 1024  # bytes to search; office programs write pages of settings first
REPLACED_SHARE = 10  # non-ASCII characters per unreadable one, at least; otherwise the charset is wrong

# Codecs that Python marks as text, but that are for source code or host names, slow, or specific to a machine.
_NOT_FOR_MAIL = frozenset({"idna", "punycode", "unicode_escape", "raw_unicode_escape", "undefined", "mbcs", "oem"})

# Python has these codecs without giving them an alias.
_WITHOUT_ALIAS = frozenset({"koi8_u", "koi8_t", "kz1048", "cp720", "cp737", "cp874", "cp1006", "utf_8_sig"})
# Python caches every looked-up name forever, so only known names are looked up.
_KNOWN = frozenset(aliases) | frozenset(aliases.values()) | _WITHOUT_ALIAS

_OTHER_NAMES = {
    "ks_c_5601_1987": "cp949", "ks_c_5601_1989": "cp949", "ks_c_5601": "cp949", "ksc5601": "cp949", "ksc_5601": "cp949",
    "ks_c_5861_1992": "cp949", "iso_ir_149": "cp949", "korean": "cp949", "wansung": "cp949", "uhc": "cp949",
    "x_uhc": "cp949", "x_euc_kr": "cp949", "x_johab": "johab",
    "x_sjis": "cp932", "windows_31j": "cp932", "x_ms_cp932": "cp932", "ms_kanji": "cp932", "cswindows31j": "cp932",
    "cp943": "cp932", "cp943c": "cp932", "x_mac_japanese": "cp932", "mac_japanese": "cp932", "x_euc_jp": "euc_jp",
    "eucjp_ms": "euc_jp",
    "eucjp_open": "euc_jp", "eucjp_win": "euc_jp", "cp51932": "euc_jp", "cp50220": "iso2022_jp",
    "cp50221": "iso2022_jp", "cp50222": "iso2022_jp", "iso_2022_jp_ms": "iso2022_jp",
    "x_gbk": "gb18030", "gb_2312": "gb18030", "gb_2312_80": "gb18030", "cn_gb": "gb18030", "euc_gb": "gb18030",
    "x_mac_chinesesimp": "gb18030", "cp54936": "gb18030", "cp20936": "gb18030", "cp52936": "hz", "iso_ir_58": "gb18030",
    "big5_eten": "cp950", "x_big5": "cp950", "cn_big5": "cp950", "x_x_big5": "cp950", "x_mac_chinesetrad": "cp950",
    "tis_620": "cp874", "x_mac_thai": "cp874", "iso_8859_8_i": "iso8859_8", "iso_8859_8_e": "iso8859_8",
    "iso_8859_6_i": "iso8859_6", "iso_8859_6_e": "iso8859_6", "logical": "iso8859_8", "visual": "iso8859_8",
    "unicode_1_1_utf_7": "utf_7", "unicode_1_1_utf_8": "utf_8", "utf8mb4": "utf_8", "utf8mb3": "utf_8",
    "x_unicode20utf8": "utf_8", "x_unicode_2_0_utf_8": "utf_8", "unicode": "utf_16", "ucs_2": "utf_16",
    "iso_10646_ucs_2": "utf_16", "unicodefeff": "utf_16", "unicodefffe": "utf_16_be", "cp1200": "utf_16_le",
    "cp1201": "utf_16_be", "ucs_4": "utf_32", "iso_10646_ucs_4": "utf_32",
    "x_mac_roman": "mac_roman", "macintosh": "mac_roman", "mac": "mac_roman", "applemac": "mac_roman",
    "x_mac_cyrillic": "mac_cyrillic", "x_mac_ukrainian": "mac_cyrillic", "x_mac_ce": "mac_latin2",
    "x_mac_centraleurroman": "mac_latin2", "x_mac_greek": "mac_greek", "x_mac_turkish": "mac_turkish",
    "x_mac_icelandic": "mac_iceland", "x_mac_croatian": "mac_croatian", "x_mac_romanian": "mac_romanian",
    "koi": "koi8_r", "koi8": "koi8_r", "koi8_ru": "koi8_u", "cp20866": "koi8_r", "cp21866": "koi8_u",
    "cp20127": "ascii", "iso_8859_1_windows_3_1_latin_1": "cp1252", "ansi": "cp1252", "ansinew": "cp1252",
    "visual_iso_8859_8": "iso8859_8",
}  # fmt: skip
# One set under the names of many systems: windows-1251, win-1251, x-cp1251, dos-862, ibm-850, ms936; of Windows, the
# numbers of ISO 8859 begin with 28590, those of the Macintosh with 10000.
_ISO = late_pattern(r"(?:iso_?)?8859_?(\d{1,2})")
_CODE_PAGE = late_pattern(r"(?:x_)?(?:windows|win|cp|codepage|dos|ibm|ms|csibm|cswindows|ansi)_?(\d{3,5})")
_PAGES_OF_MAC = {
    10000: "mac_roman", 10001: "cp932", 10002: "cp950", 10003: "cp949", 10006: "mac_greek", 10007: "mac_cyrillic",
    10008: "gb18030", 10010: "mac_romanian", 10017: "mac_cyrillic", 10021: "cp874", 10029: "mac_latin2",
    10079: "mac_iceland", 10081: "mac_turkish", 10082: "mac_croatian",
}  # fmt: skip

# Senders declare the smaller charset and use the larger one.
_READ_AS = {
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "euc_kr": "cp949",
    "shift_jis": "cp932",
    "big5": "cp950",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "iso2022_jp": "iso2022_jp_ext",
}

_WIDE = frozenset({"utf-16", "utf-16-be", "utf-16-le", "utf-32", "utf-32-be", "utf-32-le"})
_UNFIT = late_pattern("[\0\ud800-\udfff]")
_IN_HTML = late_pattern(
    rb"<(?:meta\b[^>]{0,1000}?\bcharset|\?xml\b[^>]{0,200}?\bencoding)\s*=\s*[\"']?\s*([\w.:-]{1,60})", re.IGNORECASE
)
_AROUND = " \t\"'<>;,.-_"
_AFTER_LABEL = late_pattern(r"[\s;,\"'()*/]")
_PRINTABLE = bytes(range(32, 127))
_BASE64_LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="
_NO_BASE64 = bytes(set(range(256)) - set(_BASE64_LETTERS))
_BAD_ESCAPE = late_pattern(rb"=(?![0-9A-Fa-f]{2}|[ \t]*\r?\n|[ \t\r]*\Z)")
_AS_IT_IS = frozenset({"", "7bit", "8bit", "binary", "7-bit", "8-bit"})


def decode(content: bytes, label: str | None = None) -> str:
    """`content` as text: by `label` when it names a text codec, else UTF-8, else Windows-1252. NUL is removed.

    Ours: a text of the declared set with a few bad bytes keeps that set.

        >>> decode(b"caf\\xe9", "no-such-set")
        'café'
    """
    codec = codec_of(label) if label else _escaped_codec(content)
    if codec is not None and codec in _WIDE:
        content, codec = _wide(content, codec)
    if content.isascii() and b"\x1b" not in content and (codec is None or _reads_ascii(codec)):
        return fit(content.decode("ascii"))
    for candidate in (*_stricter_first(codec), "utf_8"):
        text = _strictly(content, candidate)
        if text is not None:
            return fit(text)
    text = _mostly(content, codec or "utf_8")
    return fit(content.decode("cp1252", "replace") if text is None else text)


def _escaped_codec(content: bytes) -> str | None:
    """Returns the codec of an unlabelled text that switches charsets by escapes, as in mail from Japan and Korea."""
    if b"\x1b$" not in content:
        return None
    return "iso2022_kr" if b"\x1b$)C" in content else "iso2022_jp_ext"


def _wide(content: bytes, codec: str) -> tuple[bytes, str | None]:
    """Decodes a text of two or four bytes per character, as far as its bytes show it: some programs declare such a
    charset without using it, others omit the byte order mark, and the line end of the part has one byte per
    character."""
    if b"\0" not in content:
        return content, None
    content = content.removesuffix(b"\r\n")
    if codec != "utf-16" or content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return content, codec
    is_big = content[::2].count(0) > content[1::2].count(0)
    return content, "utf-16-be" if is_big else "utf-16-le"


def decode_raw(content: bytes, label: str) -> str:
    """Raw bytes of a header as text: as UTF-8 where they are that, else by the `label` that the body declares.

    >>> decode_raw("Grüße".encode(), "iso-8859-2"), decode_raw("Žluť".encode("iso8859-2"), "iso-8859-2")
    ('Grüße', 'Žluť')
    """
    if not label or (b"\x1b" not in content and is_utf8(content)):
        return decode(content)
    codec = codec_of(label)
    return decode(content, label if codec is not None and _reads_ascii(codec) else None)


def charset_in_html(content: bytes) -> str:
    """The label that the beginning of a HTML document gives itself: HTML, section 4.2.5.5; "" for none.

    >>> charset_in_html(b'<meta http-equiv="Content-Type" content="text/html; charset=gb2312">')
    'gb2312'
    """
    match = _IN_HTML.search(content, 0, HTML_START_BYTES)
    label = match[1].decode("ascii") if match else ""
    return "" if codec_of(label) in _WIDE else label  # such a document could not be searched for it


def is_utf8(content: bytes) -> bool:
    return _strictly(content, "utf_8") is not None


def codec_of(label: str) -> str | None:
    """Returns Python's name of the text codec for a charset label, None for an unknown or useless label.

    >>> codec_of("GB2312"), codec_of("zlib"), codec_of("us-ascii")
    ('gb18030', None, None)"""
    name = _known_name(label)
    if not name:
        return None
    try:
        info = codecs.lookup(name)
    except LookupError:
        return None
    # "us-ascii" is useless: if it is right, any charset gives the same text, and often it is wrong.
    if not getattr(info, "_is_text_encoding", False) or info.name in _NOT_FOR_MAIL or info.name == "ascii":
        return None
    return _READ_AS.get(info.name, info.name)


def _known_name(label: str) -> str:
    """Returns the name of a codec from a label that may be followed by other words; "" if it is unknown."""
    label = label[:LABEL_CHARACTERS].lower().strip(_AROUND).removeprefix("charset=").strip(_AROUND)
    for words in (label, _AFTER_LABEL.split(label, maxsplit=1)[0]):
        name = re.sub(r"[\s_.:-]+", "_", words.strip(_AROUND))
        name = _ISO.sub(r"iso8859_\1", name) if _ISO.fullmatch(name) else _OTHER_NAMES.get(name, name)
        if name not in _KNOWN and (page := _CODE_PAGE.fullmatch(name)):
            number = int(page[1])
            in_windows = (
                f"iso8859_{number - 28590}" if 28590 < number < 28606 else _PAGES_OF_MAC.get(number, f"cp{number}")
            )
            name = _OTHER_NAMES.get(in_windows, in_windows)
        if name in _KNOWN:
            return name
    return ""


def fit(text: str) -> str:
    """`text` without NUL and with U+FFFD for lone surrogates, so that it can be stored as UTF-8."""
    if text.isascii():
        return text.replace("\0", "") if "\0" in text else text
    text = text.removeprefix("\ufeff")
    return _UNFIT.sub(lambda match: "" if match[0] == "\0" else "\ufffd", text)


def decode_transfer(content: bytes, encoding: str) -> tuple[bytes, str] | None:
    """Returns `content` without its transfer encoding, and a problem or ""; None for an unknown encoding."""
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
    whole = piece[:-1] if len(piece) % 4 == 1 else piece  # a single letter has six bits, less than a byte
    return binascii.a2b_base64(whole + b"=" * (-len(whole) % 4))


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
        # Circled digits and similar characters, which mailers use in the plain charset, have the same code in the
        # larger.
        content = content.replace(b"\x1b$B", b"\x1b$(Q")
    try:
        text = content.decode(codec)
    except ValueError:
        return None
    # Vietnamese tone marks are separate characters there.
    return unicodedata.normalize("NFC", text) if codec == "cp1258" else text


def _mostly(content: bytes, codec: str) -> str | None:
    try:
        text = content.decode(codec, "replace")
    except ValueError:
        return None
    not_ascii = len(text) - len(text.encode("ascii", "ignore"))
    return text if text.count("\ufffd") * REPLACED_SHARE <= not_ascii else None
