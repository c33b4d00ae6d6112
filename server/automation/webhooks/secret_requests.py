"""What tells of a secret in a request: never written into the file, and kept in memory so that a delivery can be run
again as it was while this process goes on."""

import threading
from collections import OrderedDict
from dataclasses import field
from urllib.parse import parse_qsl, urlencode

from server.dataclass import dataclass
from server.record_types.shared.secrets import is_secret
from server.store.database import Store
from server.store.store_local import StoreLocal

HIDDEN = "(hidden)"
MAX_REMEMBERED = 500  # requests whose secrets are kept in memory, the last
MAX_SECRET_CHARS = 32_768  # of the headers, query and body of one request; the secrets of a longer one are not kept
Headers = list[tuple[str, str]]


def hidden(name: str, value: str) -> str:
    """A value as it may be kept and shown.

    >>> hidden("Authorization", "Bearer x"), hidden("X-Shop-Hmac-Sha256", "x"), hidden("Accept", "text/html")
    ('(hidden)', '(hidden)', 'text/html')
    """
    return HIDDEN if value and is_secret(name) else value


def hidden_headers(headers: Headers) -> Headers:
    """Headers without their secrets."""
    return [(name, hidden(name, value)) for name, value in headers]


def hidden_query(query: str) -> str:
    """A query string without its secrets; byte by byte the same when there are none."""
    pairs = parse_qsl(query, keep_blank_values=True)
    kept = [(name, hidden(name, value)) for name, value in pairs]
    return query if kept == pairs else urlencode(kept)


@dataclass
class WithheldRequests:
    """Headers, query and body of the last requests that had secrets, by delivery."""

    requests: OrderedDict[int, tuple[Headers, str, bytes]] = field(default_factory=OrderedDict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def remember(self, delivery_id: int, headers: Headers, query: str, body: bytes) -> None:
        """Keep a request of which the file must not hold all."""
        if sum(len(name) + len(value) for name, value in headers) + len(query) + len(body) > MAX_SECRET_CHARS:
            return
        with self.lock:
            self.requests[delivery_id] = (headers, query, body)
            while len(self.requests) > MAX_REMEMBERED:
                self.requests.popitem(last=False)

    def of(self, delivery_id: int) -> tuple[Headers, str, bytes] | None:
        """Headers, query and body of a delivery as they came; None when they had no secrets or are forgotten."""
        with self.lock:
            return self.requests.get(delivery_id)


WITHHELD: StoreLocal[WithheldRequests] = StoreLocal()


def withheld(store: Store) -> WithheldRequests:
    """Those of the service with this store."""
    return WITHHELD.made(store, WithheldRequests)
