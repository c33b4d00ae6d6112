"""Watches the files of the database in the folder: open ones must still be there, and a write-ahead log at the start
must belong to the database beside it.

SQLite does not check either: it keeps writing to files that were unlinked, and replays any log it finds."""

import os
import struct
import time
from pathlib import Path

from server import log
from server.errors import Damaged

LOG = log.get("store")
ENDINGS = ("", "-wal", "-shm")
RETRY_AFTER_SECONDS = 30
LOOK_SECONDS = 1.0  # the longest time in which reads do not notice that the files are gone
PAGE_SIZE_AT, COUNTER_AT, APPLICATION_AT = 16, 24, 68  # in the header of a database file
BYTE_ORDERS = {0x377F0682: "<", 0x377F0683: ">"}  # byte order of a log's checksums, by its magic number
LOG_HEADER, FRAME_HEADER = struct.Struct(">8I"), struct.Struct(">6I")

Identity = tuple[int, int]  # device and inode


class OpenFiles:
    """The open files of a store, by device and inode. Created when all of them exist."""

    def __init__(self, path: Path) -> None:
        self._paths = [f"{path}{ending}" for ending in ENDINGS]
        self._opened = [_identity(each) for each in self._paths]
        self._looked_at = time.monotonic()
        self._missing = ""

    def require(self) -> None:
        """Raises Damaged if one of them was removed or replaced: further writes would be lost."""
        self._look()
        self._refuse()

    def require_lately(self) -> None:
        """Raises as require, but inspects the folder at most once in LOOK_SECONDS while all is well; for reads."""
        if self._missing or time.monotonic() - self._looked_at >= LOOK_SECONDS:
            self._look()
        self._refuse()

    @property
    def are_in_place(self) -> bool:
        """Returns whether all of them are in place; inspects the folder now."""
        self._look()
        return not self._missing

    def _look(self) -> None:
        self._looked_at = time.monotonic()
        if os.name == "nt":  # where an open file cannot be removed
            return
        now = zip(self._paths, self._opened, strict=True)
        missing = next((path for path, opened in now if opened and _identity(path) != opened), "")
        if missing and not self._missing:
            LOG.error("database.files_gone", file=missing)
        elif self._missing and not missing:
            LOG.warning("database.files_back")
        self._missing = missing

    def _refuse(self) -> None:
        if self._missing:
            raise Damaged(
                f"{Path(self._missing).name} was removed or replaced while the service was running; nothing is read "
                f"or written until it is back. Put it back, or stop the service and restore a backup",
                retry_after=RETRY_AFTER_SECONDS,
            )


def require_own_log(path: Path) -> None:
    """Raises Damaged if the write-ahead log beside a database belongs to another one: SQLite would discard it or write
    its pages into the wrong file."""
    log = Path(f"{path}-wal")
    log_bytes = log.stat().st_size if log.exists() else 0
    if log_bytes <= LOG_HEADER.size:
        return
    what = "is missing" if not path.exists() else "is empty" if not path.stat().st_size else ""
    if not what and not _is_own(path, log):
        what = "is another database than the one whose log lies beside it"
    if what:
        raise Damaged(
            f"{path} {what}: {log.name} holds {log_bytes} bytes that were written last. Put the database that belongs "
            f"to it back, or move {log.name} away to go on without what it holds"
        )


def _identity(path: str) -> Identity | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _is_own(path: Path, log: Path) -> bool:
    """Returns whether a log can belong to a database, by the page size, the application id and the change counter of
    the first pages in it. The counter of the database is the one before the log, or one in it."""
    with path.open("rb") as file:
        header = file.read(APPLICATION_AT + 4)
    if len(header) < APPLICATION_AT + 4:
        return True  # not a database; SQLite reports that better
    page_bytes, firsts = _first_pages(log)
    declared = int.from_bytes(header[PAGE_SIZE_AT : PAGE_SIZE_AT + 2], "big")
    if page_bytes and page_bytes != (65536 if declared == 1 else declared):
        return False
    if not firsts:
        return True
    counter = _number(header, COUNTER_AT)
    is_same_program = all(_number(page, APPLICATION_AT) == _number(header, APPLICATION_AT) for page in firsts)
    return is_same_program and _number(firsts[0], COUNTER_AT) - 1 <= counter <= _number(firsts[-1], COUNTER_AT)


def _first_pages(log: Path) -> tuple[int, list[bytes]]:
    """The page size of a log, 0 for one that SQLite would not read, and the headers of the first page in it: one for
    each transaction that changed it and was committed.

    Like SQLite, it reads no further than a frame whose checksum is wrong, such as one that a power cut tore
    (https://sqlite.org/fileformat2.html#the_write_ahead_log). Only frames that decide are added up: each checksum goes
    on from the one stored before, so a torn frame between them leaves the range of counters too wide, never too
    narrow."""
    committed: list[bytes] = []
    written: list[bytes] = []
    with log.open("rb") as file:
        head = file.read(LOG_HEADER.size)
        magic, _, page_bytes, _, *salts, first, second = LOG_HEADER.unpack(head)
        order, sums = BYTE_ORDERS.get(magic), (first, second)
        if order is None or not 512 <= page_bytes <= 65536 or _checksum(order, head[:-8], (0, 0)) != sums:
            return 0, []
        while len(frame := file.read(FRAME_HEADER.size)) == FRAME_HEADER.size:
            number, is_commit, *own_salts, first, second = FRAME_HEADER.unpack(frame)
            if own_salts != salts:
                break  # left from before the log restarted
            if number == 1 or (is_commit and written):
                page = file.read(page_bytes)
                if len(page) < page_bytes or _checksum(order, frame[:8] + page, sums) != (first, second):
                    break
                if number == 1:
                    written.append(page[: APPLICATION_AT + 4])
            else:
                file.seek(page_bytes, os.SEEK_CUR)
            sums = (first, second)
            if is_commit:
                committed += written
                written = []
    return page_bytes, committed


def _checksum(order: str, content: bytes, sums: tuple[int, int]) -> tuple[int, int]:
    """The checksum of a log continued over `content`, whole pairs of 32-bit numbers in this byte order."""
    first, second = sums
    numbers = iter(struct.unpack(f"{order}{len(content) // 4}I", content))
    for one, other in zip(numbers, numbers, strict=True):
        first = (first + one + second) & 0xFFFFFFFF
        second = (second + other + first) & 0xFFFFFFFF
    return first, second


def _number(content: bytes, at: int) -> int:
    return int.from_bytes(content[at : at + 4], "big")
