"""Mails that could not be stored, as files in the data folder: to be inspected, and imported once the cause is gone."""

import hashlib
import os
import re
from pathlib import Path

from server.dataclass import dataclass
from server.errors import Full, NotFound, Unavailable
from server.settings import Settings

FOLDER = "failed-mail"  # folder below the data folder
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]")
WHY = ".why"  # ending of the file next to a mail with the reason why it was not stored
KEY_CHARACTERS = 24
MAX_WHY_CHARACTERS = 2000  # read from such a file
MAX_NAME_CHARACTERS = 120  # length of a file name without its ending


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A mail that was set aside. key: its id in URLs. at: when it was set aside, Unix seconds. why: the reason, "" if
    unknown."""

    key: str
    name: str
    at: int
    bytes: int
    why: str


def keep(settings: Settings, name: str, raw: bytes, why: str = "") -> str:
    """Writes a mail to a file, synced to disk, and returns its path within the data folder. The same name is the same
    file. why: the reason. Raises Full if it cannot be written."""
    path = Path(FOLDER) / f"{_UNSAFE.sub('_', name)[:MAX_NAME_CHARACTERS]}.eml"
    whole = Path(settings.data) / path
    part = whole.with_suffix(".part")
    try:
        whole.parent.mkdir(mode=0o700, exist_ok=True)
        with part.open("wb") as file:
            file.write(raw)
            file.flush()
            os.fsync(file.fileno())
        whole.with_suffix(WHY).write_text(why, "utf-8")
        part.replace(whole)
        _sync(whole.parent)
    except OSError as error:
        raise Full(
            f"an email that could not be processed cannot be stored in {whole.parent} ({error.strerror}); check the "
            f"disk"
        ) from error
    return path.as_posix()


def list_dead_letters(settings: Settings) -> list[DeadLetter]:
    """The mails that were set aside, the newest first. Raises Unavailable if the folder cannot be read."""
    folder = Path(settings.data) / FOLDER
    try:
        letters = [letter for each in folder.glob("*.eml") if (letter := _letter(each)) is not None]
    except OSError as error:
        raise Unavailable(f"{folder} cannot be read ({error.strerror}); check it") from error
    return sorted(letters, key=lambda each: (-each.at, each.name))


def exist(settings: Settings) -> bool:
    """Whether there are such mails."""
    return next((Path(settings.data) / FOLDER).glob("*.eml"), None) is not None


def find(settings: Settings, key: str) -> DeadLetter:
    """The mail with a key. Raises NotFound."""
    for each in list_dead_letters(settings):
        if each.key == key:
            return each
    raise NotFound("this email is no longer stored: it was processed or discarded")


def path_of(settings: Settings, letter: DeadLetter) -> Path:
    """The file of a mail."""
    return Path(settings.data) / FOLDER / letter.name


def note(settings: Settings, letter: DeadLetter, why: str) -> None:
    """Stores the reason of another failure. Raises Full if it cannot be written."""
    path = path_of(settings, letter).with_suffix(WHY)
    try:
        path.write_text(why, "utf-8")
    except OSError as error:
        raise Full(f"{path} cannot be written ({error.strerror}); check the disk") from error


def remove(settings: Settings, letter: DeadLetter) -> None:
    """Deletes a mail. Raises Unavailable if its file cannot be removed."""
    path = path_of(settings, letter)
    try:
        path.unlink(missing_ok=True)
        path.with_suffix(WHY).unlink(missing_ok=True)
    except OSError as error:
        raise Unavailable(f"{path} cannot be removed ({error.strerror}); check it") from error


def _letter(path: Path) -> DeadLetter | None:
    """Returns None for a mail that was imported or discarded since it was listed."""
    why = path.with_suffix(WHY)
    try:
        status = path.stat()
        reason = why.read_text("utf-8", "replace")[:MAX_WHY_CHARACTERS] if why.exists() else ""
    except FileNotFoundError:
        return None
    key = hashlib.sha256(path.name.encode()).hexdigest()[:KEY_CHARACTERS]
    return DeadLetter(key, path.name, int(status.st_mtime), status.st_size, reason)


def _sync(folder: Path) -> None:
    """Syncs the folder, so that the name of a new file is on disk too. Some systems cannot open folders."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
