"""Rendered pages of the help center, so that a page that many visitors open is rendered once."""

import threading
from collections import OrderedDict
from collections.abc import Hashable

from server.dataclass import dataclass

MAX_PAGES = 1000
MAX_CACHED_BYTES = 32 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class CachedPage:
    """A page, as it is sent. article_id: of the article that it shows, 0 for other pages."""

    status: int
    body: bytes
    headers: dict[str, str]
    content_type: str
    article_id: int = 0


class PageCache:
    """Pages by key, for one state of their data. Drops the least recently used pages."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pages: OrderedDict[Hashable, CachedPage] = OrderedDict()
        self._state: Hashable = None
        self._bytes = 0

    def __contains__(self, key: Hashable) -> bool:
        """Whether there is a page of any state."""
        return key in self._pages

    def get(self, state: Hashable, key: Hashable) -> CachedPage | None:
        with self._lock:
            if state != self._state or key not in self._pages:
                return None
            self._pages.move_to_end(key)
            return self._pages[key]

    def put(self, state: Hashable, key: Hashable, page: CachedPage) -> None:
        with self._lock:
            if state != self._state:
                self._pages.clear()
                self._state, self._bytes = state, 0
            if len(page.body) > MAX_CACHED_BYTES // 16 or key in self._pages:
                return
            self._pages[key] = page
            self._bytes += len(page.body)
            while len(self._pages) > MAX_PAGES or self._bytes > MAX_CACHED_BYTES:
                self._bytes -= len(self._pages.popitem(last=False)[1].body)
