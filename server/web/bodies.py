"""What the bodies of requests under way take of the memory: a bound for all of them, and a share of it for each address
and for each site that anybody may send to, so that none takes what the others need."""

from collections.abc import Callable, Iterable

from server.errors import TooLarge, Unavailable

MAX_BODIES_BYTES = 512 * 1024 * 1024  # of all requests under way, in memory; further large ones are told to come back
SHARES = 4  # of the bound: one address has one of them, and so has all that is sent to webhooks
SMALL_BODY_BYTES = 256 * 1024  # up to here a request may go on until twice of the bound, or of its share, is held
LARGE_BYTES = 16 * 1024 * 1024  # held at once; when they are let go of, the system is given its memory back
RETRY_SECONDS = 1
DISCARD_FACTOR = 4  # a body this many times its limit is read and thrown away, so that the client gets its answer
ALL = ""


class BodyMeter:
    """Counts on the event loop. after_large: called when little is held again after much was."""

    def __init__(self, after_large: Callable[[], None] = lambda: None) -> None:
        self._after_large = after_large
        self._was_large = False
        self._held: dict[str, int] = {}

    @property
    def held(self) -> int:
        """Bytes of all bodies."""
        return self._held.get(ALL, 0)

    def take(self, sharers: Iterable[str], size: int, of_request: int) -> None:
        """Count `size` more bytes of a request, which holds `of_request` with them. sharers: whose share they come out
        of. Raises Unavailable, and counts them anyway, when nothing is left; one request alone may be as large
        as its site lets it be."""
        times = 1 if of_request > SMALL_BODY_BYTES else 2
        is_over = False
        for each, most in _bounds(sharers):
            held = self._held[each] = self._held.get(each, 0) + size
            is_over = is_over or held > max(most * times, of_request)
        self._was_large = self._was_large or self.held > LARGE_BYTES
        if is_over:
            raise Unavailable("too many large requests at once; try again", retry_after=RETRY_SECONDS)

    def let_go(self, sharers: Iterable[str], size: int) -> None:
        """Stop counting that many bytes."""
        for each, _ in _bounds(sharers):
            left = self._held.pop(each, 0) - size
            if left > 0:
                self._held[each] = left
        if self._was_large and self.held <= LARGE_BYTES:
            self._was_large = False
            self._after_large()


class IncomingBody:
    """The body of one request as it arrives. limit: of its site, in bytes. sharers: whose share of the memory it comes
    out of."""

    def __init__(self, meter: BodyMeter) -> None:
        self.limit = 0
        self.sharers: tuple[str, ...] = ()
        self._meter = meter
        self._pieces: list[bytes] = []
        self._received = 0
        self._held = 0

    @property
    def is_arriving(self) -> bool:
        """Whether some of it is here, and not all."""
        return bool(self._pieces)

    def take(self, chunk: bytes) -> None:
        """Keep one more piece. Raises TooLarge, Unavailable, and has let go of all of it then."""
        self._received += len(chunk)
        if self._received > self.limit:
            self.let_go()
            raise self.too_large()
        self._pieces.append(chunk)
        self._held += len(chunk)
        try:
            self._meter.take(self.sharers, len(chunk), self._held)
        except Unavailable:
            self.let_go()
            raise

    def discard(self, chunk: bytes) -> bool:
        """Throw one more piece away. Whether that is more than anybody is listened to."""
        self._received += len(chunk)
        return self._received > self.most_discarded

    @property
    def most_discarded(self) -> int:
        """Bytes that are read and thrown away."""
        return self.limit * DISCARD_FACTOR

    def whole(self) -> bytes:
        """All of it, once."""
        body = b"".join(self._pieces)
        self._pieces.clear()
        return body

    def let_go(self) -> None:
        """It is answered, or not wanted: its memory is for others."""
        self._pieces.clear()
        if self._held:
            self._meter.let_go(self.sharers, self._held)
            self._held = 0

    def too_large(self) -> TooLarge:
        return TooLarge(f"the body is larger than {self.limit} bytes, the most that this address takes")


def _bounds(sharers: Iterable[str]) -> list[tuple[str, int]]:
    return [(ALL, MAX_BODIES_BYTES), *((each, MAX_BODIES_BYTES // SHARES) for each in sharers)]
