"""Streams: responses that continue as events while their clients listen.

A stream holds a connection and no thread. When there is news on a channel, all its streams become due; a round reads
the news on one thread, once for each group of streams with the same caller, request and cursor, and writes it to all
streams of the group. Rounds rest 39 times as long as they take, up to four seconds, so that requests lose little.

News are rows after a cursor, and the cursor is the whole state of a stream: after a disconnect it resumes from there.
Each round checks the follower again."""

import asyncio
import json
import time
from collections import Counter, deque
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tornado.httputil import HTTPConnection

from server import log
from server.context import Context, Service
from server.dataclass import dataclass
from server.errors import HelpdeskError, TooMany, Unavailable
from server.translation import lazy_gettext
from server.web import error_bodies
from server.web.endpoint_call import Feed, News
from server.web.meter import Meter

LOG = log.get("web")
MEDIA_TYPE, LAST_ID = "text/event-stream", "Last-Event-ID"
LOG_CHANNEL = "log"  # notified after each log line
RETRY_MS = 3000  # delay before clients reconnect
BEAT_SECONDS = 20  # interval of the rounds for all streams: proxies close silent connections, and logins end
PAUSE_SECONDS = 0.05  # pause before a round, in which more news arrive
REST, LONGEST_REST = 39, 4.0  # pause after a round: times its duration, at most this many seconds
SLICE = 50  # streams to write before requests get their turn
MAX_PENDING_BYTES = 256 * 1024  # unread by a client; above it the stream is cut
RETRY_SECONDS, STOPPING_SECONDS = 10, 1  # Retry-After of a refused stream, and during a stop
HEARTBEAT = b":\n\n"


@dataclass(frozen=True, slots=True, eq=False)
class Follower:
    """The caller of a stream. key: distinguishes callers with different rights. worker_id: owner of the share of
    streams. context: returns the context for reading news, with the current rights of the caller; raises HelpdeskError
    once they may not follow any more."""

    key: Hashable
    worker_id: int
    context: Callable[[], Context]


class Stream:
    """One feed on a connection. cursor: after the last event sent. noted: the cursor that its client knows. is_due:
    whether there may be news. is_behind: whether more news follow once it has read the sent events. beats: whether to
    send a heartbeat even without news."""

    __slots__ = (
        "connection",
        "feed",
        "follower",
        "cursor",
        "noted",
        "is_due",
        "is_behind",
        "beats",
        "events",
        "began",
        "id",
    )

    def __init__(self, connection: HTTPConnection, feed: Feed, follower: Follower, id: str) -> None:
        self.connection: Any = connection
        self.feed = feed
        self.follower = follower
        self.cursor = self.noted = feed.since
        self.is_due = True
        self.is_behind = self.beats = False
        self.events = 0
        self.began = time.perf_counter()
        self.id = id

    @property
    def group(self) -> Hashable:
        """The key of a group: its streams get the same events."""
        return self.follower.key, self.feed.channel, self.feed.about, self.cursor

    @property
    def pending_bytes(self) -> int:
        """Bytes that the client has not read yet."""
        stream = self.connection.stream
        return int(stream._total_write_index - stream._total_write_done_index)


@dataclass(frozen=True, slots=True)
class GroupNews:
    """The news of a group: the bytes of its events, or an error with which it ends."""

    news: News
    body: bytes = b""
    error: HelpdeskError | None = None


class Streams:
    """All streams of one service. Everything but `_mark_channel` runs on the event loop. most: the limit of streams."""

    def __init__(self, service: Service, meter: Meter, is_logged: bool) -> None:
        self._loop = asyncio.get_running_loop()
        self._service = service
        self._meter = meter
        self._is_logged = is_logged
        self.most = service.settings.max_streams
        self._open: set[Stream] = set()
        self._of_worker: Counter[int] = Counter()
        self._of_channel: Counter[str] = Counter()
        self._of_connection: dict[HTTPConnection, set[Stream]] = {}
        self._due_channels: set[str] = set()  # channels with news since the last round
        self._fresh: deque[str] = deque()
        self._is_called = False
        self._timer: asyncio.TimerHandle | None = None
        self._beat_timer: asyncio.TimerHandle | None = None
        self._running: asyncio.Task[None] | None = None
        self._rests_until = 0.0
        self._is_closed = False
        self._threads = ThreadPoolExecutor(1, thread_name_prefix="streams")
        service.followers.append(self._mark_channel)
        log.followers.append(self._mark_log)
        meter.gauges["streams"] = ("Open event streams.", lambda: len(self._of_connection))

    # -- opening and closing ----------------------------------------------------------------------------------------

    def require_room(self, follower: Follower) -> None:
        """Raises Unavailable, TooMany."""
        if self._is_closed:
            raise stopping()
        if len(self._of_connection) >= self.most:
            raise Unavailable(
                f"{self.most} streams are already open; try again, or poll instead", retry_after=RETRY_SECONDS
            )
        most = self._service.settings.max_worker_streams
        if self._of_worker[follower.worker_id] >= most:
            raise TooMany(f"you already have {most} open streams; close one", retry_after=RETRY_SECONDS)

    def add(self, *streams: Stream) -> None:
        """Starts to serve the streams of one connection, whose response has begun."""
        first = streams[0]
        connection = first.connection
        if connection.stream.closed():
            return
        self._of_connection[connection] = set(streams)
        self._of_worker[first.follower.worker_id] += 1
        for stream in streams:
            self._open.add(stream)
            self._of_channel[stream.feed.channel] += 1
        connection.set_close_callback(lambda: self._drop_all(streams))
        connection.write(f"retry: {RETRY_MS}\n".encode() + (HEARTBEAT if first.feed.name else _cursor(first.cursor)))
        if self._beat_timer is None:
            self._beat_timer = self._loop.call_later(BEAT_SECONDS, self._beat)
        self._plan()

    @property
    def is_busy(self) -> bool:
        """Whether a round is reading news for them."""
        return self._running is not None

    def close(self) -> None:
        """Ends all streams because the service stops."""
        self._is_closed = True
        self._service.followers.remove(self._mark_channel)
        log.followers.remove(self._mark_log)
        for timer in (self._timer, self._beat_timer):
            if timer is not None:
                timer.cancel()
        for stream in list(self._open):
            self._end(stream, stopping())
        self._threads.shutdown(wait=False)

    def _end(self, stream: Stream, error: HelpdeskError) -> None:
        """Ends a stream with an event that has the reason; its connection ends with the last of its streams."""
        self._drop(stream, error_bodies.status_and_code(error)[1])
        if not stream.connection.stream.closed():
            stream.connection.write(_end_of(stream.feed, error))
            if stream.connection not in self._of_connection:
                stream.connection.finish()

    def _cut(self, stream: Stream) -> None:
        self._meter.streams_cut += 1
        self._drop(stream, "slow")
        stream.connection.stream.close()

    def _drop(self, stream: Stream, reason: str) -> None:
        if stream not in self._open:
            return
        self._open.remove(stream)
        self._of_channel[stream.feed.channel] -= 1
        others = self._of_connection[stream.connection]
        others.remove(stream)
        if not others:
            del self._of_connection[stream.connection]
            self._of_worker[stream.follower.worker_id] -= 1
            stream.connection.set_close_callback(None)
        if self._is_logged:
            seconds = round(time.perf_counter() - stream.began, 1)
            LOG.info("stream.ended", id=stream.id, reason=reason, events=stream.events, seconds=seconds)

    def _drop_all(self, streams: Sequence[Stream]) -> None:
        for stream in streams:
            self._drop(stream, "closed")

    # -- when -------------------------------------------------------------------------------------------------------

    def _mark_channel(self, channel: str) -> None:
        """Marks a channel as having news; called on the writer's thread."""
        if self._of_channel[channel]:
            self._fresh.append(channel)
            if not self._is_called:
                self._is_called = True
                self._loop.call_soon_threadsafe(self._take)

    def _mark_log(self) -> None:
        self._mark_channel(LOG_CHANNEL)

    def _take(self) -> None:
        self._is_called = False  # cleared first, so that later news schedule another call
        while self._fresh:
            self._due_channels.add(self._fresh.popleft())
        self._plan()

    def _beat(self) -> None:
        """Makes all streams due from time to time: for heartbeats, and to end those whose callers may not follow any
        more."""
        self._beat_timer = self._loop.call_later(BEAT_SECONDS, self._beat) if self._open else None
        for stream in self._open:
            stream.is_due = stream.beats = True
        self._plan()

    def _plan(self) -> None:
        """Plans a round soon, unless one is planned; a running round plans the next one itself."""
        if self._timer is None and self._running is None and not self._is_closed:
            pause = max(PAUSE_SECONDS, self._rests_until - self._loop.time())
            self._timer = self._loop.call_later(pause, self._begin)

    def _begin(self) -> None:
        self._timer = None
        self._running = asyncio.ensure_future(self._round())
        self._running.add_done_callback(self._ended)

    def _ended(self, done: "asyncio.Task[None]") -> None:
        self._running = None
        if not done.cancelled() and done.exception() is not None:
            LOG.error("streams.failed", reason=repr(done.exception()))
        if self._due_channels or any(each.is_due for each in self._open):
            self._plan()

    # -- a round ----------------------------------------------------------------------------------------------------

    async def _round(self) -> None:
        began = self._loop.time()
        groups = self._due()
        firsts = [streams[0] for streams in groups.values()]
        news = await self._loop.run_in_executor(self._threads, _news_of_groups, self._service, firsts)
        written = 0
        for streams, told in zip(groups.values(), news, strict=True):
            for stream in streams:
                self._deliver(stream, told)
                written += 1
                if written % SLICE == 0:
                    await asyncio.sleep(0)
        ended = self._loop.time()
        self._rests_until = ended + min((ended - began) * REST, LONGEST_REST)

    def _due(self) -> dict[Hashable, list[Stream]]:
        """Returns the streams that may have news, by group."""
        told, self._due_channels = self._due_channels, set()
        groups: dict[Hashable, list[Stream]] = {}
        for stream in self._open:
            if stream.is_due or (stream.feed.channel in told and not stream.is_behind):
                stream.is_due = False
                groups.setdefault(stream.group, []).append(stream)
        return groups

    def _deliver(self, stream: Stream, told: GroupNews) -> None:
        if stream not in self._open:
            return
        if stream.connection.stream.closed():
            self._drop(stream, "closed")
        elif told.error is not None:
            self._end(stream, told.error)
        elif stream.pending_bytes > MAX_PENDING_BYTES:
            self._cut(stream)
        else:
            self._write(stream, told)

    def _write(self, stream: Stream, told: GroupNews) -> None:
        news = told.news
        stream.cursor, stream.is_behind = news.cursor, news.has_more
        stream.events += len(news.events)
        self._meter.events_sent += len(news.events)
        if told.body or stream.beats or news.has_more:
            body = _named(stream.feed.name, news) if stream.feed.name else told.body
            written = stream.connection.write(body or _heartbeat(stream))
            stream.noted, stream.beats = news.cursor, False
            if news.has_more:  # no faster than the client reads
                written.add_done_callback(lambda _: self._go_on(stream))

    def _go_on(self, stream: Stream) -> None:
        stream.is_due = True
        self._plan()


def wants_events(accept: str) -> bool:
    """Whether the header Accept requests a stream and accepts no other type of ours.

    >>> [wants_events(text) for text in ("text/event-stream", "application/json, text/event-stream", "*/*")]
    [True, False, False]"""
    kinds = {each.partition(";")[0].strip().lower() for each in accept.split(",")}
    return MEDIA_TYPE in kinds and "application/json" not in kinds


def stopping() -> Unavailable:
    """Returns the error for clients that connect while the service stops."""
    return Unavailable("the service is stopping; try again", retry_after=STOPPING_SECONDS)


def _news_of_groups(service: Service, firsts: Sequence[Stream]) -> list[GroupNews]:
    """Reads the news of each group, whose first stream is given; on a thread. In one snapshot, so that all of them
    continue from the same cursor: the next round reads the changes after it once."""

    def read() -> list[GroupNews]:
        # A page follows several feeds, and its caller is checked once in a round.
        contexts: dict[Follower, Context] = {}
        return [_group_news(each, contexts) for each in firsts]

    try:
        return service.store.read_together(read, None)
    except HelpdeskError:  # there is no snapshot now: each group ends with the reason
        return read()


def _group_news(stream: Stream, contexts: dict[Follower, Context]) -> GroupNews:
    nothing = News([], stream.cursor)
    try:
        ctx = contexts.get(stream.follower) or contexts.setdefault(stream.follower, stream.follower.context())
        news = stream.feed.news(ctx, stream.cursor)
    except HelpdeskError as error:
        return GroupNews(nothing, error=error)
    except Exception:
        LOG.exception("stream.failed", id=stream.id)
        return GroupNews(nothing, error=HelpdeskError(lazy_gettext(error_bodies.BUG_MESSAGE, id=stream.id)))
    return GroupNews(news, _body(news))


def _body(news: News) -> bytes:
    """Returns the events, and the cursor to resume from if it is beyond the last of them; b"" without events."""
    if not news.events:
        return b""
    events = b"".join(_event(cursor, payload) for cursor, payload in news.events)
    return events if news.events[-1][0] == news.cursor else events + _cursor(news.cursor)


def _event(cursor: int, payload: dict[str, Any]) -> bytes:
    return f"id: {cursor}\ndata: {_json(payload)}\n\n".encode()


def _named(name: str, news: News) -> bytes:
    """Returns the events of one of several feeds."""
    return b"".join(
        f"data: {_json({'feed': name, 'id': cursor, 'data': payload})}\n\n".encode() for cursor, payload in news.events
    )


def _end_of(feed: Feed, error: HelpdeskError) -> bytes:
    if feed.name:
        return f"data: {_json({'feed': feed.name, 'end': error_bodies.body(error)})}\n\n".encode()
    return f"event: end\ndata: {_json(error_bodies.body(error))}\n\n".encode()


def _heartbeat(stream: Stream) -> bytes:
    """Returns a heartbeat, with the cursor if no event has sent it: a client that reconnects resumes after it."""
    return HEARTBEAT if stream.feed.name or stream.cursor == stream.noted else _cursor(stream.cursor)


def _cursor(cursor: int) -> bytes:
    return f"id: {cursor}\n\n".encode()


def _json(payload: dict[str, Any]) -> str:
    return json.dumps(payload, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
