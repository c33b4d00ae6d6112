"""What the bodies of requests under way take of the memory: a bound for all of them, and a share of it for each address
and for each site that anybody may send to, so that none takes what the others need. Source: ours."""

from collections.abc import Callable, Iterable

from server.errors import Unavailable

MAX_BODIES_BYTES = 512 * 1024 * 1024  # of all requests under way, in memory; further large ones are told to come back
SHARES = 4  # of the bound: one address has one of them, and so has all that is sent to webhooks
SMALL_BODY_BYTES = 256 * 1024  # up to here a request may go on until twice of the bound, or of its share, is held
LARGE_BYTES = 16 * 1024 * 1024  # held at once; when they are let go of, the system is given its memory back
RETRY_SECONDS = 1
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


def _bounds(sharers: Iterable[str]) -> list[tuple[str, int]]:
    return [(ALL, MAX_BODIES_BYTES), *((each, MAX_BODIES_BYTES // SHARES) for each in sharers)]
