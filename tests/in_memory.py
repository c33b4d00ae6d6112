"""Puts the folders of the tests into memory: on a disk each commit waits for it, and costs ten times as much processor
time."""

import os
from pathlib import Path

MEMORY, ROOTS = Path("/dev/shm"), "PYTEST_DEBUG_TEMPROOT"
NEEDED_BYTES = 4 << 30


def use_memory() -> None:
    """Sets the place of all temporary folders of pytest, unless memory is scarce or the caller has chosen a place."""
    if MEMORY.is_dir() and _room() >= NEEDED_BYTES:
        os.environ.setdefault(ROOTS, str(MEMORY))


def _room() -> int:
    """Bytes that fit into the file system and into memory; 0 if it runs no programs, which some tests write."""
    system = os.statvfs(MEMORY)
    if system.f_flag & os.ST_NOEXEC:
        return 0
    lines = Path("/proc/meminfo").read_text("ascii").splitlines()
    available = next((int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:")), 0)
    return min(system.f_bavail * system.f_frsize, available)
