"""Parses the header block of a mail or a part: its fields, their encoded words, parameters and ids.

All functions take linear time and never raise because of their input. Addresses are parsed in addresses.py, dates in
date_header.py."""

import binascii
import re
from collections.abc import Iterator
from dataclasses import field
from urllib.parse import unquote_to_bytes

from server.dataclass import dataclass
from server.digits import whole_in
from server.late_pattern import late_pattern
from server.mail import charsets

FIELDS = 1_000  # header fields kept
FIELD_BYTES = 64 * 1024  # kept of one field
BLOCK_BYTES = 1024 * 1024  # bytes of one header block; short fields after that are preserved
SHORT_BYTES = 1_000
WORDS = 200  # encoded words decoded in one field
PARAMETERS = 100  # looked at in one field
NOTED_CUTS = 3
BROKEN_LINES = 5  # skipped in a row; more of them are no headers
ID_CHARACTERS = 998  # the longest line a mail may have
REFERENCES = 200  # the newest ids kept

_FIELD = late_pattern(rb"([!-9;-~]*+)[ \t]*+:(.*+(?:\n[ \t].*+)*+)\n?")
_EMPTY_LINE = late_pattern(rb"\r*\n")
_EMPTY_LINE_LATER = late_pattern(rb"\n\r*\n")
# A separator of a mailbox file that slipped into the block.
_MAILBOX_LINE = late_pattern(rb"(?:>?From |[ \t])[^\n]*\n?")
_LINE = late_pattern(rb"[^\n]*+\n?")
# Fields after a broken line that prove the headers to go on. A text may well begin "Note: ...", so other names do not.
_KNOWN = late_pattern(
    rb"(?:arc|authentication|content|delivered|disposition|dkim|envelope|errors|in|list|message|mime|original|received"
    rb"|reply|resent|return|thread|user|x)-[!-9;-~]+[ \t]*+:"
    rb"|(?:bcc|cc|date|from|importance|organization|precedence|priority|received|references|sender|subject|to)[ \t]*+:",
    re.IGNORECASE,
)
_RAW_WORD = late_pattern(rb"=\?([^?\s]{1,60})\?[qQ]\?([^?]*[\x80-\xff][^?]*)\?=")
_RAW_BYTE = late_pattern(rb"[\x80-\xff]")
_CONTROLS = late_pattern("[\0-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029]")
_SPACES = late_pattern(r"\s+")
_WORD = late_pattern(r"=\?([^?\s]{1,60})\?([bBqQ])\?([^?]*)\?=")
_NO_BASE64 = late_pattern(r"[^A-Za-z0-9+/=\s]")
# Quotes inside a quoted value are taken as they stand, where neither its end nor the next parameter follows.
_PARAMETER = late_pattern(
    r';\s*+([^=;\s"]++)\s*+=\s*+(?:"((?:[^"\\]|\\.|"(?!\s*+(?:[;(]|\Z|[\w*-]++\s*+=)))*+)"?|([^;]*))', re.DOTALL
)
_VALUE_GOES_ON = late_pattern(r";(?!\s*[\w*-]+\s*=)[^;]+")  # a semicolon in a file name that is not quoted
_FILE_NAMES = ("filename", "name")
_ID = late_pattern(r"<[^<>]*>")


@dataclass(frozen=True, slots=True)
class Head:
    """A header block. `fields`: (name, value) in order, unfolded, encoded words still in place.

    `body_at`: position of the body in the bytes; `notes`: what was omitted."""

    fields: tuple[tuple[str, str], ...]
    body_at: int
    notes: tuple[str, ...] = ()
    _by_name: dict[str, list[str]] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name, value in self.fields:
            self._by_name.setdefault(name.lower(), []).append(value)

    def all(self, *names: str) -> list[str]:
        """The values of every field with one of these lower-case names, in the order of the block."""
        present = [name for name in names if name in self._by_name]
        if len(present) > 1:
            return [value for name, value in self.fields if name.lower() in present]
        return list(self._by_name[present[0]]) if present else []

    def first(self, name: str) -> str:
        """The value of the first field of this lower-case name that is not empty, else ""."""
        for value in self._by_name.get(name, ()):
            if value:
                return value
        return ""

    def has(self, name: str) -> bool:
        """True when a field of this lower-case name is there, empty or not."""
        return name in self._by_name


def split(
    raw: bytes,
    start: int = 0,
    end: int | None = None,
    fields: int = FIELDS,
    field_bytes: int = FIELD_BYTES,
    block_bytes: int = BLOCK_BYTES,
    charset: str = "",
) -> Head:
    """Parses the header block that begins at `start`: up to an empty line, or a line that cannot be part of a header.

    charset: label of the charset of raw bytes that are not UTF-8. A broken line among headers is skipped. Long fields
    are cut, and fields above `fields` omitted; notes report both."""
    end = len(raw) if end is None else end
    fields_found: list[tuple[str, str]] = []
    cut: list[str] = []
    broken: list[str] = []
    position, size = start, 0
    for _ in range(fields):
        match = _FIELD.match(raw, position, end)
        if match is None:
            odd = _MAILBOX_LINE.match(raw, position, end)
            after = odd.end() if odd else _after_broken(raw, position, end, fields_found)
            if after == position:
                return Head(tuple(fields_found), _after_empty_line(raw, position, end), tuple(_notes(cut, broken)))
            if odd is None:
                lines = raw[position : min(after, position + SHORT_BYTES)].splitlines()
                broken += [_text(line, charset) for line in lines]
            position = after
            continue
        name, (value_at, value_end) = match[1].decode("ascii", "replace"), match.span(2)
        room = field_bytes if size < block_bytes else SHORT_BYTES
        if value_end - value_at > room:
            cut.append(name)
            value_end = value_at + room
        size += value_end - value_at
        if name:
            fields_found.append((name, _text(raw[value_at:value_end], charset)))
        position = match.end()
    body_at = _after_empty_line(raw, position, end)
    if body_at == position and position < end:
        later = _EMPTY_LINE_LATER.search(raw, position - 1, end)
        body_at = later.end() if later else end
        return Head(tuple(fields_found), body_at, (*_notes(cut, broken), "headers were left out: there are too many"))
    return Head(tuple(fields_found), body_at, tuple(_notes(cut, broken)))


def header_value(text: str, words: int = WORDS) -> str:
    """A field's value in readable form: encoded words decoded, tabs and line breaks as spaces."""
    if "=?" in text:
        text = decode_words(text, words)
    return text if text.isprintable() else _CONTROLS.sub(" ", text).replace("\t", " ").strip()


def one_line(text: str) -> str:
    """`text` decoded, each run of white space as one space. For subjects, names and file names."""
    return _SPACES.sub(" ", header_value(text)).strip()


def decode_words(text: str, limit: int = WORDS) -> str:
    """RFC 2047 words decoded, adjacent ones joined without a gap; broken ones and those beyond `limit` stay.

    >>> decode_words("=?utf-8?q?caf=C3?= =?utf-8?q?=A9?= one =?utf-8?b?***?=")
    'café one =?utf-8?b?***?='
    """
    pieces: list[str] = []
    pending, pending_label, position = b"", "", 0
    for count, match in enumerate(_WORD.finditer(text)):
        content = _word(match[2], match[3]) if count < limit else None
        if content is None:
            continue
        label, gap = match[1].partition("*")[0].lower(), text[position : match.start()]
        # The bytes of one character may be spread over two words.
        if pending_label and not gap.strip() and label == pending_label:
            pending += content
        else:
            pieces.append(charsets.decode(pending, pending_label))
            pieces.append("" if pending_label and not gap.strip() else gap)
            pending, pending_label = content, label
        position = match.end()
    pieces.append(charsets.decode(pending, pending_label))
    pieces.append(text[position:])
    return "".join(pieces)


def parameters(value: str, limit: int = PARAMETERS) -> tuple[str, dict[str, str]]:
    """The lower-case first word of a field like Content-Type, and its parameters by lower-case name.

    RFC 2231 pieces are joined and decoded. Of two parameters with one name the first counts.

    >>> parameters('attachment; filename*0*=utf-8\\'\\'%e2%82%ac; filename*1=".txt"')
    ('attachment', {'filename': '€.txt'})
    """
    values: dict[str, str] = {}
    pieces: dict[str, dict[int, tuple[str, bool]]] = {}
    position = value.find(";")
    first = value if position < 0 else value[:position]
    tries = 0
    while position >= 0 and tries < limit:
        tries += 1
        match = _PARAMETER.match(value, position)
        end = position + 1 if match is None else match.end()
        if match is not None:
            name, star, rest = match[1].lower().partition("*")
            text = match[3].strip() if match[2] is None else re.sub(r'\\(["\\])', r"\1", match[2])
            if star:
                number = rest.rstrip("*")
                order = whole_in(number, 0, 9_999) or 0
                pieces.setdefault(name, {}).setdefault(order, (text, rest == "" or rest.endswith("*")))
            else:
                if match[2] is None and name in _FILE_NAMES:
                    while more := _VALUE_GOES_ON.match(value, end):
                        text, end = f"{text}{more[0].rstrip()}", more.end()
                values.setdefault(name, text)
        position = value.find(";", end)
    values.update({name: _joined(parts) for name, parts in pieces.items()})
    return first.partition("(")[0].strip().lower(), values


def ids_in(value: str) -> list[str]:
    """Every `<…@…>` of a field, in order, without white space inside.

    >>> ids_in('Your mail of <a@x> "hello" <b>,<c@y>')
    ['<a@x>', '<c@y>']
    """
    return [id for id in map(_without_spaces, _ID.findall(value)) if "@" in id and len(id) <= ID_CHARACTERS]


def own_id(value: str) -> str | None:
    """The id of a Message-Id field with angle brackets, added if missing; None if it is empty."""
    match = _ID.search(value)
    id = _without_spaces(match[0] if match else f"<{value.strip('<>')}>")
    return id if 2 < len(id) <= ID_CHARACTERS else None


def _after_empty_line(raw: bytes, position: int, end: int) -> int:
    empty = _EMPTY_LINE.match(raw, position, end)
    return empty.end() if empty else position


def _after_broken(raw: bytes, position: int, end: int, fields: list[tuple[str, str]]) -> int:
    """The position where the headers continue after broken lines; `position` itself if the body begins there."""
    after = position
    for _ in range(BROKEN_LINES):
        if _EMPTY_LINE.match(raw, after, end):
            break
        line = _LINE.match(raw, after, end)
        assert line is not None
        after = line.end()
        if _KNOWN.match(raw, after, end):
            return after
    # Whoever declares a type writes the empty line, too; others forget it, and this is their first line of text.
    is_last = after > position and _EMPTY_LINE.match(raw, after, end) is not None
    return after if is_last and any(name.lower() == "content-type" for name, _ in fields) else position


def _notes(cut: list[str], broken: list[str]) -> Iterator[str]:
    for name in cut[:NOTED_CUTS]:
        yield f"header {name[:80]} was cut: it is too long"
    for line in broken[:NOTED_CUTS]:
        yield f"skipped a broken line in the headers: {line[:80]}"


def _text(value: bytes, charset: str = "") -> str:
    plain = value.strip()
    if plain.isascii() and (text := plain.decode("ascii")).isprintable():  # the usual case
        return text
    if not value.isascii() and b"=?" in value:
        value = _RAW_WORD.sub(_escaped_word, value)
    text = charsets.decode_raw(value, charset)
    if text.isprintable():
        return text.strip()
    return _CONTROLS.sub(" ", text.replace("\r\n", "").replace("\n", "")).strip()


def _escaped_word(word: re.Match[bytes]) -> bytes:
    """An encoded word with its raw bytes escaped, so that they are decoded in the word's charset; UTF-8 is
    unchanged."""
    label, text = word[1], word[2]
    if charsets.is_utf8(text):
        label = b"utf-8"
    return b"=?" + label + b"?q?" + _RAW_BYTE.sub(lambda byte: b"=%02X" % byte[0][0], text) + b"?="


def _word(encoding: str, text: str) -> bytes | None:
    if encoding in "qQ":
        return binascii.a2b_qp(text.encode("utf-8"), header=True)
    if _NO_BASE64.search(text):
        return None
    return charsets.decode_base64(text.encode("ascii"))[0]


def _joined(parts: dict[int, tuple[str, bool]]) -> str:
    label, content = "", b""
    for place, (_, (text, is_encoded)) in enumerate(sorted(parts.items())):
        if is_encoded and place == 0 and text.count("'") >= 2:
            label, _, text = text.split("'", 2)
        content += unquote_to_bytes(text) if is_encoded else text.encode("utf-8", "replace")
    return charsets.decode(content, label)


def _without_spaces(text: str) -> str:
    return _SPACES.sub("", text)
