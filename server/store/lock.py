"""Locks a data folder for one server, by a file lock that the system releases when the process ends.

Our own, because it is one call of each system; the waiting and counting of filelock are not needed."""

import os
from pathlib import Path
from typing import IO

from server.errors import Damaged

NAME = "helpdesk.lock"
AT = " at "  # separates the process from its address
READ_CHARACTERS = 200


class FolderLock:
    """A lock held from `take` until `release`. The file names the holder and the address on which it listens."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / NAME
        self._file: IO[str] | None = None

    def take(self) -> None:
        """Acquires the lock. Raises Damaged if another server holds it."""
        try:
            file = open(self._path, "a+", encoding="utf-8")  # noqa: SIM115, kept open as long as the lock is held
        except OSError as error:
            raise Damaged(f"{self._path} cannot be written ({error.strerror}); check the data folder") from error
        if not try_lock(file):
            file.seek(0)
            holder = file.read(READ_CHARACTERS).strip() or "another process"
            file.close()
            raise Damaged(f"{self._path.parent} is used by a running server ({holder}); stop it first")
        os.chmod(self._path, 0o600)
        self._file = file
        self._write(f"process {os.getpid()}")

    def publish_address(self, url: str) -> None:
        """Publishes the address of the holder, for `address`."""
        self._write(f"process {os.getpid()}{AT}{url}")

    def _write(self, text: str) -> None:
        if self._file is None:  # held by another process of a shared database
            return
        self._file.seek(0)
        self._file.truncate()
        self._file.write(text)
        self._file.flush()

    def release(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


def is_held(folder: Path) -> bool:
    """Returns whether a server runs on this folder."""
    path = folder / NAME
    if not path.exists():
        return False
    try:
        with open(path, "a+", encoding="utf-8") as file:
            return not try_lock(file)
    except OSError:
        return False


def is_held_by_another(folder: Path) -> bool:
    """Returns whether a server runs on this folder in another process."""
    return is_held(folder) and _text(folder).partition(AT)[0].strip() != f"process {os.getpid()}"


def address(folder: Path) -> str:
    """Returns the address of the server on this folder, such as http://127.0.0.1:8200; "" if none listens. It reflects
    the flags of the server, which commands cannot know otherwise."""
    if not is_held(folder):
        return ""
    return _text(folder).partition(AT)[2].strip()


def _text(folder: Path) -> str:
    with open(folder / NAME, encoding="utf-8", errors="replace") as file:
        return file.read(READ_CHARACTERS)


if os.name == "nt":
    import msvcrt

    def try_lock(file: IO[str]) -> bool:
        """Lock an open file until it is closed; False when another process has it."""
        try:
            file.seek(4096)  # beyond the text, which others must be able to read
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        except OSError:
            return False
        return True

else:
    import fcntl

    def try_lock(file: IO[str]) -> bool:
        """Lock an open file until it is closed; False when another process has it."""
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True
