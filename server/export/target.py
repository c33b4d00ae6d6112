"""The destination of an export: a new folder, or a new zip file. It gets its name only when it is complete."""

import hashlib
import io
import os
import shutil
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Protocol, cast

from server.dataclass import dataclass
from server.errors import Conflict, Full, NotFound

ZIP = ".zip"
PART = ".part"


@dataclass
class WrittenFile:
    """One file: its size in bytes and the SHA-256 of its content, in hex."""

    bytes: int = 0
    sha256: str = ""


class Target(Protocol):
    """The destination of an export; one file is open at a time."""

    def open(self, path: str) -> BinaryIO:
        """Opens a new file; creates the folders of its path."""

    def finish(self) -> None:
        """Completes the export."""

    def drop(self) -> None:
        """Removes everything that was written."""


@contextmanager
def opened(place: Path) -> Iterator[Target]:
    """A folder, or a zip file for a path that ends in .zip. It exists only if the block succeeds.

    Raises Conflict for a path that exists, NotFound for one in a missing folder, Full."""
    if place.exists() and not (place.is_dir() and place.suffix.lower() != ZIP and not any(place.iterdir())):
        raise Conflict(f"there is something at {place} already; choose another name")
    if not place.absolute().parent.is_dir():
        raise NotFound(f"there is no folder {place.absolute().parent}; create it first")
    try:
        target: Target = _Zip(place) if place.suffix.lower() == ZIP else _Folder(place)
        try:
            yield target
            target.finish()
        except BaseException:
            target.drop()
            raise
    except OSError as error:
        raise Full(f"the export cannot be written to {place}: {error.strerror or error}") from error


@contextmanager
def written(target: Target, path: str) -> Iterator[tuple[BinaryIO, WrittenFile]]:
    """A written file, with its size and digest once it is closed."""
    info = WrittenFile()
    with target.open(path) as file:
        counting = _CountingStream(file)
        yield cast(BinaryIO, counting), info
    info.bytes, info.sha256 = counting.size, counting.digest.hexdigest()


class _CountingStream(io.RawIOBase):
    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.size = 0
        self.digest = hashlib.sha256()

    def write(self, content: bytes) -> int:  # type: ignore[override]
        self._file.write(content)
        self.digest.update(content)
        self.size += len(content)
        return len(content)


class _Folder:
    def __init__(self, place: Path) -> None:
        self._place = place
        self._part = place.with_name(place.name + PART)
        shutil.rmtree(self._part, ignore_errors=True)  # left by an export that was killed
        self._part.mkdir(mode=0o700)
        self._made: set[Path] = set()

    def open(self, path: str) -> BinaryIO:
        whole = self._part / path
        if whole.parent not in self._made:
            whole.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._made.add(whole.parent)
        return whole.open("xb")

    def finish(self) -> None:
        if self._place.exists():
            self._place.rmdir()  # it is empty
        self._part.rename(self._place)

    def drop(self) -> None:
        shutil.rmtree(self._part, ignore_errors=True)


class _Zip:
    def __init__(self, place: Path) -> None:
        self._place = place
        self._part = place.with_name(place.name + PART)
        self._part.unlink(missing_ok=True)
        handle = os.open(self._part, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
        self._file = os.fdopen(handle, "w+b")
        self._zip = zipfile.ZipFile(self._file, "w", zipfile.ZIP_DEFLATED, compresslevel=1)

    def open(self, path: str) -> BinaryIO:
        return cast(BinaryIO, self._zip.open(path, "w", force_zip64=True))

    def finish(self) -> None:
        self._zip.close()
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        self._part.replace(self._place)

    def drop(self) -> None:
        with suppress(OSError, ValueError):
            self._zip.close()
        with suppress(OSError):
            self._file.close()
        self._part.unlink(missing_ok=True)
