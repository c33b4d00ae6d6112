"""One server to a data folder: a lock on a file in it, which the system releases when the process ends."""

import os
from pathlib import Path
from typing import IO

from server.errors import Damaged

NAME = "helpdesk.lock"


class FolderLock:
    """Held from `take` until `release`. The file names the holder for the one who is refused."""

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
            holder = file.read(200).strip() or "another process"
            file.close()
            raise Damaged(f"{self._path.parent} is used by a running server ({holder}); stop it first")
        file.seek(0)
        file.truncate()
        file.write(f"process {os.getpid()}")
        file.flush()
        os.chmod(self._path, 0o600)
        self._file = file

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
