"""Progress on standard error: a bar in a terminal, otherwise a line now and then."""

import sys
import time
from collections.abc import Callable
from typing import TextIO

BAR_WIDTH = 30  # characters
DRAW_SECONDS = 0.1  # interval of updates of the bar
LINE_SECONDS = 10  # interval of lines without a terminal


class Progress:
    """Shows the number of finished items, the rate, and the estimated remaining time. seconds: a monotonic clock."""

    def __init__(self, stream: TextIO | None = None, seconds: Callable[[], float] = time.monotonic) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._is_bar = self._stream.isatty()
        self._seconds = seconds
        self._began = seconds()
        self._first = -1  # items that an earlier run had done, which do not count for the rate
        self._drawn = self._began

    def show(self, done: int, total: int) -> None:
        """Reports progress."""
        if self._first < 0:
            self._first = done - 1
        now = self._seconds()
        is_last = self._is_bar and done >= total
        if now - self._drawn < (DRAW_SECONDS if self._is_bar else LINE_SECONDS) and not is_last:
            return
        self._drawn = now
        if self._is_bar:
            filled = BAR_WIDTH * done // max(total, 1)
            bar = "#" * filled + "." * (BAR_WIDTH - filled)
            self._write(f"\r[{bar}] {self._text(done, total, now)}\033[K")
        else:
            self._write(self._text(done, total, now) + "\n")

    def say(self, text: str) -> None:
        """Writes a line."""
        self._write(f"{chr(13) if self._is_bar else ''}{text}{chr(27) + '[K' if self._is_bar else ''}\n")

    def step(self, text: str) -> None:
        """Writes a line in a terminal; elsewhere only if there was none for a while, so that quick work prints
        nothing."""
        now = self._seconds()
        if self._is_bar or now - self._drawn >= LINE_SECONDS:
            self._drawn = now
            self.say(text)

    def end(self) -> None:
        """Ends the output."""
        if self._is_bar:
            self._write("\n")

    def _text(self, done: int, total: int, now: float) -> str:
        """
        >>> clock = iter((0.0, 1.0, 4.0)).__next__
        >>> import io
        >>> progress = Progress(io.StringIO(), clock)
        >>> progress.show(1, 500)
        >>> progress._text(401, 500, clock())
        '401/500, 100 a second, about 1 s left'
        """
        rate = (done - self._first) / max(now - self._began, 0.001)
        remaining = _duration(round((total - done) / rate)) if rate else "unknown"
        return f"{done}/{total}, {rate:.0f} a second, about {remaining} left"

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()


def _duration(seconds: int) -> str:
    """
    >>> _duration(59), _duration(61), _duration(7260)
    ('59 s', '1 min 1 s', '2 h 1 min')
    """
    if seconds < 60:
        return f"{seconds} s"
    minutes, seconds = divmod(seconds, 60)
    return f"{minutes} min {seconds} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
