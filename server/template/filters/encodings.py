"""Bytes and their encodings: Base64, digests, character sets, percent signs."""

import base64
import binascii
import codecs
import hashlib
import hmac
import string
from typing import Any
from urllib.parse import quote, unquote_to_bytes

from server.errors import TemplateFailed, nearest
from server.template.registry import filter
from server.template.run import Rendering
from server.template.shared.query_texts import form_text, form_tree
from server.template.shared.script_json import encoded
from server.template.shared.text_values import ByteText, bytes_of, mapped, read, read_slowly, read_text, text_of_bytes
from server.template.values import printed, truthy

ALGORITHMS = {name.replace("_", "-"): name for name in hashlib.algorithms_guaranteed if not name.startswith("shake")}
CHARSETS = frozenset(
    "ascii big5 cp1250 cp1251 cp1252 cp1253 cp1254 cp1255 cp1256 cp1257 cp1258 cp437 cp850 cp852 cp866 cp932 cp936 "
    "cp949 cp950 euc_jp euc_kr gb18030 gb2312 gbk hz iso2022_jp iso2022_kr iso8859-1 iso8859-10 iso8859-11 iso8859-13 "
    "iso8859-14 iso8859-15 iso8859-16 iso8859-2 iso8859-3 iso8859-4 iso8859-5 iso8859-6 iso8859-7 iso8859-8 iso8859-9 "
    "koi8-r koi8-u mac-roman shift_jis utf-16 utf-16-be utf-16-le utf-32 utf-32-be utf-32-le utf-7 utf-8".split()
)
NAME_CHARS = 40  # length of the name of a character set
_BASE64 = f"{string.ascii_letters}{string.digits}+/".encode()
_NOT_BASE64 = bytes(set(range(256)) - set(_BASE64))


@filter("base64_encode")
def base64_encode(run: Rendering, value: Any) -> str:
    """The Base64 form of a text's bytes. Empty if the value is not text."""
    text = read_text(run, value)
    return "" if text is None else base64.b64encode(bytes_of(text)).decode()


@filter("base64url_encode")
def base64url_encode(run: Rendering, value: Any) -> str:
    """The Base64 form for URLs (RFC 4648, section 5), without padding."""
    return base64_encode(run, value).rstrip("=").translate(str.maketrans("+/", "-_"))


@filter("base64_decode")
def base64_decode(run: Rendering, value: Any) -> str:
    """The text that a Base64 text encodes; other characters in it are ignored."""
    text = read_text(run, value)
    if text is None:
        return ""
    digits = text.partition("=")[0].encode("ascii", "ignore").translate(None, _NOT_BASE64)
    if len(digits) % 4 == 1:  # six bits are less than a byte
        digits = digits[:-1]
    return text_of_bytes(binascii.a2b_base64(digits + b"=" * (-len(digits) % 4)))


@filter("base64url_decode")
def base64url_decode(run: Rendering, value: Any) -> str:
    """The text that a Base64 text for URLs encodes; see base64_decode."""
    text = read_text(run, value)
    return "" if text is None else base64_decode(run, text.translate(str.maketrans("-_", "+/")))


@filter("md5")
def md5(run: Rendering, value: Any) -> str:
    """The MD5 digest in hexadecimal digits. Empty if the value is not text."""
    text = read_text(run, value)
    return "" if text is None else hashlib.md5(bytes_of(text), usedforsecurity=False).hexdigest()


@filter("sha1")
def sha1(run: Rendering, value: Any) -> str:
    """The SHA-1 digest in hexadecimal digits. Empty if the value is not text."""
    text = read_text(run, value)
    return "" if text is None else hashlib.sha1(bytes_of(text), usedforsecurity=False).hexdigest()


@filter("hash_hmac")
def hash_hmac(run: Rendering, value: Any, key: Any = "", algo: Any = "sha256", raw: Any = False) -> str:
    """The keyed digest (HMAC, RFC 2104) in hexadecimal digits, or as bytes if `raw` is set. Empty if the value is empty
    or not text. Raises TemplateFailed for an unknown algorithm."""
    text, name = read_text(run, value), printed(algo).lower()
    if name not in ALGORITHMS:
        raise TemplateFailed(f"there is no algorithm '{name[:50]}'{nearest(name, ALGORITHMS)}")
    if not text:
        return ""
    digest = hmac.new(bytes_of(read(run, key)), bytes_of(text), ALGORITHMS[name])
    return ByteText(digest.digest()) if truthy(raw) else digest.hexdigest()


@filter("convert_encoding")
def convert_encoding(run: Rendering, value: Any, to: Any, from_: Any) -> str:
    """The text converted from one character set to another, as bytes. Characters that the new set does not have become
    `?`. Raises TemplateFailed for an unknown set."""
    source, target = _charset(printed(from_)), _charset(printed(to))
    text = bytes_of(read_slowly(run, value)).decode(source, "replace")
    run.budget.text(len(text) * 2)
    return text_of_bytes(text.encode(target, "replace"))


def _charset(name: str) -> str:
    try:
        charset = codecs.lookup(name[:NAME_CHARS]).name
    except (LookupError, ValueError):
        charset = ""
    if charset not in CHARSETS:
        raise TemplateFailed(f"there is no character set '{name[:50]}'{nearest(name.lower(), CHARSETS)}")
    return charset


# -- URLs -------------------------------------------------------------------------------------------------------------


@filter("url_encode")
def url_encode(run: Rendering, value: Any) -> str:
    """The text for a URL, a blank as %20; for a list or a map the query text `a%5Bb%5D=1&c=2`."""
    if isinstance(value, (list, dict)):
        return form_text(run, value)
    if isinstance(value, ByteText):
        return mapped(run, value.data.decode("latin-1"), lambda part: quote(part, safe="", encoding="latin-1"))
    return percent_encoded(run, value)


def percent_encoded(run: Rendering, value: Any) -> str:
    """Returns letters, digits and -._~ unchanged, and the bytes of all other characters as %20."""
    return mapped(run, value, lambda part: quote(part, safe="", errors="replace"))


@filter("url_decode")
def url_decode(run: Rendering, value: Any, as_: Any = "") -> str:
    """The text with %20 decoded; `+` is unchanged. as: `json` for the JSON text of the values of a query text. Raises
    TemplateFailed for any other format."""
    form, text = printed(as_), read_slowly(run, value)
    if form == "json":
        return encoded(run, form_tree(run, text))
    if form:
        raise TemplateFailed(f"'url_decode' gives a text or json, not '{form[:50]}'")
    run.budget.entries(text.count("%"))
    return text_of_bytes(unquote_to_bytes(text.encode("utf-8", "replace")))
