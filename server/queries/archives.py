"""What is in a ZIP file, from its directory alone: nothing is unpacked, and only the end of the file is read.

For files in the database, a range at a time. Encrypted archives have a readable directory too."""

import io
import os
import struct
import zipfile
from collections.abc import Callable
from datetime import datetime, tzinfo

from server.dataclass import dataclass
from server.errors import Invalid, TooLarge

MAX_DIRECTORY_BYTES = 4 * 1024 * 1024  # some 40,000 files; all are held in memory at once
STAMP = 0x5455  # the extra field with Unix seconds
Read = Callable[[int, int], bytes]


@dataclass(frozen=True, slots=True)
class ArchiveEntry:
    """One file or, with a slash at its end, folder. size: bytes once unpacked, as the archive says.

    mtime: Unix seconds, 0 when unknown."""

    name: str
    index: int
    size: int
    mtime: int


def entries(size: int, read: Read, tz: tzinfo) -> list[ArchiveEntry]:
    """The entries in their order. `read(start, end)` answers bytes of the file, which has `size` of them.

    tz: where its clock times are from, for entries without Unix seconds. Raises Invalid for what is no ZIP file,
    TooLarge for a directory above MAX_DIRECTORY_BYTES."""
    try:
        with zipfile.ZipFile(Ranges(size, read)) as archive:
            found = archive.infolist()
    except (zipfile.BadZipFile, NotImplementedError, ValueError, OverflowError, OSError, EOFError, struct.error):
        raise Invalid("it is no ZIP archive, or a damaged one") from None
    return [ArchiveEntry(each.filename, index, each.file_size, _mtime(each, tz)) for index, each in enumerate(found)]


class Ranges(io.RawIOBase):
    """A file that is read in ranges."""

    def __init__(self, size: int, read: Read) -> None:
        self.size = size
        self.read_range = read
        self.place = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self.place

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        place = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self.place, os.SEEK_END: self.size}[whence]
        if place < 0:
            raise ValueError("before the beginning")
        self.place = place
        return place

    def read(self, size: int | None = -1) -> bytes:
        end = self.size if size is None or size < 0 else min(self.place + size, self.size)
        if end - self.place > MAX_DIRECTORY_BYTES:
            raise TooLarge(
                f"its list of files has {end - self.place} bytes; at most {MAX_DIRECTORY_BYTES} are read",
                limit=MAX_DIRECTORY_BYTES,
            )
        content = self.read_range(self.place, end) if self.place < end else b""
        self.place += len(content)
        return content


def _mtime(entry: zipfile.ZipInfo, tz: tzinfo) -> int:
    stamp = _stamp(entry.extra)
    if stamp is not None:
        return stamp
    try:
        return int(datetime(*entry.date_time, tzinfo=tz).timestamp())
    except (ValueError, OverflowError):
        return 0  # the thirtieth of February


def _stamp(extra: bytes) -> int | None:
    place = 0
    while place + 4 <= len(extra):
        kind, length = struct.unpack_from("<HH", extra, place)
        if kind == STAMP and length >= 5 and place + 9 <= len(extra) and extra[place + 4] & 1:
            return int(struct.unpack_from("<i", extra, place + 5)[0])
        place += 4 + length
    return None
