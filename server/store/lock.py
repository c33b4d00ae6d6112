"""One server to a data folder: a lock on a file in it, which the system releases when the process ends.
Ours, because it is one call of each system; filelock's waiting and counting have no use here."""

import os
from pathlib import Path
from typing import IO

from server.errors import Damaged

NAME = "helpdesk.lock"
AT = " at "  # between the process and its address
READ_CHARACTERS = 200


class FolderLock:
    """Held from `take` until `release`. The file names the holder, and tells commands where it listens."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / NAME
        self._file: IO[str] | None = None

    def take(self) -> None:
        """Raises Damaged when another server holds it."""
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

    def tell(self, url: str) -> None:
        """Where the holder listens, for `address`."""
        self._write(f"process {os.getpid()}{AT}{url}")

    def _write(self, text: str) -> None:
        if self._file is None:  # another one holds it, and they share a database
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
    """Whether a server runs on this folder."""
    path = folder / NAME
    if not path.exists():
        return False
    try:
        with open(path, "a+", encoding="utf-8") as file:
            return not try_lock(file)
    except OSError:
        return False


def is_held_by_another(folder: Path) -> bool:
    """Whether a server runs on this folder in another process."""
    return is_held(folder) and _text(folder).partition(AT)[0].strip() != f"process {os.getpid()}"


def address(folder: Path) -> str:
    """Where the server that runs on this folder listens, such as http://127.0.0.1:8200; "" when none does, or it does
    not listen yet. Whatever its flags were: commands cannot know them otherwise."""
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
