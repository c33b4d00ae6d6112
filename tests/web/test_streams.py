"""Streams over HTTP: their events and recipients, resuming, what ends them, and how many are allowed."""

import asyncio
import re
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import requests

from server.errors import Forbidden
from server.web import streams
from server.web.endpoint_call import Feed, News
from server.web.meter import Meter
from server.web.streams import Follower, Stream, Streams
from tests.api.minimal import made
from tests.api.test_changes import Log
from tests.api.test_tokens import token_for
from tests.following import EVENTS, PATH, Following
from tests.records.desk import Desk
from tests.service import Api, Server, people


def test_it_sends_the_same_events_as_the_page(api: Api) -> None:
    log = Log(api)
    with Following(api) as stream:
        org = made(api, "org")
        api.update("org", org, name="Kite").ok()
        api.remove("org", org).ok()
        told = [stream.next() for _ in range(3)]
    page = api.get(PATH, since=log.cursor).ok()
    assert [each.data for each in told] == page["results"] and told[-1].id == str(page["cursor"])


def test_it_resumes_where_it_was_cut_off(api: Api) -> None:
    with Following(api, types="org") as stream:
        first = made(api, "org")
        assert stream.change() == ("created", "org", first)
        last = stream.last
    second, _, third = made(api, "org"), made(api, "task"), made(api, "org")
    with Following(api, last=last, types="org", since=0) as stream:  # the last received event takes precedence
        assert [stream.change() for _ in range(2)] == [("created", "org", second), ("created", "org", third)]
        fourth = made(api, "org")
        assert stream.change() == ("created", "org", fourth)
    with Following(api, since=last, types="org") as stream:
        assert stream.change() == ("created", "org", second)


REFUSED = [
    ({"Last-Event-ID": "x"}, {}, 422),
    ({"Last-Event-ID": str(2**62)}, {}, 410),
    ({}, {"since": "x"}, 422),
    ({}, {"types": "tickt"}, 422),
    ({"Authorization": "Bearer svc_at_unknown"}, {}, 401),
    ({"Authorization": ""}, {}, 401),
]


@pytest.mark.parametrize(("headers", "params", "status"), REFUSED)
def test_a_stream_that_cannot_begin_is_refused_like_any_request(
    api: Api, headers: dict[str, str], params: dict[str, str], status: int
) -> None:
    response = api.session.get(api.url + PATH, params=params, headers=EVENTS | headers, timeout=60)
    assert response.status_code == status and response.json()["__status"] == "error"


def test_a_request_that_does_not_accept_a_stream_gets_none(api: Api) -> None:
    for accept in ("application/json, text/event-stream", "*/*", "text/html"):
        response = api.session.get(api.url + PATH, headers={"Accept": accept}, timeout=60)
        assert response.headers["Content-Type"].startswith("application/json"), accept
    head = api.session.head(api.url + PATH, headers=EVENTS, timeout=60)
    assert head.status_code == 200 and head.content == b""


def test_all_of_many_streams_get_an_event(api: Api) -> None:
    """More streams than one round writes to."""
    with ExitStack() as opened:
        listening = [opened.enter_context(Following(api, types="org")) for _ in range(45)]
        orgs = [made(api, "org") for _ in range(3)]
        for stream in listening:
            assert [stream.change()[2] for _ in orgs] == orgs


# -- recipients --------------------------------------------------------------------------------------------------------


def test_events_of_unreadable_records_are_not_sent(api: Api) -> None:
    """Neither when the record is created, changed or deleted, nor when it moves; readable events follow."""
    olga = api.as_("olga")
    with Following(olga) as stream:
        secret = made(api, "ticket", group_id=api.ids["private"])
        comment = made(api, "comment", target__context="ticket", target_id=secret)
        snippet = made(api, "snippet", owner__context="worker", owner_id=api.ids["nora"])
        for uri, id in (("comment", comment), ("snippet", snippet)):
            api.remove(uri, id).ok()
        api.update("ticket", secret, subject="Salaries").ok()
        org, hidden = made(api, "org"), {("ticket", secret), ("comment", comment), ("snippet", snippet)}
        assert not stream.until(("created", "org", org)) & hidden
        api.update("ticket", secret, group_id=api.ids["support"]).ok()
        assert not stream.until(("updated", "ticket", secret)) & hidden
        api.update("ticket", secret, group_id=api.ids["private"]).ok()
        api.update("org", org, name="Kites").ok()
        assert not stream.until(("updated", "org", org)) & hidden


def test_leaving_a_group_ends_it_and_later_events_are_not_sent(api: Api) -> None:
    olga, group = api.as_("olga"), made(api, "group", is_private=1)
    api.update("group", group, members={"member": str(api.ids["olga"])}).ok()
    with Following(olga, types="ticket") as stream:
        first = made(api, "ticket", group_id=group)
        assert stream.change() == ("created", "ticket", first)
        api.update("group", group, members={"remove": str(api.ids["olga"])}).ok()
        made(api, "ticket", group_id=group)
        assert stream.end()["__error"] == "ERROR_PERMISSIONS"
        last = stream.last
    with Following(olga, types="ticket", last=last) as stream:
        seen = made(api, "ticket")
        assert stream.change() == ("created", "ticket", seen)


def revoked(api: Api, token: Api, app: int) -> None:
    form = {"token": token.token, "client_id": api.record("oauth_app", app)["client_id"]}
    requests.post(f"{api.url}/oauth/revoke", data=form, timeout=60)


def removed(api: Api, token: Api, app: int) -> None:
    api.remove("oauth_app", app).ok()


def without_scope(api: Api, token: Api, app: int) -> None:
    api.update("oauth_app", app, scopes='all: {label: A, endpoints: ["records/*"]}').ok()


def with_fewer_types(api: Api, token: Api, app: int) -> None:
    api.update("oauth_app", app, scopes='all: {label: A, endpoints: [changes, "records/org/*"]}').ok()


def disabled(api: Api, token: Api, app: int) -> None:
    api.update("worker", api.ids["ida"], is_disabled=1).ok()


ENDS: list[tuple[Callable[[Api, Api, int], None], str]] = [
    (revoked, "ERROR_UNAUTHORIZED"),
    (removed, "ERROR_UNAUTHORIZED"),
    (without_scope, "ERROR_SCOPE"),
    (with_fewer_types, "ERROR_PERMISSIONS"),
    (disabled, "ERROR_UNAUTHORIZED"),
]


@pytest.mark.parametrize(("end", "error"), ENDS, ids=[each.__name__ for each, _ in ENDS])
def test_losing_its_basis_ends_it(api: Api, end: Callable[[Api, Api, int], None], error: str) -> None:
    api.ids["ida"] = made(api, "worker")
    app = made(api, "oauth_app", scopes='all: {label: A, endpoints: ["*"]}', is_public=1)
    token = token_for(api, "ida", app, "all")
    with Following(token, types="task,org") as stream:
        task = made(api, "task")
        assert stream.change() == ("created", "task", task)
        end(api, token, app)
        made(api, "task")  # no longer sent
        assert stream.end()["__error"] == error


# -- the whole service -------------------------------------------------------------------------------------------------


@pytest.fixture
def small(tmp_path: Path) -> Iterator[tuple[Server, Api]]:
    """A server with room for three streams, two of them per worker."""
    server = Server(tmp_path / "data", env={"HELPDESK_MAX_STREAMS": "3", "HELPDESK_MAX_WORKER_STREAMS": "2"})
    nora = server.set_up()
    people(nora)
    yield server, nora
    server.stop()


def refused(api: Api) -> tuple[int, str | None]:
    response = api.session.get(api.url + PATH, headers=EVENTS, timeout=60)
    return response.status_code, response.headers.get("Retry-After")


def numbers(server: Server) -> dict[str, float]:
    text = requests.get(f"{server.url}/metrics", timeout=60).text
    return {name: float(value) for name, value in re.findall(r"^helpdesk_(stream\w*) (\S+)$", text, re.MULTILINE)}


def test_the_settings_limit_the_number_of_streams_which_are_counted(small: tuple[Server, Api]) -> None:
    server, nora = small
    milo, olga = nora.as_("milo"), nora.as_("olga")
    with ExitStack() as opened:
        first, second = (opened.enter_context(Following(nora, types="org")) for _ in range(2))
        assert refused(nora) == (429, "10")
        third = opened.enter_context(Following(milo, types="org"))
        assert refused(olga) == (503, "10")
        made(nora, "org")
        for stream in (first, second, third):
            stream.change()
        assert numbers(server) == {"streams": 3, "stream_events_total": 3, "streams_cut_total": 0}
        milo.record("worker", nora.ids["milo"]).ok()  # the token of a stream may still call endpoints
        assert Log(nora).new_events() == []
    with ExitStack() as opened:  # streams that ended have made room
        again = until(lambda: opened.enter_context(Following(olga, types="org")))
        made(nora, "org")
        again.change()


def until(begin: Callable[[], Following]) -> Following:
    """Begins a stream as soon as there is room; the server notices disconnected clients a moment later."""
    while True:
        try:
            return begin()
        except AssertionError as error:
            assert "already open" in str(error)


def test_a_stopping_server_ends_them(small: tuple[Server, Api]) -> None:
    server, nora = small
    with Following(nora) as first, Following(nora.as_("milo")) as second:
        made(nora, "org")
        for stream in (first, second):
            assert stream.change()[1] == "org"
        assert server.stop() == 0
        for stream in (first, second):
            assert "stopping" in stream.end()["message"]


# -- in isolation, with fake connections -------------------------------------------------------------------------------


class Pipe:
    """A connection whose other side reads only when `take` is called. written: the bytes sent."""

    def __init__(self) -> None:
        self.written = b""
        self.is_closed = self.is_finished = False
        self._total_write_index = self._total_write_done_index = 0
        self.stream = self
        self.taken: list[asyncio.Future[None]] = []

    def set_close_callback(self, callback: Callable[[], None] | None) -> None:
        self.closing = callback

    def write(self, data: bytes) -> asyncio.Future[None]:
        self.written += data
        self._total_write_index += len(data)
        self.taken.append(asyncio.get_running_loop().create_future())
        return self.taken[-1]

    def take(self) -> None:
        """Reads everything that was sent."""
        self._total_write_done_index = self._total_write_index
        for each in self.taken:
            each.set_result(None)
        self.taken = []

    def finish(self) -> None:
        self.is_finished = True

    def close(self) -> None:
        self.is_closed = True

    def closed(self) -> bool:
        return self.is_closed


class Broadcast:
    """Streams of a desk whose events are the numbers after a cursor, up to `last`; each is read in batches of `size`
    bytes."""

    def __init__(self, desk: Desk, size: int = 1, page: int = 1000) -> None:
        self.desk, self.size, self.page = desk, size, page
        self.meter = Meter()
        self.streams = Streams(desk.service, self.meter, False)
        self.last = 0
        self.asked: list[int] = []
        self.error: Exception | None = None
        self.hidden: set[int] = set()

    def news(self, ctx: Any, cursor: int) -> News:
        self.asked.append(cursor)
        if self.error is not None:
            raise self.error
        end = min(cursor + self.page, self.last)
        shown = [id for id in range(cursor + 1, end + 1) if id not in self.hidden]
        return News([(id, {"x": "." * self.size}) for id in shown], end, end < self.last)

    def open(self, key: str = "nora", since: int = 0) -> Pipe:
        pipe: Any = Pipe()
        feed, follower = Feed("numbers", "all", since, self.news), Follower(key, 1, self.desk.context)
        self.streams.add(Stream(pipe, feed, follower, "id"))
        return pipe

    async def rounds(self) -> None:
        """Runs rounds until none is due."""
        await asyncio.sleep(0)
        while self.streams._timer is not None or self.streams.is_busy:
            if self.streams._timer is not None:  # runs it now instead of after the pause
                self.streams._timer.cancel()
                self.streams._begin()
            await asyncio.sleep(0)

    async def __aenter__(self) -> "Broadcast":
        return self

    async def __aexit__(self, *error: object) -> None:
        self.streams.close()

    def publish(self, last: int) -> None:
        self.last = last
        self.streams._mark_channel("numbers")


def ids(pipe: Pipe) -> list[int]:
    return [int(each) for each in re.findall(rb"id: (\d+)\ndata", pipe.written)]


def apart(work: Coroutine[Any, Any, None]) -> None:
    """Runs it on a separate event loop: a browser of other tests may keep one running on this thread."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(asyncio.run, work).result()


def test_streams_with_the_same_events_share_one_read(desk: Desk) -> None:
    async def run() -> None:
        async with Broadcast(desk) as here:
            pipes = [here.open() for _ in range(120)] + [here.open("milo"), here.open(since=2)]
            here.publish(3)
            await here.rounds()
            assert [ids(pipe) for pipe in pipes] == [[1, 2, 3]] * 121 + [[3]]
            assert sorted(here.asked) == [0, 0, 2]
            here.asked.clear()
            here.publish(4)
            await here.rounds()
            assert [ids(pipe)[-1] for pipe in pipes] == [4] * 122 and here.asked == [3, 3]
            assert here.meter.events_sent == 121 * 3 + 1 + 122
        assert all(pipe.is_finished for pipe in pipes)

    apart(run())


def test_only_a_client_that_does_not_read_is_cut_off(desk: Desk) -> None:
    async def run() -> None:
        async with Broadcast(desk, size=streams.MAX_PENDING_BYTES) as here:
            slow, other = here.open(), here.open()
            for last in (1, 2, 3):
                here.publish(last)
                await here.rounds()
                other.take()
            assert slow.is_closed and not other.is_closed
            assert ids(slow) == [1] and ids(other) == [1, 2, 3] and here.meter.streams_cut == 1

    apart(run())


def test_a_client_far_behind_is_served_no_faster_than_it_reads(desk: Desk) -> None:
    async def run() -> None:
        async with Broadcast(desk, page=10) as here:
            here.last = 25
            pipe = here.open()
            for until in (10, 20, 25, 25):
                for _ in range(3):  # events that arrive in the meantime
                    await here.rounds()
                    here.publish(25)
                assert ids(pipe) == list(range(1, until + 1))
                pipe.take()

    apart(run())


def test_without_events_a_client_still_learns_where_to_resume(desk: Desk) -> None:
    async def run() -> None:
        async with Broadcast(desk, page=10) as here:
            here.last, here.hidden = 15, set(range(1, 16))
            pipe = here.open()
            await here.rounds()
            assert pipe.written.endswith(b"id: 10\n\n")  # since more events follow
            pipe.take()
            await here.rounds()
            assert pipe.written.endswith(b"id: 10\n\n")
            here.hidden |= {17, 18}
            here.publish(17)
            await here.rounds()
            assert ids(pipe) == [16] and pipe.written.endswith(b"id: 17\n\n")
            here.publish(18)
            await here.rounds()
            assert pipe.written.endswith(b"id: 17\n\n")
            here.streams._beat()
            await here.rounds()
            assert pipe.written.endswith(b"id: 18\n\n")

    apart(run())


def test_in_silence_it_sends_heartbeats_and_checks_its_caller(desk: Desk) -> None:
    async def run() -> None:
        async with Broadcast(desk) as here:
            pipe, gone = here.open(), here.open("milo")
            await here.rounds()
            begun = len(pipe.written)
            here.streams._beat()
            await here.rounds()
            assert pipe.written[begun:] == streams.HEARTBEAT
            assert gone.closing is not None
            gone.closing()  # the client disconnected
            here.streams._beat()
            await here.rounds()
            assert here.asked == [0, 0, 0, 0, 0]
            here.error = Forbidden("no more")
            here.streams._beat()
            await here.rounds()
            assert pipe.is_finished and b'event: end\ndata: {"__error":"ERROR_PERMISSIONS"' in pipe.written
            here.streams._beat()
            assert here.streams._beat_timer is None  # no streams remain

    apart(run())


def test_a_bug_ends_only_the_stream_that_meets_it(desk: Desk) -> None:
    async def run() -> None:
        async with Broadcast(desk) as here:
            pipe = here.open()
            here.error = KeyError("x")
            here.publish(1)
            await here.rounds()
            assert pipe.is_finished and b"ERROR_SERVER" in pipe.written and b"KeyError" not in pipe.written

    apart(run())


def test_events_of_other_channels_are_not_read(desk: Desk) -> None:
    async def run() -> None:
        async with Broadcast(desk) as here:
            here.open()
            await here.rounds()
            desk.create("org", name="Kite")  # published on its own channel
            await asyncio.sleep(0)
            assert not here.streams._fresh
            here.asked.clear()
            await here.rounds()
            assert here.asked == []
        assert desk.service.followers == []

    apart(run())
