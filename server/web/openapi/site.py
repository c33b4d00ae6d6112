"""GET /openapi.json: the document, made once for each state of the registry, for anybody. Source: ours."""

import hashlib
import json
import threading
from dataclasses import dataclass
from typing import Any

from server.context import Service
from server.errors import NotFound
from server.web.call import Answer
from server.web.openapi.document import document
from server.web.routes import ENDPOINTS
from server.web.server import Request, Site, unless_read

PATH = "/openapi.json"
DESCRIPTION: dict[str, Any] = {
    "method": "GET",
    "path": PATH,
    "note": "This interface as an OpenAPI 3.1 document; no token needed.",
    "aliases": [],
    "parameters": [],
}


@dataclass(frozen=True)
class _Made:
    """The document as bytes. state: revision of the registry, and base URL, that it was made of."""

    state: tuple[int, str]
    body: bytes
    tag: str


class OpenApiSite(Site):
    """The one path."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self._lock = threading.Lock()
        self._made: _Made | None = None

    def limit(self, method: str, path: str) -> int:
        return 0

    def inline(self, request: Request) -> bool:
        made = self._made
        return made is not None and made.state == self._state()

    def answer(self, request: Request, steps: int | None) -> Answer:
        if request.path != PATH:
            raise NotFound(f"there is nothing at {request.path[:200]}")
        return unless_read(request) or self._shown(request)

    def _shown(self, request: Request) -> Answer:
        made = self._current()
        headers = {"ETag": made.tag, "Cache-Control": "no-cache"}  # kept by clients, and asked for again each time
        if _has_it(request, made.tag):
            return Answer(status=304, headers=headers)
        return Answer(headers=headers, body=made.body, content_type="application/json; charset=utf-8")

    def _current(self) -> _Made:
        with self._lock:  # two that ask at once need one document
            state = self._state()
            if self._made is None or self._made.state != state:
                made = document(self.service.registry, ENDPOINTS, self.service.base_url)
                body = json.dumps(made, separators=(",", ":")).encode()
                self._made = _Made(state, body, f'"{hashlib.sha256(body).hexdigest()[:32]}"')
            return self._made

    def _state(self) -> tuple[int, str]:
        return self.service.registry.revision, self.service.base_url


def _has_it(request: Request, tag: str) -> bool:
    listed = [each.strip().removeprefix("W/") for each in request.headers.get("If-None-Match", "").split(",")]
    return tag in listed or "*" in listed
