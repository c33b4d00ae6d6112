"""`python -m tests.zygote`: imports the whole program and forks for each process that a test starts.

Each process of the program spends half a second of CPU time before it does anything, nearly all of it on imports, and
the tests start hundreds. A forked process has the arguments, environment, folder and files that it would have been
started with; when its parent ends it becomes a child of the test process, which is a subreaper. Outside Linux, and for
callers that need other options, processes are started in the ordinary way."""

import atexit
import ctypes
import gc
import importlib
import inspect
import json
import os
import re
import runpy
import secrets
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
MAX_REQUEST = 1 << 20
SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER
CAN_FORK = sys.platform == "linux"
# What a service imports on first use, as many never need it. Among the tests, each is needed by hundreds of processes.
IMPORTED_LATE = (
    "bleach.callbacks", "bleach.linkifier", "cryptography.hazmat.primitives.ciphers.aead", "dns.query", "dns.resolver",
    "mistune", "nh3", "polib", "server.automation.checker", "server.automation.package_grants",
    "tests.cheap", "tests.composed_anew",
)  # fmt: skip

_turn = threading.Lock()


class Forked(subprocess.Popen[bytes]):
    """subprocess.Popen of `python -m MODULE ...`, forked instead of started. args: the module and its arguments."""

    def _execute_child(self, *given: Any) -> None:
        asked = inspect.signature(subprocess.Popen._execute_child).bind(self, *given).arguments  # type: ignore[attr-defined]
        names = ("p2cread", "c2pwrite", "errwrite")
        files = [asked[name] if asked[name] != -1 else standard for standard, name in enumerate(names)]
        request = {"args": list(map(str, asked["args"])), "env": dict(asked["env"]), "cwd": str(asked["cwd"])}
        with _turn:  # threads that start processes at once would get the ids of each other's
            line = _zygote()
            socket.send_fds(line, [json.dumps(request).encode()], files)
            self.pid = int(line.recv(64))
        self._child_created = True
        ends = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")
        self._close_pipe_fds(*(asked[name] for name in ends))  # type: ignore[attr-defined]


def run(args: Sequence[str], *, input: bytes | None, env: Mapping[str, str], timeout: float
        ) -> subprocess.CompletedProcess[bytes]:  # fmt: skip
    """subprocess.run for Forked, with captured output."""
    stdin = subprocess.PIPE if input is not None else None
    with Forked(args, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env, cwd=ROOT) as process:
        try:
            out, errors = process.communicate(input, timeout)
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(list(args), process.returncode, out, errors)


@cache
def _zygote() -> socket.socket:
    """The connection to the zygote of this process, which is started on first use."""
    ctypes.CDLL(None).prctl(SUBREAPER, 1)
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with its:
        subprocess.Popen([sys.executable, "-m", "tests.zygote", str(its.fileno())], pass_fds=[its.fileno()], cwd=ROOT)
    atexit.register(ours.close)
    return ours


# -- in the zygote -----------------------------------------------------------------------------------------------------


def _prepare() -> None:
    from server import late_pattern

    late_pattern.late_pattern = re.compile  # now, in place of once in each process

    from console.html import templates
    from console.html.environment import TEMPLATES
    from console.http import routes
    from server import app, warming
    from server.cli import commands
    from server.record_types import registry
    from server.store import sqlite
    from server.times.zones import zone
    from tests.rehearsal import rehearse

    commands.parser()
    routes.load()
    app.endpoints()
    app.tables_of(*app.ROOMS)
    for name in IMPORTED_LATE:
        importlib.import_module(name)
    for template in TEMPLATES.rglob("*.html"):
        templates.template(template.relative_to(TEMPLATES).as_posix())
    service = rehearse()
    statements, compose = service.store.statements, sqlite.SQLITE_COMPOSER.statement
    registry.load = _first(service.registry, registry.load)
    sqlite.StatementCache = _first(statements, sqlite.StatementCache, compose)  # type: ignore[misc]
    warming.warm(lambda: False)
    commands.parser = _first(commands.parser("serve"), commands.parser, "serve")  # type: ignore[assignment]
    zone("UTC")  # scans the system for all time zones
    gc.collect()
    gc.freeze()  # otherwise each process would collect all of it, and copy its pages
    gc.get_freeze_count = int  # type: ignore[assignment]  # a service counts and unfreezes those of one before it


def _first(result: Any, create: Callable[..., Any], *arguments: Any) -> Callable[..., Any]:
    """The same function, whose first call with these arguments returns this result: each process has a copy of its
    own."""
    results = [result]

    def created(*given: Any) -> Any:
        return results.pop() if results and given == arguments else create(*given)

    return created


def _serve(line: socket.socket) -> dict[str, Any] | None:
    """Forks for each request. Returns the task in a forked process, None in the zygote once its tester is gone."""
    while True:
        text, files, _, _ = socket.recv_fds(line, MAX_REQUEST, 3)
        if not text:
            return None
        reading, writing = os.pipe()
        between = os.fork()
        if between:
            for each in (*files, writing):
                os.close(each)
            os.waitpid(between, 0)  # from now on its child belongs to the tester, which may wait for it
            line.send(os.read(reading, 64))
            os.close(reading)
            continue
        pid = os.fork()
        if pid:
            os.write(writing, str(pid).encode())
            os._exit(0)
        os.close(reading)
        os.close(writing)
        for standard, each in enumerate(files):
            os.dup2(each, standard)
            os.close(each)
        line.close()
        request: dict[str, Any] = json.loads(text)
        return request


def _become(request: dict[str, Any]) -> None:
    from server.jobs import job_queue
    from server.web import site

    # Values that distinguish processes are created when these are imported.
    job_queue._run_name, site._PROCESS = secrets.token_hex(6), secrets.token_hex(3)
    module, *sys.argv[1:] = request["args"]
    os.environ.clear()
    os.environ.update(request["env"])
    os.chdir(request["cwd"])
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            _end(end.code or 0)
        raise


def _end(code: int) -> None:
    """Ends the process as the interpreter does, without the destruction of all objects: that would copy their pages,
    which takes longer than most commands."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code & 0xFF)


if __name__ == "__main__":
    _prepare()
    asked = _serve(socket.socket(fileno=int(sys.argv[1])))
    if asked is not None:
        _become(asked)
