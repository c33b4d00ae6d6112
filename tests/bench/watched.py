"""The service, observed from within: the longest step on its event loop, and the longest write on its writer.

    BENCH_WATCH=/tmp/a.socket python -m tests.bench.watched serve --port 0 ...

runs a command of the program in this process. A client of that socket gets the longest holds since the last
query, as JSON; see Holds. The program itself contains none of this, so it costs nothing when not measured."""

import asyncio
import json
import os
import socket
import sys
import threading
import time
from asyncio.events import Handle
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

SOCKET = "BENCH_WATCH"  # environment variable with the path of the socket
SECONDS = 30  # longest wait for a response


@dataclass
class Hold:
    """Two holds, which may be the same: cpu_ms, the longest by the processor time of its thread, which other
    programs do not lengthen, in the function `what`; ms, the longest by elapsed time, in `waited`."""

    cpu_ms: float = 0.0
    what: str = ""
    ms: float = 0.0
    waited: str = ""

    def longer(self, other: "Hold") -> "Hold":
        """Returns the longest of both."""
        used = max(self, other, key=lambda each: each.cpu_ms)
        passed = max(self, other, key=lambda each: each.ms)
        return Hold(used.cpu_ms, used.what, passed.ms, passed.waited)


@dataclass
class Holds:
    """The longest holds of the event loop and the writer."""

    loop: Hold = field(default_factory=Hold)
    writer: Hold = field(default_factory=Hold)


def ask(path: Path) -> Holds:
    """Returns the longest holds since the last query."""
    with socket.socket(socket.AF_UNIX) as asking:
        asking.settimeout(SECONDS)
        asking.connect(str(path))
        told = json.loads(b"".join(iter(lambda: asking.recv(1 << 16), b"")))
    return Holds(Hold(**told["loop"]), Hold(**told["writer"]))


def longer(one: Holds, other: Holds) -> Holds:
    """Returns the longest of both."""
    return Holds(one.loop.longer(other.loop), one.writer.longer(other.writer))


class Watch:
    """Measures the steps of one thread."""

    def __init__(self) -> None:
        self._longest = Hold()

    def around(self, run: Callable[..., Any], name: Callable[..., str]) -> Callable[..., Any]:
        """Wraps `run` with a measurement. name: returns what it runs, from the same arguments; called only for a new
        longest hold."""

        def measured(*given: Any) -> Any:
            began, used = time.perf_counter(), time.thread_time()
            try:
                return run(*given)
            finally:
                ms, cpu_ms = (time.perf_counter() - began) * 1000, (time.thread_time() - used) * 1000
                if ms > self._longest.ms or cpu_ms > self._longest.cpu_ms:
                    what = name(*given)
                    self._longest = self._longest.longer(Hold(cpu_ms, what, ms, what))

        return measured

    def take(self) -> Hold:
        """Returns the longest hold so far, and resets it."""
        taken, self._longest = self._longest, Hold()
        return taken


def _of_handle(handle: Any) -> str:
    """Returns the name of a handle; a step of a task is named after its coroutine."""
    callback = handle._callback
    if callback is None:  # cancelled in the meantime
        return "?"
    task = getattr(callback, "__self__", None)
    return _name(task.get_coro() if isinstance(task, asyncio.Task) else callback)


def _of_write(writer: object, write: Any, transaction: object) -> str:
    return _name(write)


def _name(what: Any) -> str:
    what = getattr(what, "func", what)  # a partial
    return str(getattr(what, "__qualname__", type(what).__qualname__))


def _answer(listener: socket.socket, loop: Watch, writer: Watch) -> None:
    while True:
        asked, _ = listener.accept()
        with asked:
            asked.sendall(json.dumps(asdict(Holds(loop.take(), writer.take()))).encode())


def main() -> int:
    """Installs the watches, and runs the command."""
    from server.__main__ import main as run
    from server.store.writer import Writer

    loop, writer = Watch(), Watch()
    Handle._run = loop.around(Handle._run, _of_handle)  # type: ignore[attr-defined]
    Writer._measured = writer.around(Writer._measured, _of_write)  # type: ignore[method-assign]
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(os.environ[SOCKET])
    listener.listen()
    threading.Thread(target=_answer, args=(listener, loop, writer), daemon=True).start()
    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
