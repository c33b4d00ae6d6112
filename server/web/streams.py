"""Streams: answers that go on as events for as long as somebody listens.

A stream holds a connection and no thread. When something is new on a channel, all streams on it become due; a round
reads on one thread what is new for each group of them that is told the same (one caller, one question, one cursor), and
writes it to every one of the group. Rounds take a tenth of the time at most, so that requests do not wait for streams.

What is told stands in rows behind a cursor, and a stream's place is its cursor alone: one that is cut off goes on where
it was. Who follows is asked anew in each round."""

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
from server.web import errors
from server.web.call import Feed, News
from server.web.meter import Meter

LOG = log.get("web")
MEDIA_TYPE, LAST_ID = "text/event-stream", "Last-Event-ID"
LOG_CHANNEL = "log"  # told after each line that is logged
RETRY_MS = 3000  # that clients wait before they connect again
BEAT_SECONDS = 20  # between two rounds for all streams: proxies close what is silent, and logins end
PAUSE_SECONDS = 0.05  # before a round: what is written in the meantime is told with it
REST, LONGEST_REST = 9, 2.0  # times as long as a round took, nothing is done, up to so many seconds
SLICE = 50  # streams that are written to before requests get their turn
MAX_PENDING_BYTES = 256 * 1024  # that a client may not have taken yet; beyond it is cut off
RETRY_SECONDS, STOPPING_SECONDS = 10, 1  # until somebody who was refused tries again
HEARTBEAT = b":\n\n"


@dataclass(frozen=True, slots=True)
class Follower:
    """Who follows. key: tells callers with other rights apart. worker_id: whose share of the streams it is. context:
    what news are read in, as the database has the caller now; raises HelpdeskError once they may follow no more."""

    key: Hashable
    worker_id: int
    context: Callable[[], Context]


class Stream:
    """One feed on a connection. cursor: behind what it was told. noted: the cursor that its client knows. is_due:
    whether there may be news. is_behind: whether there is more for it, once it has taken what it was sent. beats:
    whether it is to hear of us in any case."""

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
        """Streams of one group are told the same."""
        return self.follower.key, self.feed.channel, self.feed.about, self.cursor

    @property
    def pending_bytes(self) -> int:
        """What its client has not taken yet."""
        stream = self.connection.stream
        return int(stream._total_write_index - stream._total_write_done_index)


@dataclass(frozen=True, slots=True)
class GroupNews:
    """What a group is told: the bytes of its events, or an error with which it ends."""

    news: News
    body: bytes = b""
    error: HelpdeskError | None = None


class Streams:
    """All streams of one service; everything but `_tell` on the event loop. most: how many there may be."""

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
        self._told: set[str] = set()  # channels, since the last round
        self._fresh: deque[str] = deque()
        self._is_called = False
        self._timer: asyncio.TimerHandle | None = None
        self._beat_timer: asyncio.TimerHandle | None = None
        self._running: asyncio.Task[None] | None = None
        self._rests_until = 0.0
        self._is_closed = False
        self._threads = ThreadPoolExecutor(1, thread_name_prefix="streams")
        service.followers.append(self._tell)
        log.followers.append(self._tell_of_log)
        meter.gauges["streams"] = ("Streams of events that are open.", lambda: len(self._of_connection))

    # -- opening and closing ----------------------------------------------------------------------------------------

    def require_room(self, follower: Follower) -> None:
        """Raises Unavailable, TooMany."""
        if self._is_closed:
            raise stopping()
        if len(self._of_connection) >= self.most:
            raise Unavailable(
                f"{self.most} streams are open already; try again, or ask from time to time", retry_after=RETRY_SECONDS
            )
        most = self._service.settings.max_worker_streams
        if self._of_worker[follower.worker_id] >= most:
            raise TooMany(f"you have {most} streams open already; close one", retry_after=RETRY_SECONDS)

    def add(self, *streams: Stream) -> None:
        """Serve the streams of one connection from now on; its response has begun."""
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
        """Whether something is read for them."""
        return self._running is not None

    def close(self) -> None:
        """End all streams: the service stops."""
        self._is_closed = True
        self._service.followers.remove(self._tell)
        log.followers.remove(self._tell_of_log)
        for timer in (self._timer, self._beat_timer):
            if timer is not None:
                timer.cancel()
        for stream in list(self._open):
            self._end(stream, stopping())
        self._threads.shutdown(wait=False)

    def _end(self, stream: Stream, error: HelpdeskError) -> None:
        """The last event of a stream says why; with the last of its streams a connection ends."""
        self._drop(stream, errors.status_and_code(error)[1])
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

    def _tell(self, channel: str) -> None:
        """There may be news; on the writer's thread."""
        if self._of_channel[channel]:
            self._fresh.append(channel)
            if not self._is_called:
                self._is_called = True
                self._loop.call_soon_threadsafe(self._take)

    def _tell_of_log(self) -> None:
        self._tell(LOG_CHANNEL)

    def _take(self) -> None:
        self._is_called = False  # first: what is told from here on calls again
        while self._fresh:
            self._told.add(self._fresh.popleft())
        self._plan()

    def _beat(self) -> None:
        """From time to time all are due: they hear that we are there, and end when they may not follow any more."""
        self._beat_timer = self._loop.call_later(BEAT_SECONDS, self._beat) if self._open else None
        for stream in self._open:
            stream.is_due = stream.beats = True
        self._plan()

    def _plan(self) -> None:
        """A round soon, unless one is planned; one that runs plans the next."""
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
        if self._told or any(each.is_due for each in self._open):
            self._plan()

    # -- a round ----------------------------------------------------------------------------------------------------

    async def _round(self) -> None:
        began = self._loop.time()
        groups = self._due()
        asked = [streams[0] for streams in groups.values()]
        found = await self._loop.run_in_executor(self._threads, lambda: [_told(each) for each in asked])
        written = 0
        for streams, told in zip(groups.values(), found, strict=True):
            for stream in streams:
                self._deliver(stream, told)
                written += 1
                if written % SLICE == 0:
                    await asyncio.sleep(0)
        ended = self._loop.time()
        self._rests_until = ended + min((ended - began) * REST, LONGEST_REST)

    def _due(self) -> dict[Hashable, list[Stream]]:
        """The streams that there may be news for, by group."""
        told, self._told = self._told, set()
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
            if news.has_more:  # no faster than the client takes it
                written.add_done_callback(lambda _: self._go_on(stream))

    def _go_on(self, stream: Stream) -> None:
        stream.is_due = True
        self._plan()


def wants_events(accept: str) -> bool:
    """Whether the header Accept asks for a stream, and would take nothing else of ours.

    >>> [wants_events(text) for text in ("text/event-stream", "application/json, text/event-stream", "*/*")]
    [True, False, False]
    """
    kinds = {each.partition(";")[0].strip().lower() for each in accept.split(",")}
    return MEDIA_TYPE in kinds and "application/json" not in kinds


def stopping() -> Unavailable:
    """What is told to those who come too late."""
    return Unavailable("the service is stopping; try again", retry_after=STOPPING_SECONDS)


def _told(stream: Stream) -> GroupNews:
    """What the group of a stream is told; on a thread, and never raises."""
    nothing = News([], stream.cursor)
    try:
        news = stream.feed.news(stream.follower.context(), stream.cursor)
    except HelpdeskError as error:
        return GroupNews(nothing, error=error)
    except Exception:
        LOG.exception("stream.failed", id=stream.id)
        return GroupNews(nothing, error=HelpdeskError(lazy_gettext(errors.BUG_MESSAGE, id=stream.id)))
    return GroupNews(news, _body(news))


def _body(news: News) -> bytes:
    """The events, and where to go on when that is behind the last of them; b"" without events."""
    if not news.events:
        return b""
    events = b"".join(_event(cursor, payload) for cursor, payload in news.events)
    return events if news.events[-1][0] == news.cursor else events + _cursor(news.cursor)


def _event(cursor: int, payload: dict[str, Any]) -> bytes:
    return f"id: {cursor}\ndata: {_json(payload)}\n\n".encode()


def _named(name: str, news: News) -> bytes:
    """The events of one of several feeds."""
    return b"".join(
        f"data: {_json({'feed': name, 'id': cursor, 'data': payload})}\n\n".encode() for cursor, payload in news.events
    )


def _end_of(feed: Feed, error: HelpdeskError) -> bytes:
    if feed.name:
        return f"data: {_json({'feed': feed.name, 'end': errors.body(error)})}\n\n".encode()
    return f"event: end\ndata: {_json(errors.body(error))}\n\n".encode()


def _heartbeat(stream: Stream) -> bytes:
    """A sign of life; with its cursor, where nothing was told up to there: who connects again goes on behind it."""
    return HEARTBEAT if stream.feed.name or stream.cursor == stream.noted else _cursor(stream.cursor)


def _cursor(cursor: int) -> bytes:
    return f"id: {cursor}\n\n".encode()


def _json(payload: dict[str, Any]) -> str:
    return json.dumps(payload, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
