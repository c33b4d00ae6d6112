"""Parses a worker's reply to mail about a ticket: the text without quotations, and the command lines.

A line with `##` is text, since Markdown has headings. All text below the marker line is omitted."""

import re
from dataclasses import replace

from server.dataclass import dataclass
from server.errors import Invalid, nearest
from server.markup import quoted
from server.tickets.types.ticket_parts.status import CLOSED, OPEN, WAITING

ABOVE = "##-"  # begins the marker line, above which the worker replies, in any language
STATUSES = {"o": OPEN, "open": OPEN, "w": WAITING, "waiting": WAITING, "c": CLOSED, "closed": CLOSED}
SIGNATURE = "#signature"
_COMMAND = re.compile(r"#([a-z]+)(?:[ \t:]+(.*))?\Z", re.IGNORECASE)
_BLOCKS = ("comment", "note")


@dataclass(frozen=True, slots=True)
class MailedReply:
    """text: the reply, with `#signature` lines unchanged. comments: texts for the team. status: of STATUSES, None for
    the default. reopen: a time text, "" for none. is_watched: None for no change. is_silent: no text, only commands."""

    text: str
    comments: tuple[str, ...] = ()
    status: int | None = None
    reopen: str = ""
    is_watched: bool | None = None
    is_silent: bool = False


def read(text: str) -> MailedReply:
    """Parses a worker's reply by mail. Raises Invalid for an unknown command; `said` returns the text without commands.

    >>> read("Yes.\\n#status closed\\n\\nOn Monday Ida wrote:\\n> Is it?")
    MailedReply(text='Yes.', comments=(), status=2, reopen='', is_watched=None, is_silent=False)
    """
    return _Reader().read(said(text))


def said(text: str) -> str:
    """The text that the author wrote: without quotes, without the signature, above the marker line."""
    own_text = "\n".join(part for kind, part in quoted.parts(text) if kind == "said")
    above: list[str] = []
    for line in own_text.split("\n"):
        if line.lstrip().startswith(ABOVE):
            break
        above.append(line)
    return "\n".join(above).strip()


class _Reader:
    def __init__(self) -> None:
        self._lines: list[str] = []
        self._comments: list[str] = []
        self._block: list[str] | None = None
        self._found = MailedReply("")

    def read(self, text: str) -> MailedReply:
        for line in text.split("\n"):
            if not self._take(line):
                break
        self._end_block()
        comments = tuple(filter(None, (each.strip() for each in self._comments)))
        return replace(self._found, text="\n".join(self._lines).strip(), comments=comments)

    def _take(self, line: str) -> bool:
        """Parses one line; returns False at the end of the relevant text."""
        match = _COMMAND.match(line.strip())
        name, rest = (match[1].lower(), (match[2] or "").strip()) if match else ("", "")
        if self._block is not None:
            if name == "end":
                self._end_block()
            else:
                self._block.append(line)
            return True
        return self._command(name, rest, line)

    def _command(self, name: str, rest: str, line: str) -> bool:
        match name:
            case "cut":
                return False
            case "comment":
                self._comments.append(rest)
            case "start" if rest.lower() in _BLOCKS:
                self._block = []
            case "watch" | "unwatch" if not rest:
                self._found = replace(self._found, is_watched=name == "watch")
            case "noreply" if not rest:
                self._found = replace(self._found, is_silent=True)
            case "status":
                self._found = replace(self._found, status=_status(rest))
            case "reopen":
                self._found = replace(self._found, reopen=rest)
            case _:
                self._lines.append(SIGNATURE if name.startswith("sig") else line)
        return True

    def _end_block(self) -> None:
        if self._block is not None:
            self._comments.append("\n".join(self._block))
            self._block = None


def _status(text: str) -> int:
    status = STATUSES.get(text.lower())
    if status is None:
        raise Invalid(f"#status {text[:30]}: write open, waiting or closed{nearest(text.lower(), STATUSES)}")
    return status
