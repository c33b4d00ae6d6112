"""Moves libraries that the executable unpacks late (server/late_files.py) out of what PyInstaller packs, into two
archives with the same bytes at each build.

Libraries are moved only on Linux, where Python finds them by their location. Elsewhere their packages search for them
before they are imported, or signatures are checked."""

import sys
import zipfile
from collections.abc import Iterable
from pathlib import Path

from server import late_files

Entry = tuple[str, str, str]

TIME = (1980, 1, 1, 0, 0, 0)
ZONES_PACKAGE = "tzdata"


def split(entries: Iterable[Entry]) -> tuple[list[Entry], list[Entry]]:
    """Splits entries (name inside, file, kind) into those that PyInstaller packs as usual and those of the archive."""
    entries = list(entries)
    late = [each for each in entries if _is_late(each)]
    return [each for each in entries if each not in late], late


def _is_late(entry: Entry) -> bool:
    name, _, kind = entry
    name = Path(name).as_posix()
    if name.startswith(tuple(f"{folder}/" for folder in late_files.FOLDERS)):
        return True
    package = name.partition("/")[0].removesuffix(".libs")
    return sys.platform == "linux" and package in late_files.PACKAGES and kind in ("BINARY", "EXTENSION")


def archive(entries: Iterable[Entry], file: Path) -> Entry:
    """Writes an archive of the entries and returns the entry of the archive."""
    with zipfile.ZipFile(file, "w") as archived:
        for name, source, _ in sorted(entries):
            info = zipfile.ZipInfo(Path(name).as_posix(), TIME)
            info.external_attr = 0o600 << 16
            archived.writestr(info, Path(source).read_bytes(), zipfile.ZIP_DEFLATED, 9)
    return file.name, str(file), "DATA"


def zones(file: Path) -> Entry:
    """Writes the archive of the time zone package and returns its entry."""
    folder = Path(__import__(ZONES_PACKAGE).__file__).parent
    found = [each for each in folder.rglob("*") if each.is_file() and each.suffix != ".pyc"]
    return archive([(str(Path(ZONES_PACKAGE) / each.relative_to(folder)), str(each), "DATA") for each in found], file)
