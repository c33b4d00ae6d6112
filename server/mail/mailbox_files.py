"""Reads raw messages from files: one mail, an mbox file, a Maildir, a folder of .eml files.

Reads one message at a time, so that a file of any size needs little memory. Does not parse the mails."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from server.errors import Invalid

MESSAGE_BYTES = 64 * 1024 * 1024
LINE_BYTES = 1024 * 1024  # read at once; a longer line comes in pieces
SUFFIXES = (".eml", ".rfc822", ".mail")

# The sender and a time of day: a sentence that begins with "From" is no separator.
_SEPARATOR = re.compile(rb"From \S.*\d{1,2}:\d\d|From \S+@\S+\s*$|From MAILER-DAEMON\b")
_ESCAPED = re.compile(rb">+From ")


def kind_of(path: str | os.PathLike[str]) -> str:
    """The kind of file at `path`: "maildir", "folder", "mbox" or "message". Raises Invalid if it does not exist."""
    place = Path(path)
    if place.is_dir():
        return "maildir" if (place / "cur").is_dir() and (place / "new").is_dir() else "folder"
    if not place.is_file():
        raise Invalid(f"There is no file or folder '{place}'; enter the path of an email, an mbox file or a folder.")
    with place.open("rb") as file:
        return "mbox" if _SEPARATOR.match(file.readline(LINE_BYTES).removeprefix(b"\xef\xbb\xbf")) else "message"


def messages(path: str | os.PathLike[str], most: int = MESSAGE_BYTES) -> Iterator[bytes]:
    """The raw messages at `path`, in the order of the file or of the names. Empty files have none.

    most: bytes of a message; a longer one is cut one byte above, so that parsing refuses it by its size. Raises Invalid
    if `path` does not exist, OSError if a file cannot be read."""
    kind = kind_of(path)
    if kind == "mbox":
        with Path(path).open("rb") as file:
            yield from _mbox(file, most)
        return
    for place in _files(Path(path), kind):
        with place.open("rb") as file:
            content = file.read(most + 1)
        if content:
            yield content


def count(path: str | os.PathLike[str]) -> int:
    """The number of messages at `path`. Raises as messages does."""
    kind = kind_of(path)
    if kind != "mbox":
        return sum(1 for place in _files(Path(path), kind) if place.stat().st_size)
    with Path(path).open("rb") as file:
        return sum(1 for _, is_separator in _lines(file) if is_separator)


def _mbox(file: BinaryIO, most: int) -> Iterator[bytes]:
    message, is_open = bytearray(), False
    for line, is_separator in _lines(file):
        if is_separator:
            if is_open:
                yield _finished(message, most)
            message, is_open = bytearray(), True
        elif len(message) <= most:
            message += line[1:] if _ESCAPED.match(line) else line
    if is_open:
        yield _finished(message, most)


def _lines(file: BinaryIO) -> Iterator[tuple[bytes, bool]]:
    """Every line and whether it begins a message: it looks like a separator and an empty line is before it."""
    is_after_empty, is_line_start = True, True
    while line := file.readline(LINE_BYTES):
        is_first_part, is_line_start = is_line_start, line.endswith(b"\n")
        is_from = is_first_part and is_after_empty and line.removeprefix(b"\xef\xbb\xbf").startswith(b"From ")
        yield line, is_from and _SEPARATOR.match(line.removeprefix(b"\xef\xbb\xbf")) is not None
        is_after_empty = is_first_part and not line.strip(b"\r\n")


def _finished(message: bytearray, most: int) -> bytes:
    # The last empty line belongs to the separator that follows.
    content = bytes(message[: most + 1])
    for ending in (b"\r\n\r\n", b"\n\n"):
        if content.endswith(ending):
            return content[: -len(ending) // 2]
    return content


def _files(place: Path, kind: str) -> Iterator[Path]:
    if kind == "message":
        yield place
    elif kind == "maildir":
        for part in ("cur", "new"):
            yield from sorted(file for file in (place / part).iterdir() if _is_mail(file))
    else:
        for folder, below, names in os.walk(place):
            below.sort()
            yield from (Path(folder, name) for name in sorted(names) if name.lower().endswith(SUFFIXES))


def _is_mail(file: Path) -> bool:
    return file.is_file() and not file.name.startswith(".")
