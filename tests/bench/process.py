"""Servers under measurement: started, queried for their port, observed from outside, stopped."""

import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType

from tests.bench.watched import SOCKET, Holds, ask

ROOT = Path(__file__).resolve().parent.parent.parent
STOP_SECONDS = 15


class Server:
    """A child process that prints `listening on http://HOST:PORT`. A context manager that stops it at the end."""

    def __init__(self, command: list[str], log: Path, is_watched: bool = False, **env: str) -> None:
        """log: file for the standard error of the process. is_watched: whether the command is one of watched.py.
        env: further environment variables.

        Raises SystemExit if it ends before it listens."""
        self._folder = Path(tempfile.mkdtemp(prefix="bench-"))  # elsewhere the name of a socket may be too long
        self._watch = self._folder / "watch" if is_watched else None
        env |= {SOCKET: str(self._watch)} if is_watched else {}
        self.started_at = time.perf_counter()
        self.log = log
        with log.open("ab") as errors:
            self.process = subprocess.Popen(
                command, cwd=ROOT, stdout=subprocess.PIPE, stderr=errors, text=True, env=os.environ | env
            )
        try:
            self.port = self._port(command)
        except BaseException:
            self.process.kill()
            shutil.rmtree(self._folder)
            raise

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self._folder)

    def memory_kib(self) -> int:
        """Returns the resident memory. Linux only."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        found = re.search(r"^VmRSS:\s+(\d+) kB", status, re.MULTILINE)
        return int(found[1]) if found else 0

    def holds(self) -> Holds | None:
        """Returns the longest holds since the last call; None for a process that is not watched."""
        return ask(self._watch) if self._watch is not None else None

    def cpu_seconds(self) -> float:
        """Returns the processor time so far. Linux only."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def _port(self, command: list[str]) -> int:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            found = re.search(r"listening on http://\S+:(\d+)", line)
            if found:
                return int(found[1])
        code = self.process.wait()
        raise SystemExit(f"{' '.join(command)}\nended with code {code} before it listened; see {self.log}")
