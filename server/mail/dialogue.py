"""What we and a mail server said to each other, for somebody who sets one up. Passwords and tokens are left out, and so
are mails.

It is recorded only where somebody asks for it: connections that are made inside `recorded` find it by themselves."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

MAX_LINES = 200  # of one dialogue; what follows is left out
MAX_LINE_CHARACTERS = 300  # of one of its lines
_SECRET = re.compile(r"^(\S+ +)?(AUTH(?:ENTICATE)? +\S+|LOGIN|PASS)\b.*", re.IGNORECASE | re.DOTALL)
_current: ContextVar["Dialogue | None"] = ContextVar("dialogue", default=None)


class Dialogue:
    """lines: what we said begins with >, what the server said with <."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def sent(self, data: str | bytes, is_secret: bool = False) -> None:
        """We sent this. is_secret: it answers a question for a password."""
        text = _text(data)
        if text.strip().count("\n"):
            self._add(f"> (a mail of {len(data):,} bytes)")
        elif is_secret and not _SECRET.match(text) and not text.upper().startswith(("EHLO", "HELO")):
            self._add("> (left out)")
        else:
            self._add("> " + _SECRET.sub(r"\1\2 (left out)", text.strip()))

    def heard(self, data: str | bytes) -> None:
        """The server said this."""
        for line in _text(data).splitlines() or [""]:
            self._add(f"< {line}")

    def _add(self, line: str) -> None:
        if len(self.lines) < MAX_LINES:
            shown = "".join(char if char.isprintable() else " " for char in line)
            self.lines.append(shown[:MAX_LINE_CHARACTERS].rstrip())


@contextmanager
def recorded() -> Iterator[Dialogue]:
    """Record what is said by connections that are made inside, on this thread."""
    made = Dialogue()
    mark = _current.set(made)
    try:
        yield made
    finally:
        _current.reset(mark)


def current() -> Dialogue | None:
    """The dialogue that is recorded just now, None for none."""
    return _current.get()


def _text(data: str | bytes) -> str:
    return data.decode("utf-8", "replace") if isinstance(data, bytes) else data
