"""One call of an endpoint: who asks, what was sent, and the forms that an answer may take."""

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

SANDBOX = "sandbox; default-src 'none'"  # the policy of files: should a browser show one anyway, it runs nothing


@dataclass(frozen=True, slots=True)
class InnerRequest:
    """A request inside another one. path: the full path. params: as in a JSON body."""

    method: str
    path: str
    params: dict[str, Any]
    headers: Any


@dataclass(frozen=True, slots=True)
class InnerCall:
    """An inner request whose endpoint was found and may be called. is_small: whether it may run on the writer. run:
    calls the endpoint, and raises what it raises."""

    path: str
    is_small: bool
    run: Callable[[], "Answer"]


@dataclass(frozen=True)
class EndpointCall:
    """A call of an endpoint. arguments: from the path. params: query and body, decoded. scopes, app_id: of the token.
    path: as sent. inner: prepares a request inside this one, with the same token; raises the error that refuses it."""

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
        """The time in a parameter, such as `-2 hours`, in Unix seconds; None without one. Raises Invalid naming it."""
        text = self.params.text(name, "")
        try:
            return times.instant(text, self.ctx.now, self.ctx.tz) if text else None
        except Invalid as error:
            raise Invalid(f"{name}: {error.message}", field=name) from error

    @property
    def id(self) -> int:
        """The id in the path. Raises NotFound when it is not decimal digits."""
        return id_of(self.arguments["id"])

    @property
    def uri(self) -> str:
        return self.arguments["uri"]


@dataclass(frozen=True, slots=True)
class News:
    """What is new behind a cursor. events: (cursor, payload) of each. cursor: where to go on. has_more: whether there
    is more behind it already."""

    events: list[tuple[int, dict[str, Any]]]
    cursor: int
    has_more: bool = False


@dataclass(frozen=True, slots=True)
class Feed:
    """What a stream tells, from the cursor `since` on. channel: of Service.tell_after, on which there may be news.
    about: what tells it apart from others that the same caller follows. news: what is new for a caller behind a cursor;
    on a thread, raises HelpdeskError when there can be none any more. name: of one of several feeds in the same
    response; each of its events is {feed: name, id: cursor, data: payload}, its last one {feed, end: error}."""

    channel: str
    about: Hashable
    since: int
    news: Callable[[Context, int], News]
    name: str = ""


@dataclass
class Answer:
    """An answer other than a plain 200 with a payload. pieces: opens the body's bytes in turn, for large ones;
    `length` is how many there are. feed: goes on as a stream of events; feeds: several in one stream. cookies: the
    values of Set-Cookie headers. write: what is written, and on disk, before it is sent; of an answer that is made on a
    thread."""

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
    view: str | None = None
    notes: list[str] = field(default_factory=list)


def _no_inner() -> InnerCall:
    raise NotOffered("a batch holds no batch")


def id_of(text: str) -> int:
    """An id of a path: ASCII digits up to 2^63-1; anything else names nothing, so NotFound."""
    id = id_in(text)
    if id is None:
        raise NotFound(f"'{text[:50]}' is not a record id")
    return id
