"""Requests as commands of curl."""

from collections.abc import Iterable, Sequence
from urllib.parse import quote

_SENT_BY_CURL = ("host", "content-length", "connection", "accept-encoding")  # headers that it sends by itself
_SAFE = "/!*(),;:@&=+$-._~"  # characters that stay what they are in a path


def curl(
    address: str, *, method: str, path: str, query: str, headers: Iterable[Sequence[str]], body: str | bytes
) -> str:
    """Returns a request as a command. address: as a word of the shell. What callers sent must do nothing there: all of
    it is quoted, and --data-raw reads no file."""
    behind = (f"/{quote(path, safe=_SAFE)}" if path else "") + (f"?{query}" if query else "")
    lines = [f"curl --globoff -X {shell_word(method)} {address}{shell_word(behind) if behind else ''}"]
    lines += [f"  -H {shell_word(f'{name}: {value}')}" for name, value in headers if name.lower() not in _SENT_BY_CURL]
    if body:
        text = body if isinstance(body, str) else body.decode("utf-8", "replace")
        lines.append(f"  --data-raw {shell_word(text)}")
    return " \\\n".join(lines)


def shell_word(text: str) -> str:
    """Returns a text as a word of a command line.

    >>> print(shell_word("O'Hara"))
    'O'\\''Hara'
    """
    return "'" + text.replace("'", "'\\''") + "'"
