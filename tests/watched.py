"""`python -m tests.watched serve ...`: the server with additional checks. It responds with 500 if a handler reads a
parameter that its endpoint does not declare, or if a password is hashed on a thread that others wait for: the event
loop, the writer, the threads of the API and of the pages."""

import asyncio
import os
import runpy
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

from server import passwords
from server.store.transaction import Transaction
from server.store.writer import PendingWrite, Write, Writer
from server.web import rest_site
from server.web.form_data import Tree
from server.web.routes import Endpoint
from server.web.site import Request
from tests.cheap import cheap_hashes, cheap_proofs
from tests.composed_anew import composed_anew

Result = TypeVar("Result")
_parameters = rest_site.parameters


class WatchedTree(dict[str, Any]):
    """The parameters of one request, read by name; reading all of them at once is not checked."""

    def __init__(self, tree: Tree, each: Endpoint) -> None:
        super().__init__(tree)
        self._each = each

    def get(self, name: str, default: Any = None) -> Any:
        require_declared(self._each, name)
        return super().get(name, default)

    def __getitem__(self, name: str) -> Any:
        require_declared(self._each, name)
        return super().__getitem__(name)

    def __contains__(self, name: object) -> bool:
        require_declared(self._each, str(name))
        return super().__contains__(name)


def require_declared(each: Endpoint, name: str) -> None:
    """Raises AssertionError for a name that the endpoint does not declare."""
    assert each.takes(name), f"{each.method} {each.path} reads '{name}', which it does not declare"


def parameters(request: Request, each: Endpoint, most: int) -> Tree:
    """rest_site.parameters with the check."""
    return WatchedTree(_parameters(request, each, most), each)


def off_the_loop(slow: Callable[..., Result]) -> Callable[..., Result]:
    """The same function, which raises AssertionError on a thread that others wait for."""

    def watched(*arguments: Any) -> Result:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            name = threading.current_thread().name
            assert name != "writer", "a password is hashed by the writer"
            assert not name.startswith(("worker_", "console_")), "a password is hashed where pages are waited for"
            return slow(*arguments)
        raise AssertionError("a password is hashed on the event loop")

    return watched


def measured(submit: Callable[..., None], most_seconds: float) -> Callable[..., None]:
    """Writer.submit with a limit: a write that uses more CPU time of the writer fails."""

    def submitted(self: Writer, write: Write, done: Callable[[PendingWrite], None]) -> None:
        def watched(tx: Transaction) -> Any:
            began = time.thread_time()
            try:
                return write(tx)
            finally:
                held = time.thread_time() - began
                assert held <= most_seconds, f"a write held the writer for {held * 1000:.0f} ms"

        submit(self, watched, done)

    return submitted


if __name__ == "__main__":
    if os.environ.get("TEST_HOLD_MS"):
        Writer.submit = measured(Writer.submit, int(os.environ["TEST_HOLD_MS"]) / 1000)  # type: ignore[method-assign]
    else:
        composed_anew()  # which takes time
    cheap_hashes()
    cheap_proofs()
    passwords.hash, passwords.verify = off_the_loop(passwords.hash), off_the_loop(passwords.verify)
    rest_site.parameters = parameters
    sys.argv[0] = "server"
    runpy.run_module("server", run_name="__main__")
