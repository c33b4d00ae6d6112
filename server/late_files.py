"""Unpacks parts of the executable on demand. Everything else is written to a temporary folder at each start; these
parts, a thousand files and rarely used libraries, would take longer than the start itself.

build/late_archive.py creates the archives. Without them, as in a checkout, this module does nothing. PyInstaller, which
packs the executable, unpacks all files or none."""

import importlib
import os
import stat
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import ModuleType

ARCHIVE = "late.zip"  # in the folder of the unpacked executable
ZONES = "tzdata.zip"  # time zone data, read in place, on systems without it
# Packages with libraries that the first response does not need; the archive has the layout of the folder.
PACKAGES = frozenset(("charset_normalizer", "cryptography", "nh3", "psycopg_binary", "re2", "yaml"))
FOLDERS = ("console", "resources/completions", "resources/demo", "resources/help")
FOLDER = "_MEI*"  # PyInstaller's, in the temporary folder
HELD = "helpdesk.running"  # locked as long as the program of the folder runs
_unpacked: set[str] = set()
_lock = threading.Lock()


def install() -> None:
    """Installs the finder."""
    folder = _folder()
    if folder is None:
        return
    _hold(folder)
    if (folder / ARCHIVE).is_file():
        sys.meta_path.insert(0, _LateFinder())
    if (folder / ZONES).is_file():
        sys.path.append(str(folder / ZONES))


def unpack(name: str) -> None:
    """Unpacks a package of PACKAGES, or one of FOLDERS, if it is in the archive."""
    if name in _unpacked:
        return
    folder = _folder()
    with _lock:
        if folder is not None and name not in _unpacked and (folder / ARCHIVE).is_file():
            import zipfile  # rarely needed at a start

            with zipfile.ZipFile(folder / ARCHIVE) as archive:
                mine = (f"{name}/", f"{name}.libs/")
                archive.extractall(folder, [each for each in archive.namelist() if each.startswith(mine)])
            importlib.invalidate_caches()
        _unpacked.add(name)


class _LateFinder:
    """Unpacks the libraries of a package before the next finder looks for it."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> None:
        package = name.partition(".")[0]
        if package in PACKAGES and package not in _unpacked:
            unpack(package)


def _folder() -> Path | None:
    folder = getattr(sys, "_MEIPASS", None)
    return None if folder is None else Path(folder)


def _hold(folder: Path) -> None:
    """Locks a file in the folder until the process ends. It is renamed once it is locked, so that a starting program
    does not look like a killed one."""
    if hasattr(os, "geteuid"):  # Windows cannot remove open files
        import fcntl

        with suppress(OSError):
            handle = os.open(folder / f"{HELD}.new", os.O_CREAT | os.O_RDWR, 0o600)  # never closed
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.rename(folder / f"{HELD}.new", folder / HELD)


def remove_left_folders() -> None:
    """Removes the folders of killed executables."""
    own = _folder()
    if own is None:
        return
    for each in own.parent.glob(FOLDER):
        if each != own:
            with suppress(OSError):
                _remove_left(each)


def _remove_left(folder: Path) -> None:
    if hasattr(os, "geteuid"):
        import fcntl
        import shutil

        status = os.lstat(folder)
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
            return
        handle = os.open(folder / HELD, os.O_RDWR | os.O_NOFOLLOW)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder)  # does not follow links
        finally:
            os.close(handle)
