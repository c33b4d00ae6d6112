"""The yardstick: a bare Tornado process that only responds with prepared dictionaries.

    python -m tests.bench.bare answers.json

answers.json is {name: dictionary}; GET /<name> returns that dictionary, encoded for each request as any handler
would. Prints `listening on http://127.0.0.1:PORT` and ends on SIGTERM."""

import asyncio
import json
import signal
import sys
from pathlib import Path
from typing import Any

from tornado.httpserver import HTTPServer
from tornado.netutil import bind_sockets
from tornado.web import Application, RequestHandler


class Bare(RequestHandler):
    """Responds with one of the dictionaries."""

    def initialize(self, answers: dict[str, Any]) -> None:
        self.answers = answers

    def get(self, name: str) -> None:
        self.write(self.answers[name])


async def serve(answers: dict[str, Any]) -> None:
    """Listens on any free port until SIGTERM."""
    [socket] = bind_sockets(0, "127.0.0.1")
    # log_function: the framework's log line of each request is not part of the measurement.
    application = Application([(r"/(.+)", Bare, {"answers": answers})], log_function=lambda handler: None)
    server = HTTPServer(application)
    server.add_sockets([socket])
    stopped = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
    print(f"listening on http://127.0.0.1:{socket.getsockname()[1]}", flush=True)
    await stopped.wait()
    server.stop()


if __name__ == "__main__":
    asyncio.run(serve(json.loads(Path(sys.argv[1]).read_text("utf-8"))))
