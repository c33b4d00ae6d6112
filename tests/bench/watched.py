"""The service, watched from within: how long one step has held its event loop, and one write its writer.

    BENCH_WATCH=/tmp/a.socket python -m tests.bench.watched serve --port 0 ...

runs a command of the program in this process. Whoever connects to that socket gets the longest holds since somebody
asked last, as JSON; see Holds. Nothing of this is in the program itself, so it costs nothing where nobody measures."""

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

SOCKET = "BENCH_WATCH"  # the variable that names it
SECONDS = 30  # that an answer may take


@dataclass
class Hold:
    """Two holds, which may be one: cpu_ms, the longest by the processor time of its thread, which other programs do not
    lengthen, in the function `what`; ms, the longest of all, in `waited`."""

    cpu_ms: float = 0.0
    what: str = ""
    ms: float = 0.0
    waited: str = ""

    def longer(self, other: "Hold") -> "Hold":
        """The longest of both."""
        used = max(self, other, key=lambda each: each.cpu_ms)
        passed = max(self, other, key=lambda each: each.ms)
        return Hold(used.cpu_ms, used.what, passed.ms, passed.waited)


@dataclass
class Holds:
    """The longest ones."""

    loop: Hold = field(default_factory=Hold)
    writer: Hold = field(default_factory=Hold)


def ask(path: Path) -> Holds:
    """The longest holds since this was asked last."""
    with socket.socket(socket.AF_UNIX) as asking:
        asking.settimeout(SECONDS)
        asking.connect(str(path))
        told = json.loads(b"".join(iter(lambda: asking.recv(1 << 16), b"")))
    return Holds(Hold(**told["loop"]), Hold(**told["writer"]))


def longer(one: Holds, other: Holds) -> Holds:
    """The longest of both."""
    return Holds(one.loop.longer(other.loop), one.writer.longer(other.writer))


class Watch:
    """Measures what one thread does."""

    def __init__(self) -> None:
        self._longest = Hold()

    def around(self, run: Callable[..., Any], name: Callable[..., str]) -> Callable[..., Any]:
        """`run`, measured. name: what it runs, by the same arguments; asked for a longer hold alone."""

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
        """The longest hold so far; begin anew."""
        taken, self._longest = self._longest, Hold()
        return taken


def _of_handle(handle: Any) -> str:
    """A step of a task is called after its coroutine."""
    callback = handle._callback
    if callback is None:  # cancelled meanwhile
        return "?"
    task = getattr(callback, "__self__", None)
    return _name(task.get_coro() if isinstance(task, asyncio.Task) else callback)


def _of_write(writer: object, write: Any, transaction: object) -> str:
    return _name(write)


def _name(what: Any) -> str:
    what = getattr(what, "func", what)  # of a partial
    return str(getattr(what, "__qualname__", type(what).__qualname__))


def _answer(listener: socket.socket, loop: Watch, writer: Watch) -> None:
    while True:
        asked, _ = listener.accept()
        with asked:
            asked.sendall(json.dumps(asdict(Holds(loop.take(), writer.take()))).encode())


def main() -> int:
    """Watch, and run the command."""
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
