"""A stand-in for servers with the chat completions of the OpenAI API, on 127.0.0.1. It records each request, and
replies as its test says: late, wrongly, or not at all."""

import json
import select
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KEY, MODEL = "sk-secret-of-the-model", "larch-7b"
HOLD_SECONDS = 60
Answer = tuple[int, Any] | tuple[int, Any, dict[str, str]]


def completion(text: Any, **more: Any) -> dict[str, Any]:
    """Returns the body of a response with a text. more: further keys of its choice."""
    return {
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop", **more}]
    }


class ModelServer:
    """requests: (method and path, headers, body) of all requests. reply: text of the next responses. answer: status,
    body and headers, or a function of the body that returns them, in place of `reply`. models: of the list, None for a
    server without one. prefix: of its paths."""

    def __init__(self, prefix: str = "/v1") -> None:
        self.requests: list[tuple[str, dict[str, str], Any]] = []
        self.reply = "Hello"
        self.answer: Answer | Callable[[Any], Answer] | None = None
        self.models: list[str] | None = [MODEL]
        self.prefix = prefix
        self.key = ""
        self.is_held = False
        self.arrived, self.released, self.left = threading.Event(), threading.Event(), threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer._respond(self, None)

            def do_POST(self) -> None:
                outer._respond(self, json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def base_url(self) -> str:
        return self.url + self.prefix

    @property
    def completions(self) -> list[Any]:
        """The bodies of the requests for text."""
        return [body for _path, _headers, body in self.requests if body is not None]

    @property
    def sent(self) -> str:
        """All words that arrived."""
        return "\n".join(each["content"] for body in self.completions for each in body["messages"])

    def forget(self) -> None:
        """Starts again as new."""
        self.requests.clear()
        self.reply, self.answer, self.models, self.is_held, self.key = "Hello", None, [MODEL], False, ""
        self.released.set()
        self.arrived, self.released, self.left = threading.Event(), threading.Event(), threading.Event()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Holds the responses to requests inside of the block."""
        self.is_held = True
        try:
            yield
        finally:
            self.is_held = False
            self.released.set()

    def stop(self) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.server_close()

    def _respond(self, handler: BaseHTTPRequestHandler, body: Any) -> None:
        headers = {name.lower(): text for name, text in handler.headers.items()}
        self.requests.append((f"{handler.command} {handler.path}", headers, body))
        status, content, *more = self._answer(handler.path, headers, body)
        if body is not None and self.is_held and not self._is_awaited(handler):
            return
        raw = content if isinstance(content, bytes) else json.dumps(content).encode()
        handler.send_response(status)
        for name, text in (more[0] if more else {}).items():
            handler.send_header(name, text)
        handler.send_header("Content-Length", str(len(raw)))
        handler.end_headers()
        try:
            handler.wfile.write(raw)
        except OSError:
            self.left.set()

    def _is_awaited(self, handler: BaseHTTPRequestHandler) -> bool:
        """Waits until the test releases the response; False if the client hung up before."""
        released, left = self.released, self.left
        self.arrived.set()
        for _ in range(HOLD_SECONDS * 50):
            if released.wait(0.02):
                return True
            readable, _, _ = select.select([handler.connection], [], [], 0)
            if readable and not handler.connection.recv(1):
                left.set()
                return False
        return True

    def _answer(self, path: str, headers: dict[str, str], body: Any) -> Any:
        if path not in (f"{self.prefix}/chat/completions", f"{self.prefix}/models"):
            return 404, b"404 page not found"
        if self.key and headers.get("authorization") != f"Bearer {self.key}":
            return 401, {"error": {"message": f"Incorrect API key provided: {self.key}"}}
        if body is None:
            listed = self.models
            return (404, {}) if listed is None else (200, {"data": [{"id": each} for each in listed]})
        if self.answer is not None:
            return self.answer(body) if callable(self.answer) else self.answer
        return 200, completion(self.reply)
