"""Builds dist/helpdesk, the one-file executable, and prints its size and SHA-256.

Run by `make dist`. The hash seed and the time stamps are fixed, so that the same commit built twice on the same machine
gives the same bytes. Does not test what it built: that is build/smoke.py.
"""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
SCRATCH = ROOT / ".work" / "pyinstaller"
FIXED_TIME = "1767225600"  # 2026-01-01, for a source folder without history


def main() -> None:
    """Build, then report. Exits with PyInstaller's code when that fails."""
    command = [
        *(sys.executable, "-m", "PyInstaller", str(ROOT / "helpdesk.spec"), "--noconfirm", "--clean"),
        *("--log-level", "WARN", "--distpath", str(DIST), "--workpath", str(SCRATCH)),
    ]
    environment = {**os.environ, "PYTHONHASHSEED": "0", "SOURCE_DATE_EPOCH": commit_time()}
    code = subprocess.run(command, cwd=ROOT, env=environment).returncode
    if code:
        raise SystemExit(code)
    report(DIST / ("helpdesk.exe" if os.name == "nt" else "helpdesk"))


def commit_time() -> str:
    """Unix seconds of the last commit, as text; a fixed time where there is no git."""
    command = ["git", "log", "-1", "--format=%ct"]
    try:
        told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return FIXED_TIME
    return told.stdout.strip() or FIXED_TIME


def report(executable: Path) -> None:
    """One line: path, size in MiB, SHA-256."""
    content = executable.read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    print(f"{executable.relative_to(ROOT)}  {len(content) / 2**20:.1f} MiB  sha256 {digest}")


if __name__ == "__main__":
    main()
