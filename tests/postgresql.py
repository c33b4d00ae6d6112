"""A PostgreSQL server for one run of the tests, on a private socket: `make test ARGS=--store=postgresql`.

`python -m tests.postgresql FOLDER` runs it until standard input closes, so it ends however its parent ends; then it
stops the server and removes the folder. Its data is disposable: files are not synced."""

import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
USER, UNPRIVILEGED = "helpdesk", "nobody"
MAX_SOCKET_PATH = 100  # bytes in the name of a socket, with some to spare
SETTINGS = {
    "listen_addresses": "''",
    "max_connections": "400",
    "shared_buffers": "64MB",
    "fsync": "off",
    "synchronous_commit": "off",  # the store sets stronger values itself
    "full_page_writes": "off",
    "autovacuum": "off",
    "jit": "off",
    "max_wal_size": "2GB",
    "checkpoint_timeout": "1h",
    "log_min_messages": "fatal",
}


def programs() -> Path:
    """The folder of PostgreSQL's programs: the newest of Debian's, or the one on PATH. Raises SystemExit without
    one."""
    newest = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda each: int(each.parts[-3]))
    found = str(newest[-1]) if newest else shutil.which("postgres")
    if found is None:
        raise SystemExit("install postgresql: its programs are neither on PATH nor in /usr/lib/postgresql")
    return Path(found).resolve().parent


def as_unprivileged() -> dict[str, Any]:
    """Options for subprocess: PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return {}
    user = pwd.getpwnam(UNPRIVILEGED)
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


def folder_for(name: str) -> Path:
    """A new folder that PostgreSQL's user can reach, with a name short enough for a socket."""
    work = ROOT / ".work"
    work.mkdir(exist_ok=True)
    is_reached = os.geteuid() != 0 or all(each.stat().st_mode & 1 for each in (work, *work.parents))
    is_short = len(os.fsencode(work)) + len(name) + 40 < MAX_SOCKET_PATH
    made = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=work if is_reached and is_short else None))
    given = as_unprivileged()
    if given:
        os.chown(made, given["user"], given["group"])
    return made


class Cluster:
    """A PostgreSQL server in a folder. settings: lines of postgresql.conf."""

    def __init__(self, folder: Path, **settings: str) -> None:
        self.folder = folder
        self.data = folder / "data"
        self.process: subprocess.Popen[bytes] | None = None
        self._programs = programs()
        self._settings = {**SETTINGS, "unix_socket_directories": f"'{folder}'", **settings}

    def address(self, database: str) -> str:
        return f"postgresql://{USER}@/{database}?host={self.folder}"

    def run(self, program: str, *arguments: str) -> None:
        """Runs one of PostgreSQL's programs. Raises SystemExit with its output if it fails."""
        done = subprocess.run(
            [self._programs / program, *arguments], capture_output=True, cwd=self.folder, **as_unprivileged()
        )
        if done.returncode:
            raise SystemExit(f"{program} failed: {(done.stderr or done.stdout).decode()}")

    def make(self) -> None:
        """Creates the files of the server."""
        self.run("initdb", "--pgdata", str(self.data), "--username", USER, "--encoding", "UTF8",
                 "--locale", "C.UTF-8", "--auth", "trust", "--no-sync")  # fmt: skip

    def start(self) -> None:
        """Starts the server; it accepts connections when this returns."""
        told = [part for name, value in self._settings.items() for part in ("-c", f"{name}={value.strip(chr(39))}")]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [self._programs / "postgres", "-D", self.data, *told], stdin=subprocess.DEVNULL, stdout=log,
                stderr=log, cwd=self.folder, start_new_session=True, **as_unprivileged(),
            )  # fmt: skip
        self.run("pg_ctl", "status", "--pgdata", str(self.data)) if self._is_ready() else self._refused()

    def _is_ready(self) -> bool:
        assert self.process is not None
        asked = [self._programs / "psql", "-qXAt", "-h", self.folder, "-U", USER, "-d", "postgres", "-c", "SELECT 1"]
        while self.process.poll() is None:
            if subprocess.run(asked, capture_output=True).returncode == 0:
                return True
        return False

    def _refused(self) -> None:
        raise SystemExit(f"PostgreSQL did not start: {(self.folder / 'log').read_text()[-2000:]}")

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """Stops the server. SIGINT closes its connections first; SIGQUIT stands for a failure of the machine."""
        if self.process is not None:
            if self.process.poll() is None:
                self.process.send_signal(how)
            self.process.wait(60)
            self.process = None

    def kill(self) -> None:
        """Kills all its processes with SIGKILL, as if the machine were lost."""
        assert self.process is not None
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        self.process.kill()
        for each in children:
            with suppress(ProcessLookupError):
                os.kill(int(each), signal.SIGKILL)
        self.stop()

    def copy(self, of: "Cluster") -> None:
        """Creates the files of a streaming replica of a running server."""
        self.run("pg_basebackup", "--pgdata", str(self.data), "--host", str(of.folder), "--username", USER,
                 "--write-recovery-conf", "--checkpoint=fast", "--no-sync")  # fmt: skip

    def promote(self) -> None:
        """Promotes a replica; it accepts writes when this returns."""
        self.run("pg_ctl", "promote", "--pgdata", str(self.data))

    def remove(self) -> None:
        self.stop(signal.SIGQUIT)
        shutil.rmtree(self.folder, ignore_errors=True)


class Guarded:
    """A cluster that is stopped and removed when this process ends, for whatever reason."""

    def __init__(self) -> None:
        self.folder = folder_for("pg")
        self._guard = subprocess.Popen(
            [sys.executable, "-m", "tests.postgresql", str(self.folder)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT, start_new_session=True,
        )  # fmt: skip
        assert self._guard.stdout is not None
        self.address = self._guard.stdout.readline().decode().strip()
        if not self.address:
            raise SystemExit("PostgreSQL for the tests did not start; what it said stands above")

    def stop(self) -> None:
        assert self._guard.stdin is not None
        self._guard.stdin.close()
        self._guard.wait(300)  # its last checkpoint takes long on a busy disk


def _guard(folder: Path) -> None:
    cluster = Cluster(folder)
    try:
        cluster.make()
        cluster.start()
        print(cluster.address("postgres"), flush=True)
        sys.stdin.buffer.read()
    finally:
        cluster.remove()


if __name__ == "__main__":
    _guard(Path(sys.argv[1]))
