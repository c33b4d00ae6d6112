"""The message in the RTF of Outlook: decompressed, and read as text or as the HTML that it was made from.

It keeps the words, not the look. Follows [MS-OXRTFCP] for the compression, [MS-OXRTFEX] for the HTML inside, and RTF
1.9 for the rest."""

import re
import struct
from dataclasses import field

from server.dataclass import dataclass
from server.late_pattern import late_pattern
from server.mail import charsets

MAX_RTF_BYTES = 512 * 1024  # decompressed; the rest is dropped
MAX_GROUPS = 1_000  # groups that are open at the same time

_PACKED, _PLAIN = b"LZFu", b"MELA"
_WINDOW = 4096
# The initial dictionary of the compression, in the order of the format.
_KNOWN = (
    rb"{\rtf1\ansi\mac\deff0\deftab720{\fonttbl;}{\f0\fnil \froman \fswiss \fmodern \fscript \fdecor MS Sans Serif"
    rb"SymbolArialTimes New RomanCourier{\colortbl\red0\green0\blue0"
    b"\r\n"
    rb"\par \pard\plain\f0\fs20\b\i\u\tab\tx"
)

_TOKEN = late_pattern(
    rb"\\([A-Za-z]{1,32})(-?\d{1,10})? ?|\\'([0-9A-Fa-f]{2})|\\([^A-Za-z])|([{}])|([^\\{}\r\n]+)|[\\\r\n]", re.DOTALL
)
_CODEPAGE = late_pattern(rb"\\ansicpg(\d{1,5})")
_HIDDEN = frozenset({
    b"fonttbl", b"colortbl", b"stylesheet", b"info", b"pict", b"header", b"footer", b"object", b"fldinst", b"listtable",
    b"listoverridetable", b"footnote", b"themedata", b"bkmkstart", b"bkmkend",
})  # fmt: skip
_SIGNS = {
    b"par": "\n", b"line": "\n", b"row": "\n", b"sect": "\n", b"page": "\n", b"tab": "\t", b"cell": "\t",
    b"emdash": "\u2014", b"endash": "\u2013", b"lquote": "\u2018", b"rquote": "\u2019", b"ldblquote": "\u201c",
    b"rdblquote": "\u201d", b"bullet": "\u2022", b"emspace": " ", b"enspace": " ",
}  # fmt: skip
_SYMBOLS = {b"~": "\xa0", b"_": "-", b"\n": "\n", b"\r": "\n", b"\\": "\\", b"{": "{", b"}": "}"}


def unpacked(content: bytes) -> bytes:
    """Decompresses the RTF of Outlook, at most MAX_RTF_BYTES; returns b"" for other content. Never raises."""
    if len(content) < 16:
        return b""
    (size,) = struct.unpack_from("<I", content, 4)
    if content[8:12] == _PLAIN:
        return content[16 : 16 + min(size, MAX_RTF_BYTES)]
    return _unpacked(content, min(size, MAX_RTF_BYTES)) if content[8:12] == _PACKED else b""


def words_of(rtf: bytes) -> tuple[str, bool]:
    """Returns the text or HTML in an RTF, and whether it is HTML. Takes linear time; never raises.

    >>> words_of(rb"{\\rtf1\\ansi{\\fonttbl x;}Gr\\'fc\\'dfe,\\par \\b Ann\\u8364?}")
    ('Grüße,\\nAnn€', False)
    """
    reading = _RtfReader(_codepage(rtf), b"\\fromhtml" in rtf[:1_000])
    for match in _TOKEN.finditer(rtf[:MAX_RTF_BYTES]):
        reading.take(match)
    reading.flush()
    # Characters beyond U+FFFF come as two surrogates.
    words = "".join(reading.pieces).encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return words.strip("\0 \n"), reading.is_html


def _unpacked(content: bytes, size: int) -> bytes:
    out = bytearray(_KNOWN)
    end, position = len(_KNOWN) + size, 16
    while len(out) < end and position < len(content):
        flags = content[position]
        position += 1
        for bit in range(8):
            if position >= len(content):
                break
            if not flags >> bit & 1:
                out.append(content[position])
                position += 1
                continue
            reference = int.from_bytes(content[position : position + 2], "big")
            position += 2
            back = (len(out) - (reference >> 4)) % _WINDOW
            if back == 0:  # the next write position: the end
                return bytes(out[len(_KNOWN) : end])
            if back > len(out):
                return b""
            _repeat(out, back, (reference & 15) + 2)
    return bytes(out[len(_KNOWN) : end])


def _repeat(out: bytearray, back: int, length: int) -> None:
    start = len(out) - back
    for place in range(start, start + length):  # a copy may include bytes that it has just written
        out.append(out[place])


def _codepage(rtf: bytes) -> str:
    match = _CODEPAGE.search(rtf, 0, 1_000)
    return f"cp{int(match[1])}" if match else "cp1252"


@dataclass(slots=True)
class _Group:
    """A group of an RTF. is_hidden: its content is not shown. is_tag: it contains HTML. is_rtf_only: it repeats content
    of the HTML. replaced: the number of characters that stand in for a Unicode character."""

    is_hidden: bool = False
    is_tag: bool = False
    is_rtf_only: bool = False
    replaced: int = 1


@dataclass(slots=True)
class _RtfReader:
    codepage: str
    is_html: bool
    pieces: list[str] = field(default_factory=list)
    octets: bytearray = field(default_factory=bytearray)  # characters may have more than one
    groups: list[_Group] = field(default_factory=lambda: [_Group()])
    too_deep: int = 0
    to_skip: int = 0
    is_optional: bool = False  # a destination follows that programs may skip

    def take(self, match: re.Match[bytes]) -> None:
        word, number, octet, symbol, brace, text = match.groups()
        if brace:
            self._brace(brace)
        elif word:
            self._word(word, int(number) if number else None)
        elif octet:
            self._octets(bytes.fromhex(octet.decode()))
        elif symbol == b"*":
            self.is_optional = True
        elif symbol in _SYMBOLS:
            self._text(_SYMBOLS[symbol])
        elif text:
            self._octets(text)

    def flush(self) -> None:
        if self.octets:
            self.pieces.append(charsets.decode(bytes(self.octets), self.codepage))
            self.octets.clear()

    def _brace(self, brace: bytes) -> None:
        self.to_skip, self.is_optional = 0, False
        if brace == b"{":
            if len(self.groups) >= MAX_GROUPS:
                self.too_deep += 1
                return
            outer = self.groups[-1]
            self.groups.append(_Group(outer.is_hidden, outer.is_tag, outer.is_rtf_only, outer.replaced))
        elif self.too_deep:
            self.too_deep -= 1
        elif len(self.groups) > 1:
            self.groups.pop()

    def _word(self, word: bytes, number: int | None) -> None:
        group, self.to_skip = self.groups[-1], 0
        if word == b"htmltag":
            group.is_tag = True
        elif self.is_optional or word in _HIDDEN:
            group.is_hidden = True
        elif word == b"htmlrtf":
            group.is_rtf_only = number != 0
        elif word == b"uc" and number is not None:
            group.replaced = min(max(number, 0), 10)
        elif word == b"u" and number is not None:
            self._text(chr(number % 0x10000))
            self.to_skip = group.replaced
        elif word in _SIGNS:
            self._text(_SIGNS[word])
        self.is_optional = False

    def _text(self, text: str) -> None:
        self.flush()
        if self._is_shown():
            self.pieces.append(text)

    def _octets(self, octets: bytes) -> None:
        skipped = min(self.to_skip, len(octets))
        self.to_skip -= skipped
        if self._is_shown():
            self.octets += octets[skipped:]

    def _is_shown(self) -> bool:
        group = self.groups[-1]
        return not group.is_hidden and not (self.is_html and group.is_rtf_only)
