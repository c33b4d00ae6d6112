"""Mails that nobody can take, as files in the data folder: to be looked at, and imported once the cause is gone."""

import os
import re
from pathlib import Path

from server.errors import Full, Unavailable
from server.settings import Settings

FOLDER = "failed-mail"  # in the data folder
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]")
MAX_NAME_CHARACTERS = 120  # of a file, before its ending


def keep(settings: Settings, name: str, raw: bytes) -> str:
    """Write a mail to a file, which is on disk when this returns; answers its path within the data folder. The same
    name is the same file. Raises Full when it cannot be written."""
    path = Path(FOLDER) / f"{_UNSAFE.sub('_', name)[:MAX_NAME_CHARACTERS]}.eml"
    whole = Path(settings.data) / path
    part = whole.with_suffix(".part")
    try:
        whole.parent.mkdir(mode=0o700, exist_ok=True)
        with part.open("wb") as file:
            file.write(raw)
            file.flush()
            os.fsync(file.fileno())
        part.replace(whole)
        _sync(whole.parent)
    except OSError as error:
        raise Full(
            f"a mail that could not be taken cannot be kept in {whole.parent} ({error.strerror}); check the disk"
        ) from error
    return path.as_posix()


def names(settings: Settings) -> list[str]:
    """The files of mails that were kept, the newest first. Raises Unavailable when the folder cannot be read."""
    folder = Path(settings.data) / FOLDER
    try:
        found = [(each.stat().st_mtime, each.name) for each in folder.glob("*.eml")]
    except OSError as error:
        raise Unavailable(f"{folder} cannot be read ({error.strerror}); check it") from error
    return [name for _, name in sorted(found, reverse=True)]


def _sync(folder: Path) -> None:
    """The name of a new file is on disk, too. Not everywhere can a folder be opened."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
