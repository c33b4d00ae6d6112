"""GET /openapi.json: the document, made once for each state of the registry, for anybody. Source: ours."""

import hashlib
import json
import threading
from dataclasses import dataclass
from typing import Any

from server.context import Service
from server.errors import NotFound, NotOffered
from server.web.call import Answer
from server.web.openapi.document import document
from server.web.routes import ENDPOINTS
from server.web.server import Request, Site

PATH = "/openapi.json"
ALLOWED = "GET, HEAD, OPTIONS"
DESCRIPTION: dict[str, Any] = {
    "method": "GET",
    "path": PATH,
    "note": "This interface as an OpenAPI 3.1 document; no token needed.",
    "aliases": [],
    "parameters": [],
}


@dataclass(frozen=True)
class _Made:
    """The document as bytes. revision: of the registry that it was made of."""

    revision: int
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
        return made is not None and made.revision == self.service.registry.revision

    def answer(self, request: Request, steps: int | None) -> Answer:
        if request.path != PATH:
            raise NotFound(f"there is nothing at {request.path[:200]}")
        if request.method == "OPTIONS":
            return Answer(status=204, headers={"Allow": ALLOWED})
        if request.method not in ("GET", "HEAD"):
            raise NotOffered(f"{request.method[:20]} is not offered at {PATH}, but {ALLOWED}", allow=ALLOWED)
        made = self._current()
        headers = {"ETag": made.tag, "Cache-Control": "no-cache"}  # kept by clients, and asked for again each time
        if _has_it(request, made.tag):
            return Answer(status=304, headers=headers)
        return Answer(headers=headers, body=made.body, content_type="application/json; charset=utf-8")

    def _current(self) -> _Made:
        with self._lock:  # two that ask at once need one document
            revision = self.service.registry.revision
            if self._made is None or self._made.revision != revision:
                made = document(self.service.registry, ENDPOINTS, self.service.base_url)
                body = json.dumps(made, separators=(",", ":")).encode()
                self._made = _Made(revision, body, f'"{hashlib.sha256(body).hexdigest()[:32]}"')
            return self._made


def _has_it(request: Request, tag: str) -> bool:
    listed = [each.strip().removeprefix("W/") for each in request.headers.get("If-None-Match", "").split(",")]
    return tag in listed or "*" in listed
