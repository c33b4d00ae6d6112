"""Builds dist/helpdesk, the one-file executable, and dist/SHA256SUMS; prints size and SHA-256.

Run by `make dist`. The same commit with the same packages, built again on the same machine, gives the same bytes: the
hash seed and the time stamps are fixed, and everything is packed in sorted order. --twice builds a second time, in
another folder, and fails when the bytes differ. Does not test what it built: that is build/smoke.py.
"""

import argparse
import ast
import hashlib
import os
import shlex
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement  # which PyInstaller needs

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
SCRATCH = ROOT / ".work" / "pyinstaller"
NAME = "helpdesk.exe" if os.name == "nt" else "helpdesk"
SUMS = "SHA256SUMS"  # in the format of sha256sum --check
FIXED_TIME = "1767225600"  # 2026-01-01, for a source folder without history
MAX_EXECUTABLE_BYTES = 40 * 2**20  # bytes; it is unpacked at every start


def main() -> None:
    """Build, then report. Exits with PyInstaller's code when that fails."""
    options = argparse.ArgumentParser(description="Build the one-file executable dist/helpdesk.")
    options.add_argument("--twice", action="store_true", help="build again elsewhere, and fail when the bytes differ")
    is_twice = options.parse_args().twice
    require_packages()
    executable = built(DIST, SCRATCH / "first")
    if is_twice:
        require_same(executable, built(SCRATCH / "again" / "dist", SCRATCH / "again"))
    sign(executable)
    report(executable)


def require_packages() -> None:
    """Raises SystemExit when what is installed is not what setup.py asks for: something would be left out unseen."""
    (wanted,) = [
        ast.literal_eval(node.value)
        for node in ast.walk(ast.parse((ROOT / "setup.py").read_text("utf-8")))
        if isinstance(node, ast.keyword) and node.arg == "install_requires"
    ]
    told = [each for each in metadata.requires("helpdesk") or [] if "extra ==" not in each]
    if {Requirement(each) for each in told} != {Requirement(each) for each in wanted}:
        raise SystemExit("setup.py asks for other packages than those that are installed; run: make dist")


def built(folder: Path, scratch: Path) -> Path:
    """Run PyInstaller; the executable, in `folder`."""
    shutil.rmtree(scratch, ignore_errors=True)
    command = [
        *(sys.executable, "-m", "PyInstaller", str(ROOT / "helpdesk.spec"), "--noconfirm", "--clean"),
        *("--log-level", "WARN", "--distpath", str(folder), "--workpath", str(scratch)),
    ]
    environment = {**os.environ, "PYTHONHASHSEED": "0", "SOURCE_DATE_EPOCH": commit_time()}
    code = subprocess.run(command, cwd=ROOT, env=environment).returncode
    if code:
        raise SystemExit(code)
    return folder / NAME


def commit_time() -> str:
    """Unix seconds of the last commit, as text; a fixed time where there is no git."""
    command = ["git", "log", "-1", "--format=%ct"]
    try:
        told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return FIXED_TIME
    return told.stdout.strip() or FIXED_TIME


def require_same(one: Path, other: Path) -> None:
    """Raises SystemExit when two builds differ."""
    if digest(one) != digest(other):
        raise SystemExit(f"two builds of the same source differ: {one} and {other}")
    print("built twice, with the same bytes")


def sign(executable: Path) -> None:
    """Run the command of SIGN_WITH on it, such as Windows' signtool. On macOS see helpdesk.spec too."""
    command = shlex.split(os.environ.get("SIGN_WITH", ""), posix=os.name != "nt")
    if command and subprocess.run([*command, str(executable)]).returncode:
        raise SystemExit(f"the command of SIGN_WITH failed, so {executable} is not signed: {command[0]}")


def report(executable: Path) -> None:
    """Write SHA256SUMS, and one line: path, size in MiB, SHA-256. Raises SystemExit when it is too large."""
    size = executable.stat().st_size
    found = digest(executable)
    # As sha256sum writes it on every system: no carriage returns.
    (executable.parent / SUMS).write_text(f"{found}  {executable.name}\n", "ascii", newline="\n")
    print(f"{executable.relative_to(ROOT)}  {size / 2**20:.1f} MiB  sha256 {found}")
    if size > MAX_EXECUTABLE_BYTES:
        raise SystemExit(f"{executable} has more than {MAX_EXECUTABLE_BYTES:,} bytes; look for what is new in it")


def digest(file: Path) -> str:
    """The SHA-256 of a file, as hexadecimal digits."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


if __name__ == "__main__":
    main()
