"""The load generator, in a separate process so that it does not share an interpreter with the measured code.

    python -m tests.bench.load < plan.json

The plan is a `Plan` as JSON; the measurements are printed as one JSON object. Plain sockets, prepared bytes,
keep-alive, one request at a time on each connection; responses must have Content-Length. Not a general HTTP
client."""

import json
import re
import selectors
import socket
import sys
import time
from dataclasses import asdict, dataclass, field

# Placeholder for a number that is unique per request; as long as the number, so that Content-Length is correct, and of
# characters that no encoding changes.
COUNTER = "COUNTER0000"
RECEIVE_BYTES = 1 << 18
MOST_SECONDS = 30.0  # longest wait for the first response, if none came in the time of the plan

_content_length = re.compile(rb"\r\n[Cc]ontent-[Ll]ength: *(\d+)").search


@dataclass
class Plan:
    """requests: whole HTTP requests, as text of one byte per character, sent in turn over `clients` connections for
    `seconds` after an uncounted warm-up. count_from: the first number for COUNTER.

    per_second: requests are due at this rate, regardless of responses, and wait for a connection when all are in
    use; their time counts from when they were due. 0: each connection sends as soon as it has its response.

    is_once: each request is sent once, without a warm-up, and the load ends with the last response. status: of a good
    response."""

    port: int
    requests: list[str]
    clients: int = 1
    seconds: float = 2.0
    warm_up_seconds: float = 0.3
    count_from: int = 0
    per_second: float = 0.0
    is_once: bool = False
    status: int = 200


@dataclass
class Measured:
    """cpu_us: processor time of the generator per request. server_us: that of the responding process, if measured.
    sent: includes the warm-up."""

    requests: int = 0
    per_second: float = 0.0
    p50_ms: float = 0.0
    p99_ms: float = 0.0
    cpu_us: float = 0.0
    server_us: float = 0.0
    sent: int = 0
    bad: int = 0
    first_bad: str = ""


@dataclass
class Connection:
    """A socket and its pending response. wanted: length of the whole response; -1 if not yet known."""

    socket: socket.socket
    sent_at: float = 0.0
    wanted: int = -1
    received: bytearray = field(default_factory=bytearray)


class Load:
    """Runs one plan."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.requests = [text.encode("latin-1") for text in plan.requests]
        self.counter = COUNTER.encode()
        self.good = f"HTTP/1.1 {plan.status} ".encode()
        self.counted = any(self.counter in request for request in self.requests)
        self.sent = 0
        self.bad = 0
        self.first_bad = b""
        self.latencies: list[float] = []
        self.idle: list[Connection] = []  # used only with `per_second`
        self.due = 0.0  # when the next request is due, with `per_second`
        self.selector = selectors.DefaultSelector()

    def run(self) -> Measured:
        """Warms up, measures, and closes. Raises ConnectionError if the server hangs up."""
        connections = [self._connect() for _ in range(self.plan.clients)]
        self.due = time.perf_counter()
        for connection in connections:
            self._go_on(connection)
        if not self.plan.is_once:
            self._exchange(self.plan.warm_up_seconds)
            self.latencies.clear()
            self.bad = 0
        cpu, started = time.process_time(), time.perf_counter()
        self._exchange(self.plan.seconds)
        while not self.latencies and time.perf_counter() - started < MOST_SECONDS:
            self._exchange(0.1)
        seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
        for connection in connections:
            connection.socket.close()
        return self._measured(seconds, cpu)

    def _connect(self) -> Connection:
        made = socket.create_connection(("127.0.0.1", self.plan.port), timeout=10)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        made.setblocking(False)
        connection = Connection(made)
        self.selector.register(made, selectors.EVENT_READ, connection)
        return connection

    def _exchange(self, seconds: float) -> None:
        """Reads responses and sends the next requests until the time is over; one response per client may stay
        pending."""
        select, clock = self.selector.select, time.perf_counter
        end = clock() + seconds
        while clock() < end and not (self.plan.is_once and len(self.latencies) == len(self.requests)):
            for key, _ in select(self._send_due()):
                connection: Connection = key.data
                if self._receive(connection):
                    self.latencies.append(clock() - connection.sent_at)
                    self._go_on(connection)

    def _go_on(self, connection: Connection) -> None:
        """Lets an idle connection send, or wait until a request is due."""
        if self.plan.per_second:
            self.idle.append(connection)
        elif not (self.plan.is_once and self.sent == len(self.requests)):
            self._send(connection)

    def _send_due(self) -> float:
        """Sends due requests while connections are free; returns the seconds until the next is due."""
        while self.idle and self.due <= time.perf_counter():
            connection = self.idle.pop()
            self._send(connection)
            connection.sent_at = self.due
            self.due += 1 / self.plan.per_second
        return max(min(self.due - time.perf_counter(), 0.1), 0.0) if self.idle else 0.1

    def _send(self, connection: Connection) -> None:
        request = self.requests[self.sent % len(self.requests)]
        if self.counted:
            number = str(self.plan.count_from + self.sent).zfill(len(self.counter)).encode()
            request = request.replace(self.counter, number)
        self.sent += 1
        connection.sent_at = time.perf_counter()
        taken = connection.socket.send(request)
        if taken < len(request):  # a large mail: waiting for room is simpler than a second state
            connection.socket.setblocking(True)
            connection.socket.sendall(request[taken:])
            connection.socket.setblocking(False)

    def _receive(self, connection: Connection) -> bool:
        """Returns True if the response is complete."""
        try:
            got = connection.socket.recv(RECEIVE_BYTES)
        except BlockingIOError:
            return False
        if not got:
            raise ConnectionError("the server closed a connection that it should have kept")
        received = connection.received
        received += got
        if connection.wanted < 0:
            end = received.find(b"\r\n\r\n")
            if end < 0:
                return False
            length = _content_length(received, 0, end)
            if length is None:
                raise ConnectionError(f"an answer without Content-Length: {bytes(received[:end])!r}")
            connection.wanted = end + 4 + int(length[1])
        if len(received) < connection.wanted:
            return False
        if not received.startswith(self.good):
            self.bad += 1
            self.first_bad = self.first_bad or bytes(received[:2000])
        received.clear()
        connection.wanted = -1
        return True

    def _measured(self, seconds: float, cpu: float) -> Measured:
        ordered = sorted(self.latencies) or [0.0]
        return Measured(
            requests=len(self.latencies),
            per_second=len(self.latencies) / seconds,
            p50_ms=ordered[len(ordered) // 2] * 1000,
            p99_ms=ordered[min(int(len(ordered) * 0.99), len(ordered) - 1)] * 1000,
            cpu_us=cpu / max(len(self.latencies), 1) * 1e6,
            sent=self.sent,
            bad=self.bad,
            first_bad=self.first_bad.decode("utf-8", "replace"),
        )


if __name__ == "__main__":
    json.dump(asdict(Load(Plan(**json.load(sys.stdin))).run()), sys.stdout)
