"""Builds dist/helpdesk, the one-file executable, and dist/SHA256SUMS; prints size and SHA-256.

`make dist` runs it. Builds of the same commit with the same packages on the same machine are identical: the hash seed
and the time stamps are fixed, and files are packed in sorted order. --twice builds a second time, in another folder,
and fails if the executables differ. build/smoke.py tests the executable.
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
    """Builds, signs and reports. Exits with the code of PyInstaller if it fails."""
    options = argparse.ArgumentParser(description="Build the one-file executable dist/helpdesk.")
    options.add_argument("--twice", action="store_true", help="build again elsewhere, and fail if the builds differ")
    is_twice = options.parse_args().twice
    require_packages()
    executable = built(DIST, SCRATCH / "first")
    if is_twice:
        require_same(executable, built(SCRATCH / "again" / "dist", SCRATCH / "again"))
    sign(executable)
    report(executable)


def require_packages() -> None:
    """Raises SystemExit if the installed requirements differ from setup.py, because packages could be missing."""
    (wanted,) = [
        ast.literal_eval(node.value)
        for node in ast.walk(ast.parse((ROOT / "setup.py").read_text("utf-8")))
        if isinstance(node, ast.keyword) and node.arg == "install_requires"
    ]
    installed = [each for each in metadata.requires("helpdesk") or [] if "extra ==" not in each]
    if {Requirement(each) for each in installed} != {Requirement(each) for each in wanted}:
        raise SystemExit("the installed requirements differ from setup.py; run: make dist")


def built(folder: Path, scratch: Path) -> Path:
    """Runs PyInstaller and returns the path of the executable, which is in `folder`."""
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
    """Returns the Unix seconds of the last commit as text, or a fixed time without git."""
    command = ["git", "log", "-1", "--format=%ct"]
    try:
        git = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return FIXED_TIME
    return git.stdout.strip() or FIXED_TIME


def require_same(one: Path, other: Path) -> None:
    """Raises SystemExit if two builds differ."""
    if digest(one) != digest(other):
        raise SystemExit(f"two builds of the same source differ: {one} and {other}")
    print("two builds are identical")


def sign(executable: Path) -> None:
    """Signs the executable with the command in SIGN_WITH, such as signtool on Windows. For macOS, see helpdesk.spec."""
    command = shlex.split(os.environ.get("SIGN_WITH", ""), posix=os.name != "nt")
    if command and subprocess.run([*command, str(executable)]).returncode:
        raise SystemExit(f"{executable} is not signed, because the command in SIGN_WITH failed: {command[0]}")


def report(executable: Path) -> None:
    """Writes SHA256SUMS, and prints path, size and SHA-256. Raises SystemExit if the executable is too large."""
    size = executable.stat().st_size
    checksum = digest(executable)
    # No carriage returns, like sha256sum on every system.
    (executable.parent / SUMS).write_text(f"{checksum}  {executable.name}\n", "ascii", newline="\n")
    print(f"{executable.relative_to(ROOT)}  {size / 2**20:.1f} MiB  sha256 {checksum}")
    if size > MAX_EXECUTABLE_BYTES:
        raise SystemExit(f"{executable} has more than {MAX_EXECUTABLE_BYTES:,} bytes; check which files were added")


def digest(file: Path) -> str:
    """Returns the SHA-256 of a file as hexadecimal digits."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


if __name__ == "__main__":
    main()
