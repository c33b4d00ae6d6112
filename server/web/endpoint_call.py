"""One call of an endpoint: its caller, its parameters, and the kinds of response that it may return."""

from collections.abc import Callable, Hashable, Iterator
from dataclasses import field
from typing import Any

from server import times
from server.context import Context
from server.dataclass import dataclass
from server.digits import id_in
from server.errors import Invalid, NotFound, NotOffered
from server.record_types.shared.scopes import Scope
from server.store.writer import Write
from server.web.params import Params

SANDBOX = "sandbox; default-src 'none'"  # policy of files: a browser that shows one runs no script in it


@dataclass(frozen=True, slots=True)
class InnerRequest:
    """A request inside another one. path: the full path. params: as in a JSON body."""

    method: str
    path: str
    params: dict[str, Any]
    headers: Any


@dataclass(frozen=True, slots=True)
class InnerCall:
    """An inner request whose endpoint is known and allowed. is_small: whether it may run on the writer. run: calls the
    endpoint and raises its errors."""

    path: str
    is_small: bool
    run: Callable[[], "Response"]


@dataclass(frozen=True)
class EndpointCall:
    """A call of an endpoint. arguments: from the path. params: query and body, decoded. scopes, app_id: of the token.
    path: as sent. inner: prepares an inner request with the same token, or raises the error with which it is refused.
    """

    ctx: Context
    method: str
    arguments: dict[str, str]
    params: Params
    headers: Any
    scopes: tuple[Scope, ...] = ()
    app_id: int = 0
    path: str = ""
    inner: Callable[[InnerRequest], InnerCall] = field(default=lambda asked: _no_inner(), repr=False)

    def time(self, name: str) -> int | None:
        """Returns the time in a parameter, such as `-2 hours`, in Unix seconds; None if it is absent. Raises Invalid
        for the parameter."""
        text = self.params.text(name, "")
        try:
            return times.instant(text, self.ctx.now, self.ctx.tz) if text else None
        except Invalid as error:
            raise Invalid(f"{name}: {error.message}", field=name) from error

    @property
    def id(self) -> int:
        """The id in the path. Raises NotFound unless it is decimal digits."""
        return id_of(self.arguments["id"])

    @property
    def uri(self) -> str:
        return self.arguments["uri"]


@dataclass(frozen=True, slots=True)
class News:
    """The news after a cursor. events: (cursor, payload) pairs. cursor: position to continue from. has_more: whether
    more news follow."""

    events: list[tuple[int, dict[str, Any]]]
    cursor: int
    has_more: bool = False


@dataclass(frozen=True, slots=True)
class Feed:
    """A stream of news from the cursor `since` on. channel: of Service.notify_after, which announces news. about:
    distinguishes it from other feeds of the same caller. news: returns the news after a cursor; runs on a thread, and
    raises HelpdeskError if no more can follow. name: of one of several feeds in the same response; each of its events
    is {feed: name, id: cursor, data: payload}, its last one {feed, end: error}."""

    channel: str
    about: Hashable
    since: int
    news: Callable[[Context, int], News]
    name: str = ""


@dataclass
class Response:
    """A response other than a plain 200 with a payload. pieces: yields the bytes of a large body, `length` in total.
    feed: continues the response as a stream of events; feeds: several in one stream. cookies: values of Set-Cookie
    headers. write: runs and is synced to disk before the response is sent, if the response is built on a thread; may
    return another response. refused: returns the response to an error of the write, on a thread."""

    payload: dict[str, Any] | None = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    content_type: str = ""
    pieces: Callable[[], Iterator[bytes]] | None = None
    length: int = 0
    feed: Feed | None = None
    feeds: tuple[Feed, ...] = ()
    cookies: tuple[str, ...] = ()
    write: Write | None = None
    refused: Callable[[BaseException], "Response"] | None = None
    view: str | None = None
    notes: list[str] = field(default_factory=list)


def _no_inner() -> InnerCall:
    raise NotOffered("a batch cannot contain a batch")


def id_of(text: str) -> int:
    """Returns the id in a path: ASCII digits up to 2^63-1. Raises NotFound for anything else."""
    id = id_in(text)
    if id is None:
        raise NotFound(f"'{text[:50]}' is not a record id")
    return id
