"""Opens `winmail.dat`: the files and the text that Outlook packs into one part in its own format, TNEF.

Everything is sliced from the available bytes, within limits; at damaged content the reading ends, and the result so far
counts. Messages inside are not opened. Follows [MS-OXTNEF]; names of properties are those of [MS-OXPROPS].

Not a library: tnefparse, the one for Python, had its last release in 2021, has no limits, and its licence (LGPL)
demands more than a one-file executable can provide."""

import struct
from collections.abc import Iterator
from dataclasses import field
from typing import Any

from server.dataclass import dataclass
from server.mail import charsets

TYPES = frozenset({"application/ms-tnef", "application/vnd.ms-tnef"})
FILE_NAMES = frozenset({"winmail.dat", "win.dat"})
SIGNATURE = struct.pack("<I", 0x223E9F78)
MAX_ATTRIBUTES = 20_000
MAX_VALUES = 50_000  # values of all properties together

_BODY, _FILE_DATA, _FILE_TITLE, _NEXT_FILE = 0x800C, 0x800F, 0x8010, 0x9002
_PROPERTIES, _FILE_PROPERTIES, _CODEPAGE = 0x9003, 0x9005, 0x9007

_PR_BODY, _PR_RTF, _PR_HTML, _PR_HTML_CODEPAGE = 0x1000, 0x1009, 0x1013, 0x3FDE
_PR_NAME, _PR_DATA, _PR_SHORT_NAME, _PR_LONG_NAME, _PR_TYPE, _PR_CONTENT_ID = (
    0x3001,
    0x3701,
    0x3704,
    0x3707,
    0x370E,
    0x3712,
)
_MANY, _INTEGER, _OBJECT, _STRING, _UNICODE, _BINARY = 0x1000, 0x03, 0x0D, 0x1E, 0x1F, 0x102
_VARIABLE = {_OBJECT, _STRING, _UNICODE, _BINARY}
_BYTES = {0x02: 4, 0x03: 4, 0x04: 4, 0x05: 8, 0x06: 8, 0x07: 8, 0x0A: 4, 0x0B: 4, 0x14: 8, 0x40: 8, 0x48: 16}
_FIRST_NAMED, _GUID_BYTES = 0x8000, 16


@dataclass(slots=True)
class TnefFile:
    """A file. `mime_type` and `content_id` are "" if they are not declared."""

    name: str = ""
    mime_type: str = ""
    content_id: str = ""
    content: bytes = b""


@dataclass(slots=True)
class Winmail:
    """The content of a winmail.dat. rtf: the compressed message, for rtf.py. is_whole: everything could be read."""

    files: list[TnefFile] = field(default_factory=list)
    text: str = ""
    html: str = ""
    rtf: bytes = b""
    is_whole: bool = True


def unpack(content: bytes) -> Winmail | None:
    """Returns the content of a TNEF part, None for other bytes. Never raises; takes linear time."""
    if not content.startswith(SIGNATURE):
        return None
    reading = _TnefReader(content)
    try:
        reading.attributes()
    except (struct.error, ValueError, IndexError):
        reading.found.is_whole = False
    reading.found.files = [file for file in reading.found.files if file.content or file.name]
    return reading.found


@dataclass(slots=True)
class _TnefReader:
    content: bytes
    found: Winmail = field(default_factory=Winmail)
    codepage: str = "cp1252"
    values_left: int = MAX_VALUES

    def attributes(self) -> None:
        position = len(SIGNATURE) + 2  # followed by a key
        for _ in range(MAX_ATTRIBUTES):
            if position + 9 > len(self.content):
                return
            _, id, _, length = struct.unpack_from("<BHHI", self.content, position)
            start = position + 9
            if start + length > len(self.content):
                raise ValueError("an attribute ends after the end")
            self._take(id, start, start + length)
            position = start + length + 2  # followed by a checksum, which programs get wrong
        raise ValueError("too many attributes")

    def _take(self, id: int, start: int, end: int) -> None:
        if id == _NEXT_FILE:
            self.found.files.append(TnefFile())
        elif id == _CODEPAGE and end - start >= 4:
            self.codepage = f"cp{struct.unpack_from('<I', self.content, start)[0]}"
        elif id == _BODY:
            self.found.text = self.found.text or self._string(self.content[start:end])
        elif id == _PROPERTIES:
            self._message(dict(self._properties(start, end)))
        elif id in (_FILE_DATA, _FILE_TITLE, _FILE_PROPERTIES):
            self._file(id, start, end)

    def _file(self, id: int, start: int, end: int) -> None:
        if not self.found.files:
            self.found.files.append(TnefFile())
        file = self.found.files[-1]
        if id == _FILE_DATA:
            file.content = self.content[start:end]
        elif id == _FILE_TITLE:
            file.name = file.name or self._string(self.content[start:end])
        else:
            self._describe(file, dict(self._properties(start, end)))

    def _describe(self, file: TnefFile, values: dict[int, Any]) -> None:
        names = (values.get(each) for each in (_PR_LONG_NAME, _PR_NAME, _PR_SHORT_NAME))
        file.name = next((name for name in names if isinstance(name, str) and name), file.name)
        file.mime_type = _text(values.get(_PR_TYPE))
        file.content_id = _text(values.get(_PR_CONTENT_ID))
        content = values.get(_PR_DATA)
        if isinstance(content, bytes) and content:
            # If this exists, the other data only says that old programs cannot open the file.
            file.content = content
            file.mime_type = file.mime_type or ("application/ms-tnef" if content.startswith(SIGNATURE) else "")

    def _message(self, values: dict[int, Any]) -> None:
        self.found.text = self.found.text or _text(values.get(_PR_BODY))
        html, codepage = values.get(_PR_HTML, ""), values.get(_PR_HTML_CODEPAGE)
        if isinstance(html, bytes):
            html = charsets.decode(html, _codepage(codepage) if isinstance(codepage, int) else None)
        self.found.html = self.found.html or html.rstrip("\0")
        rtf = values.get(_PR_RTF)
        self.found.rtf = rtf if isinstance(rtf, bytes) else self.found.rtf

    def _properties(self, start: int, end: int) -> Iterator[tuple[int, Any]]:
        """Yields (id, value) of each property; of several values, the first."""
        (count,) = struct.unpack_from("<I", self.content, start)
        position = start + 4
        for _ in range(count):
            if position + 4 > end:
                raise ValueError("fewer properties than were told")
            kind, id = struct.unpack_from("<HH", self.content, position)
            position += 4
            if id >= _FIRST_NAMED:
                position = self._past_name(position)
            value, position = self._value(kind, position, end)
            yield id, value

    def _past_name(self, position: int) -> int:
        is_text, number = struct.unpack_from("<II", self.content, position + _GUID_BYTES)
        after = position + _GUID_BYTES + 8
        return after + _padded(number) if is_text else after

    def _value(self, kind: int, position: int, end: int) -> tuple[Any, int]:
        base, is_counted = kind & ~_MANY, kind & ~_MANY in _VARIABLE or bool(kind & _MANY)
        count = 1
        if is_counted:
            (count,) = struct.unpack_from("<I", self.content, position)
            position += 4
        self.values_left -= max(count, 1)
        if self.values_left < 0 or (base not in _VARIABLE and base not in _BYTES):
            raise ValueError("too many values, or of a kind that nobody knows")
        first: Any = None
        for number in range(count):
            size = _BYTES.get(base)
            if size is None:
                (size,) = struct.unpack_from("<I", self.content, position)
                position += 4
            if position + size > end:
                raise ValueError("a value ends after the end")
            if number == 0:
                first = self._read(base, position, size)
            position += _padded(size)
        return first, position

    def _read(self, kind: int, position: int, size: int) -> Any:
        content = self.content[position : position + size]
        if kind == _UNICODE:
            return content.decode("utf-16-le", "replace").rstrip("\0")
        if kind == _STRING:
            return self._string(content)
        if kind == _OBJECT:
            return content[_GUID_BYTES:]  # preceded by its class
        return int.from_bytes(content, "little") if kind == _INTEGER else content

    def _string(self, content: bytes) -> str:
        return charsets.decode(content.rstrip(b"\0"), self.codepage)


def _codepage(number: int) -> str:
    return {65001: "utf-8", 20127: "us-ascii", 28591: "iso-8859-1"}.get(number, f"cp{number}")


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _padded(size: int) -> int:
    return -(-size // 4) * 4
