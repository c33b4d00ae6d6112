"""The header Idempotency-Key: the work of a key is done once, and repeated requests get the first response.

Follows draft-ietf-httpapi-idempotency-key-header-07. Storage: records/idempotency_keys.py."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, is_dataclass
from typing import Any

from server.errors import HelpdeskError, Malformed
from server.records import idempotency_keys
from server.records.idempotency_keys import HEADER, KeyedRequest
from server.store.database import Store
from server.web import entity_tags, error_bodies
from server.web.endpoint_call import EndpointCall, Response
from server.web.routes import Endpoint

REPLAYED = "Idempotent-Replayed"
METHODS = ("POST", "PATCH")  # the other methods are idempotent
MAX_KEY_CHARS = 255


def is_for(each: Endpoint) -> bool:
    """Whether an endpoint honors keys."""
    return each.method in METHODS and each.mode != "read"


def keyed(each: Endpoint, call: EndpointCall) -> KeyedRequest | None:
    """Returns the keyed request of a call; None without a key. Raises Malformed for a bad key."""
    if HEADER not in call.headers or not is_for(each):
        return None
    key = call.headers[HEADER].strip()
    if not key or len(key) > MAX_KEY_CHARS or not key.isascii() or not key.isprintable():
        raise Malformed(f"{HEADER}: send 1 to {MAX_KEY_CHARS} printable ASCII characters, such as a UUID", field=HEADER)
    own = f"{call.ctx.actor.worker_id}\n{call.app_id}\n{key}"
    fingerprint = json.dumps([call.method, call.path, call.params.tree], sort_keys=True, default=_plain)
    return KeyedRequest(_digest(f"name {own}"), _digest(fingerprint), hashlib.sha256(f"seal {own}".encode()).digest())


def once(store: Store, now: int, request: KeyedRequest, work: Callable[[], Response]) -> Response:
    """Returns the result of the work, or that of the first request with the same key. Raises the errors of
    idempotency_keys.once."""
    result = idempotency_keys.once(store, now, request, work, _packed)
    return result if isinstance(result, Response) else _unpacked(result)


def _packed(found: Response | HelpdeskError) -> bytes:
    """Returns a response, or the response to an error, as bytes; b"" for a stream."""
    if isinstance(found, HelpdeskError):
        found = error_bodies.response(found)
    response = entity_tags.rendered(found)
    if response.pieces is not None or response.feed is not None or response.feeds:
        return b""
    head = {"status": response.status, "headers": response.headers, "content_type": response.content_type}
    return json.dumps(head).encode() + b"\n" + response.body


def _unpacked(packed: bytes) -> Response:
    head, _, body = packed.partition(b"\n")
    fields = json.loads(head)
    headers = fields["headers"] | {REPLAYED: "true"}
    return Response(status=fields["status"], headers=headers, body=body, content_type=fields["content_type"])


def _plain(value: Any) -> Any:
    """Converts a file or bytes to a value that JSON can represent."""
    if isinstance(value, bytes):
        return hashlib.sha256(value).hexdigest()
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else str(value)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
