"""Strips Python's own libraries of the symbols that only debuggers read. A Python built from source includes them, and
they are most of what the executable would unpack at each start.

Libraries inside packages are left as they are, because stripping breaks some of them."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

Entry = tuple[str, str, str]


def without(entries: Iterable[Entry], folder: Path) -> list[Entry]:
    """Returns the entries (name inside, file, kind) of an executable, with stripped copies of Python's own libraries.

    folder: for the copies. Returns the entries unchanged where there is no `strip`, and on systems where it works
    differently or breaks signatures."""
    if sys.platform != "linux" or shutil.which("strip") is None:
        return list(entries)
    folder.mkdir(parents=True, exist_ok=True)
    return [_stripped(entry, folder) if _is_python(Path(entry[1])) else entry for entry in entries]


def _is_python(file: Path) -> bool:
    modules = Path(os.__file__).parent / "lib-dynload"  # not by sysconfig, which names a folder of the environment
    return file.name.startswith("libpython3") or file.resolve().is_relative_to(modules.resolve())


def _stripped(entry: Entry, folder: Path) -> Entry:
    name, file, kind = entry
    copy = folder / Path(file).name
    completed = subprocess.run(["strip", "--strip-unneeded", "-o", str(copy), file], capture_output=True, text=True)
    if completed.returncode:
        raise SystemExit(f"strip failed on {file}: {completed.stderr.strip()}")
    return name, str(copy), kind
