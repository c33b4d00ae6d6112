"""Bounds the memory for bodies of requests in progress: a limit for all of them, and a share of it for each address
and for each public site, so that none uses up the memory that the others need."""

from collections.abc import Callable, Iterable

from server.errors import TooLarge, Unavailable

MAX_BODIES_BYTES = 512 * 1024 * 1024  # all requests in progress; above it, large ones get a 503
SHARES = 4  # parts of the limit: one for each address, and one for all webhooks together
SMALL_BODY_BYTES = 256 * 1024  # a smaller request may use up to twice the limit or share
LARGE_BYTES = 16 * 1024 * 1024  # amount after whose release memory goes back to the system
RETRY_SECONDS = 1
DISCARD_FACTOR = 4  # times the limit: that much of a body is discarded, so that the client can read the response
ALL = ""


class BodyMeter:
    """Counts the bytes of bodies, on the event loop. after_large: called when usage drops to a low level after a high
    one."""

    def __init__(self, after_large: Callable[[], None] = lambda: None) -> None:
        self._after_large = after_large
        self._was_large = False
        self._held: dict[str, int] = {}

    @property
    def held(self) -> int:
        """Bytes of all bodies."""
        return self._held.get(ALL, 0)

    def take(self, sharers: Iterable[str], size: int, of_request: int) -> None:
        """Counts `size` more bytes of a request that already uses `of_request`. sharers: owners of the shares to
        charge.

        Raises Unavailable, after counting the bytes, if the limit or a share is exceeded. A single request may be as
        large as its site allows."""
        times = 1 if of_request > SMALL_BODY_BYTES else 2
        is_over = False
        for each, most in _bounds(sharers):
            held = self._held[each] = self._held.get(each, 0) + size
            is_over = is_over or held > max(most * times, of_request)
        self._was_large = self._was_large or self.held > LARGE_BYTES
        if is_over:
            raise Unavailable("too many large requests at once; try again", retry_after=RETRY_SECONDS)

    def let_go(self, sharers: Iterable[str], size: int) -> None:
        """Subtracts `size` bytes."""
        for each, _ in _bounds(sharers):
            left = self._held.pop(each, 0) - size
            if left > 0:
                self._held[each] = left
        if self._was_large and self.held <= LARGE_BYTES:
            self._was_large = False
            self._after_large()


class IncomingBody:
    """The body of one request as it arrives. limit: of its site, in bytes. sharers: owners of the shares of memory to
    charge."""

    def __init__(self, meter: BodyMeter) -> None:
        self.limit = 0
        self.sharers: tuple[str, ...] = ()
        self._meter = meter
        self._pieces: list[bytes] = []
        self._received = 0
        self._held = 0

    @property
    def is_arriving(self) -> bool:
        """Whether a part of the body has arrived, but not the whole."""
        return bool(self._pieces)

    def take(self, chunk: bytes) -> None:
        """Appends a piece. Raises TooLarge or Unavailable after releasing all pieces."""
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
        """Counts a discarded piece; returns whether the client has now sent more than the server is willing to
        discard."""
        self._received += len(chunk)
        return self._received > self.most_discarded

    @property
    def most_discarded(self) -> int:
        """The number of bytes that are read and discarded."""
        return self.limit * DISCARD_FACTOR

    def whole(self) -> bytes:
        """Returns the complete body; may be called once."""
        body = b"".join(self._pieces)
        self._pieces.clear()
        return body

    def let_go(self) -> None:
        """Releases the memory of the body, when the request is finished or refused."""
        self._pieces.clear()
        if self._held:
            self._meter.let_go(self.sharers, self._held)
            self._held = 0

    def too_large(self) -> TooLarge:
        return TooLarge(f"the body is larger than {self.limit} bytes, the limit of this address")


def _bounds(sharers: Iterable[str]) -> list[tuple[str, int]]:
    return [(ALL, MAX_BODIES_BYTES), *((each, MAX_BODIES_BYTES // SHARES) for each in sharers)]
