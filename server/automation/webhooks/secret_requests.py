"""Holds the secret parts of requests in memory, never in the database, so that a delivery can be run again unchanged
until the process ends."""

import threading
from collections import OrderedDict
from dataclasses import field
from urllib.parse import parse_qsl, urlencode

from server.dataclass import dataclass
from server.record_types.shared.secrets import is_secret
from server.store.database import Store
from server.store.store_local import StoreLocal

HIDDEN = "(hidden)"
MAX_REMEMBERED = 500  # last requests whose secrets are held in memory
MAX_SECRET_CHARS = 32_768  # headers, query and body of a request together; the secrets of a longer one are discarded
Headers = list[tuple[str, str]]


def hidden(name: str, value: str) -> str:
    """Returns a value that can be stored and shown.

    >>> hidden("Authorization", "Bearer x"), hidden("X-Shop-Hmac-Sha256", "x"), hidden("Accept", "text/html")
    ('(hidden)', '(hidden)', 'text/html')"""
    return HIDDEN if value and is_secret(name) else value


def hidden_headers(headers: Headers) -> Headers:
    """Returns headers without their secrets."""
    return [(name, hidden(name, value)) for name, value in headers]


def hidden_query(query: str) -> str:
    """Returns a query string without its secrets; unchanged if there are none."""
    pairs = parse_qsl(query, keep_blank_values=True)
    redacted_pairs = [(name, hidden(name, value)) for name, value in pairs]
    return query if redacted_pairs == pairs else urlencode(redacted_pairs)


@dataclass
class WithheldRequests:
    """Headers, query and body of the last requests with secrets, by delivery."""

    requests: OrderedDict[int, tuple[Headers, str, bytes]] = field(default_factory=OrderedDict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def remember(self, delivery_id: int, headers: Headers, query: str, body: bytes) -> None:
        """Holds a request that must not be stored completely."""
        if sum(len(name) + len(value) for name, value in headers) + len(query) + len(body) > MAX_SECRET_CHARS:
            return
        with self.lock:
            self.requests[delivery_id] = (headers, query, body)
            while len(self.requests) > MAX_REMEMBERED:
                self.requests.popitem(last=False)

    def request(self, delivery_id: int) -> tuple[Headers, str, bytes] | None:
        """Returns headers, query and body of a delivery as received; None if they had no secrets or have been
        discarded."""
        with self.lock:
            return self.requests.get(delivery_id)


WITHHELD: StoreLocal[WithheldRequests] = StoreLocal()


def withheld(store: Store) -> WithheldRequests:
    """Returns the withheld requests of the service with this store."""
    return WITHHELD.made(store, WithheldRequests)
