"""Python's own libraries without the symbols that only debuggers read: a Python built from source keeps them, and they
are most of what the executable would unpack at each start.

Not for libraries inside packages: some of those are broken by it."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

Entry = tuple[str, str, str]


def without(entries: Iterable[Entry], folder: Path) -> list[Entry]:
    """The entries (name inside, file, kind) of an executable, with copies in `folder` for what is Python's own.

    As they were where there is no `strip`, and on systems where it does something else or signatures would break."""
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
    done = subprocess.run(["strip", "--strip-unneeded", "-o", str(copy), file], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"strip failed on {file}: {done.stderr.strip()}")
    return name, str(copy), kind
