"""Cursors of searches: the end of a page as a signed text, which only this service can create."""

import base64
import hashlib
import hmac
import json
from collections.abc import Sequence
from typing import Any

from server.base64url import base64url
from server.context import Context
from server.errors import Invalid
from server.records import signed_names
from server.search.select import CompiledSearch
from server.store.store_local import StoreLocal

KEY = "search_cursor_key"  # the service setting that stores the signing key
_SIGNATURE_BYTES = 16
_KEYS: StoreLocal[bytes] = StoreLocal()


def signing_key(ctx: Context) -> bytes:
    """Returns the key that signs cursors, created at first use. Raises OutOfSteps if it must be created on the event
    loop."""
    service = ctx.service
    key = _KEYS.get(service.store)
    if key is None:
        key = service.store.read(lambda tx: signed_names.stored_key(tx, KEY))
        if key is None:
            service.store.read(lambda tx: tx.store.require_thread(), ctx.steps)
            key = signed_names.signing_key(service, KEY)
        _KEYS.set(service.store, key)
    return key


def cursor(key: bytes, compiled: CompiledSearch, row: Sequence[Any]) -> str:
    """Returns the cursor after a row in the order of a search."""
    payload = json.dumps([_order(compiled), *compiled.position(row)]).encode()
    return base64url(_signature(key, payload) + payload)


def position(key: bytes, compiled: CompiledSearch, text: str) -> tuple[Any, ...]:
    """Returns the position of a cursor. Raises Invalid for a cursor of another order or another service."""
    try:
        sealed = base64.urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4))
    except ValueError:
        sealed = b""
    signature, payload = sealed[:_SIGNATURE_BYTES], sealed[_SIGNATURE_BYTES:]
    if not hmac.compare_digest(signature, _signature(key, payload)):
        raise Invalid("cursor: not issued by this service; send the one from the Link header", field="cursor")
    order, *values = json.loads(payload)
    if order != _order(compiled):
        raise Invalid("cursor: belongs to a different search or order; start again without it", field="cursor")
    return tuple(values)


def _order(compiled: CompiledSearch) -> str:
    """Identifies the order of a search: its type, its sort keys and the language of the reader."""
    keys = ",".join(f"-{name}" if descends else name for name, descends in compiled.order)
    return f"{compiled.record_type.uri}:{keys}:{compiled.scope.language}"


def _signature(key: bytes, payload: bytes) -> bytes:
    """A keyed BLAKE2b hash (RFC 7693), which is fast enough to sign every page of a search."""
    return hashlib.blake2b(payload, key=key, digest_size=_SIGNATURE_BYTES).digest()
