"""Cursors of searches: the end of a page as a signed text, which only this service can create."""

import base64
import hashlib
import hmac
import json
from collections.abc import Sequence
from typing import Any

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
    kept = _KEYS.get(service.store)
    if kept is None:
        kept = service.store.read(lambda tx: signed_names.stored_key(tx, KEY))
        if kept is None:
            service.store.read(lambda tx: tx.store.require_thread(), ctx.steps)
            kept = signed_names.signing_key(service, KEY)
        _KEYS.set(service.store, kept)
    return kept


def cursor(key: bytes, found: CompiledSearch, row: Sequence[Any]) -> str:
    """Returns the cursor after a row in the order of a search."""
    told = json.dumps([_order(found), *found.position(row)]).encode()
    return base64.urlsafe_b64encode(_signature(key, told) + told).decode().rstrip("=")


def position(key: bytes, found: CompiledSearch, text: str) -> tuple[Any, ...]:
    """Returns the position of a cursor. Raises Invalid for a cursor of another order or another service."""
    try:
        sealed = base64.urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4))
    except ValueError:
        sealed = b""
    signature, told = sealed[:_SIGNATURE_BYTES], sealed[_SIGNATURE_BYTES:]
    if not hmac.compare_digest(signature, _signature(key, told)):
        raise Invalid("cursor: is not one that this service gave; send that of the Link header", field="cursor")
    order, *values = json.loads(told)
    if order != _order(found):
        raise Invalid(
            "cursor: belongs to a search of other records or in another order; begin again without it", field="cursor"
        )
    return tuple(values)


def _order(found: CompiledSearch) -> str:
    """Identifies the order of a search: its type, its sort keys and the language of the reader."""
    keys = ",".join(f"-{name}" if descends else name for name, descends in found.order)
    return f"{found.record_type.uri}:{keys}:{found.scope.language}"


def _signature(key: bytes, told: bytes) -> bytes:
    """A keyed BLAKE2b hash (RFC 7693), which is fast enough to sign every page of a search."""
    return hashlib.blake2b(told, key=key, digest_size=_SIGNATURE_BYTES).digest()
