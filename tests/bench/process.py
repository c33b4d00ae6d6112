"""Servers under measurement: started, asked which port they got, looked at from outside, stopped."""

import os
import re
import signal
import subprocess
import time
from pathlib import Path
from types import TracebackType

ROOT = Path(__file__).resolve().parent.parent.parent
STOP_SECONDS = 15


class Server:
    """A child process that prints `listening on http://HOST:PORT`. Use it in `with`; it is stopped at the end."""

    def __init__(self, command: list[str], log: Path, **env: str) -> None:
        """log: file for what the process writes to standard error. env: further variables of its environment.

        Raises SystemExit when it ends before it listens."""
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

    def memory_kib(self) -> int:
        """Resident memory now. Linux only."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        found = re.search(r"^VmRSS:\s+(\d+) kB", status, re.MULTILINE)
        return int(found[1]) if found else 0

    def cpu_seconds(self) -> float:
        """Processor time so far. Linux only."""
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
