"""Records the conversation with a mail server for an administrator who sets one up. Omits passwords, tokens and mails.

Connections that are opened inside `recorded` find the dialogue by themselves; others are not recorded."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from server.printable import printable

MAX_LINES = 200  # lines of a dialogue; further lines are dropped
MAX_LINE_CHARACTERS = 300  # characters of a line
_SECRET = re.compile(r"^(\S+ +)?(AUTH(?:ENTICATE)? +\S+|LOGIN|PASS)\b.*", re.IGNORECASE | re.DOTALL)
_current: ContextVar["Dialogue | None"] = ContextVar("dialogue", default=None)


class Dialogue:
    """lines: those that we sent begin with >, those of the server with <."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def sent(self, data: str | bytes, is_secret: bool = False) -> None:
        """Records a line that we sent. is_secret: it is the response to a password prompt."""
        text = _text(data)
        if text.strip().count("\n"):
            self._add(f"> (a mail of {len(data):,} bytes)")
        elif is_secret and not _SECRET.match(text) and not text.upper().startswith(("EHLO", "HELO")):
            self._add("> (left out)")
        else:
            self._add("> " + _SECRET.sub(r"\1\2 (left out)", text.strip()))

    def heard(self, data: str | bytes) -> None:
        """Records a line of the server."""
        for line in _text(data).splitlines() or [""]:
            self._add(f"< {line}")

    def _add(self, line: str) -> None:
        if len(self.lines) < MAX_LINES:
            text = printable(line)
            self.lines.append(text[:MAX_LINE_CHARACTERS].rstrip())


@contextmanager
def recorded() -> Iterator[Dialogue]:
    """Records the connections that are opened inside, on this thread, also in an outer dialogue."""
    conversation, outer = Dialogue(), _current.get()
    mark = _current.set(conversation)
    try:
        yield conversation
    finally:
        _current.reset(mark)
        if outer is not None:
            outer.lines += conversation.lines[: MAX_LINES - len(outer.lines)]


def current() -> Dialogue | None:
    """The dialogue of this thread, None if nothing is recorded."""
    return _current.get()


def _text(data: str | bytes) -> str:
    return data.decode("utf-8", "replace") if isinstance(data, bytes) else data
