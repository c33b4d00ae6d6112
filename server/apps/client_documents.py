"""Apps that are known by a metadata document: their client id is the https address of the document.

The document is fetched when a signed-in worker arrives at the consent page, and becomes an OAuth app whose scopes are
those of assistants. It is fetched again when it has expired. Follows draft-ietf-oauth-client-id-metadata-document-00;
documents of clients that prove who they are with a key are refused."""

import re
import unicodedata
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from server.access.actor import lent
from server.access.validator import MAX_CLIENT_ID_CHARS
from server.context import Context
from server.dataclass import dataclass
from server.errors import Invalid, TooMany
from server.outbound import limits, request, send
from server.outbound.oauth_discovery import json_object
from server.record_types.shared import assistant_scopes, callbacks
from server.records.writing import RecordWriter
from server.store.transaction import Transaction
from server.translation import lazy_gettext

MAX_DOCUMENT_BYTES = 16 * 1024
FETCH_SECONDS = 5.0
MAX_ADDRESSES = 20  # callback addresses of a document
MAX_CLIENT_NAME_CHARS = 60
CACHE_SECONDS, MAX_CACHE_SECONDS = 3600, 86_400  # seconds: without a header, and the longest that a header may ask for
LEAST_CACHE_SECONDS = 300
MAX_FETCHES = 10  # fetches for one worker in a minute
_AGE = re.compile(r"(?:^|[,\s])max-age=([0-9]{1,9})(?:$|[,\s])", re.IGNORECASE)
_fetches: dict[tuple[int, int], int] = {}  # {(worker, minute): documents}


@dataclass(frozen=True, slots=True)
class ClientDocument:
    """The part of a document that becomes an app. seconds: how long it may be cached."""

    name: str
    url: str
    addresses: tuple[str, ...]
    seconds: int


def is_document(client_id: str) -> bool:
    """Returns whether a client id is the address of a document."""
    return client_id.startswith("https://")


def require_app(ctx: Context, client_id: str) -> None:
    """Ensures that there is an app for a client id, and that what is known of it is current. Fetches its document on
    this thread. Raises Invalid for a document that is not one of a client, TooMany, and as `send`."""
    if not ctx.service.settings.mcp or not is_document(client_id):
        return
    table = ctx.service.registry.type("oauth_app").table
    row = ctx.service.store.read(lambda tx: tx.first(table, client_id=client_id))
    if row is not None:
        until = row[table.position["document_until"]]
        if not until or until > ctx.now or row[table.position["client_id"]] != client_id:
            return  # registered by an administrator, or still valid
    document = fetch(ctx, client_id)
    ctx.service.store.write(lambda tx: _save(ctx, tx, client_id, document))


def fetch(ctx: Context, client_id: str) -> ClientDocument:
    """Returns the document at an address. Follows no redirects. Raises as require_app()."""
    _require_address(client_id)
    _count(ctx)
    bounds = limits(ctx.service.settings)
    bounds = replace(
        bounds, seconds=min(bounds.seconds, FETCH_SECONDS), max_bytes=min(bounds.max_bytes, MAX_DOCUMENT_BYTES)
    )
    outgoing = replace(request(client_id).with_headers({"accept": "application/json"}), follow=False)
    response = send(outgoing, bounds)
    content = json_object(response.body) if response.status == 200 else None
    if content is None:
        raise _bad("there is no such document")
    return read(client_id, content, response.headers.get("cache-control", ""))


def read(client_id: str, content: dict[str, Any], cache_control: str = "") -> ClientDocument:
    """Returns what a document says. Raises Invalid."""
    if content.get("client_id") != client_id:
        raise _bad("its client_id is not its own address")
    if content.get("token_endpoint_auth_method", "none") != "none" or "client_secret" in content:
        raise _bad("only public clients are supported: token_endpoint_auth_method must be none")
    addresses = content.get("redirect_uris")
    if not isinstance(addresses, list) or not 0 < len(addresses) <= MAX_ADDRESSES:
        raise _bad(f"redirect_uris must have 1 to {MAX_ADDRESSES} addresses")
    for each in addresses:
        if not isinstance(each, str) or callbacks.problem(each):
            raise _bad(f"the callback address {str(each)[:100]} cannot be used")
    host = urlsplit(client_id).netloc
    name = _clean(content.get("client_name")) or host
    url = content.get("client_uri")
    is_own = isinstance(url, str) and callbacks.origin(url) == f"https://{host}" and not callbacks.problem(url)
    return ClientDocument(name, str(url) if is_own else f"https://{host}/", tuple(addresses), _age(cache_control))


def _save(ctx: Context, tx: Transaction, client_id: str, document: ClientDocument) -> None:
    """Creates the app of a document, or updates it."""
    writing = RecordWriter(replace(ctx, actor=lent(ctx.actor), limit=None), tx)
    app = writing.registry.type("oauth_app")
    row = tx.first(app.table, client_id=client_id)
    fields = {"name": document.name, "url": document.url, "callback_url": "\n".join(document.addresses)}
    if row is None:
        more = {
            "client_id": client_id,
            "scopes": assistant_scopes.definition(),
            "is_public": "1",
            "is_pkce_required": "1",
        }
        id = writing.create_sent(app, {**fields, **more})
    else:
        id = int(row[0])
        if not row[app.table.position["document_until"]]:
            return
        changed = {name: text for name, text in fields.items() if row[app.table.position[name]] != text}
        if changed:
            writing.update_sent(app, id, changed)
    tx.update(app.table, id, {"document_until": ctx.now + document.seconds})


def _require_address(client_id: str) -> None:
    """Raises Invalid for an address that no document can have."""
    try:
        parts = urlsplit(client_id)
        is_plain = parts.port is None or parts.port > 0
    except ValueError:
        raise _bad("the address is not one") from None
    segments = parts.path.split("/")
    if (
        len(client_id) > MAX_CLIENT_ID_CHARS
        or callbacks.problem(client_id)
        or not is_plain
        or "@" in parts.netloc
        or parts.netloc != parts.netloc.lower()
        or parts.path in ("", "/")
        or "." in segments
        or ".." in segments
    ):
        raise _bad("the address must be https with a path, without a fragment, a user name and dots as steps")


def _count(ctx: Context) -> None:
    """Raises TooMany for a worker who has many documents fetched."""
    minute = ctx.now // 60
    for key in [each for each in _fetches if each[1] != minute]:
        _fetches.pop(key, None)
    key = (ctx.actor.worker_id, minute)
    _fetches[key] = _fetches.get(key, 0) + 1
    if _fetches[key] > MAX_FETCHES:
        raise TooMany(lazy_gettext("too many unknown apps at once; try again in a minute"), retry_after=60)


def _clean(name: Any) -> str:
    """Returns a name of printable characters on one line, which cannot turn the direction of the text around it."""
    text = name if isinstance(name, str) else ""
    plain = "".join(char for char in text[:1000] if unicodedata.category(char)[0] not in "CZ" or char == " ")
    return " ".join(plain.split())[:MAX_CLIENT_NAME_CHARS].strip()


def _age(cache_control: str) -> int:
    """Returns how long a response may be cached.

    >>> _age("public, max-age=7200"), _age("no-store"), _age("max-age=1"), _age("")
    (7200, 300, 300, 3600)
    """
    if "no-store" in cache_control.lower() or "no-cache" in cache_control.lower():
        return LEAST_CACHE_SECONDS
    age = _AGE.search(cache_control)
    return min(max(int(age[1]), LEAST_CACHE_SECONDS), MAX_CACHE_SECONDS) if age else CACHE_SECONDS


def _bad(reason: str) -> Invalid:
    return Invalid(f"the app's metadata document cannot be used: {reason}", field="client_id")
