"""Lists the contents of a ZIP file from its directory, reading only the end of the file and unpacking nothing.

Reads files in the database in ranges. Encrypted archives have a readable directory too."""

import io
import os
import struct
import zipfile
from collections.abc import Callable
from datetime import datetime, tzinfo

from server.dataclass import dataclass
from server.errors import Invalid, TooLarge

MAX_DIRECTORY_BYTES = 4 * 1024 * 1024  # about 40,000 files, all in memory at once
STAMP = 0x5455  # id of the extra field with Unix seconds
Read = Callable[[int, int], bytes]


@dataclass(frozen=True, slots=True)
class ArchiveEntry:
    """A file, or a folder if its name ends with a slash. size: unpacked bytes according to the archive.

    mtime: Unix seconds, 0 if unknown."""

    name: str
    index: int
    size: int
    mtime: int


def entries(size: int, read: Read, tz: tzinfo) -> list[ArchiveEntry]:
    """Returns the entries in their order. read(start, end): returns bytes of a file of `size` bytes.

    tz: the zone of clock times, for entries without Unix seconds. Raises Invalid for a file that is not a valid ZIP
    archive, TooLarge for a directory above MAX_DIRECTORY_BYTES."""
    try:
        with zipfile.ZipFile(Ranges(size, read)) as archive:
            infos = archive.infolist()
    except (zipfile.BadZipFile, NotImplementedError, ValueError, OverflowError, OSError, EOFError, struct.error):
        raise Invalid("it is no ZIP archive, or a damaged one") from None
    return [ArchiveEntry(each.filename, index, each.file_size, _mtime(each, tz)) for index, each in enumerate(infos)]


class Ranges(io.RawIOBase):
    """A file object that reads ranges."""

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
        return 0  # an impossible date, such as 30 February


def _stamp(extra: bytes) -> int | None:
    place = 0
    while place + 4 <= len(extra):
        kind, length = struct.unpack_from("<HH", extra, place)
        if kind == STAMP and length >= 5 and place + 9 <= len(extra) and extra[place + 4] & 1:
            return int(struct.unpack_from("<i", extra, place + 5)[0])
        place += 4 + length
    return None
