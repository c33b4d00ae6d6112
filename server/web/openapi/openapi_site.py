"""GET /openapi.json: the document, built once for each state of the registry. The document of the built-in record types
is public; custom types are included for callers with a token."""

import hashlib
import json
import threading
from typing import Any

from server import clock
from server.access import tokens
from server.context import Service
from server.dataclass import dataclass
from server.errors import Invalid, NotFound
from server.web import entity_tags, envelope
from server.web.endpoint_call import Response
from server.web.form_data import decode_query
from server.web.openapi.document import document
from server.web.rest_site import bearer
from server.web.routes import ENDPOINTS
from server.web.site import Request, Site, unless_read

PATH = "/openapi.json"
DESCRIPTION: dict[str, Any] = {
    "method": "GET",
    "path": PATH,
    "note": "The OpenAPI 3.1 document of this API. Requires no token; with one, it includes custom record types.",
    "aliases": [],
    "parameters": [],
}


@dataclass(frozen=True)
class _CachedDocument:
    """The document as bytes. state: the revision of the registry and the base URL that it was built for."""

    state: tuple[int, str]
    body: bytes
    tag: str


class OpenApiSite(Site):
    """The site of one path."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self._lock = threading.Lock()
        self._made: dict[tuple[bool, bool], _CachedDocument] = {}  # keyed by (includes custom types, JSON bodies only)

    def limit(self, request: Request) -> int:
        return 0

    def inline(self, request: Request) -> bool:
        if request.query:
            return False
        document = self._made.get(("Authorization" in request.headers, False))
        return document is not None and document.state == self._state()

    def respond(self, request: Request, steps: int | None) -> Response:
        if request.path != PATH:
            raise NotFound(f"there is nothing at {request.path[:200]}")
        return unless_read(request) or self._shown(request)

    def _shown(self, request: Request) -> Response:
        has_token = "Authorization" in request.headers
        if has_token:
            self.service.store.read(lambda tx: tokens.check(tx, bearer(request), clock.now()))
        document = self._current(has_token, _wants_only_json(request))
        # Clients store it and revalidate it each time.
        headers = {"ETag": document.tag, "Cache-Control": "no-cache", "Vary": "Authorization"}
        if entity_tags.is_known(request, document.tag):
            return Response(status=304, headers=headers)
        return Response(headers=headers, body=document.body, content_type=envelope.CONTENT_TYPE)

    def _current(self, has_custom: bool, only_json: bool) -> _CachedDocument:
        with self._lock:  # concurrent requests share one document
            state = self._state()
            made = self._made.get((has_custom, only_json))
            if made is None or made.state != state:
                registry = self.service.registry if has_custom else self.service.registry.without_custom()
                content = document(registry, ENDPOINTS, self.service.base_url, only_json=only_json)
                body = json.dumps(content, separators=(",", ":")).encode()
                made = _CachedDocument(state, body, f'"{hashlib.sha256(body).hexdigest()[:32]}"')
                self._made[has_custom, only_json] = made
            return made

    def _state(self) -> tuple[int, str]:
        return self.service.registry.revision, self.service.base_url


def _wants_only_json(request: Request) -> bool:
    """Whether the query has body=json: only JSON bodies of requests. Raises Invalid for another value."""
    body = decode_query(request.query).get("body", "")
    if body not in ("", "json"):
        raise Invalid("body is json, or left out for all types of bodies", field="body")
    return body == "json"
