"""Lines: indented, quoted, removed, split."""

import re
from typing import Any

from server.template.registry import filter
from server.template.run import Rendering
from server.template.shared.text_values import TextBuffer, lines, listed, read, read_slowly, substituted
from server.template.values import items, keyed, printed, truthy, whole

CHECKS_A_STEP = 8
_END = re.compile(r"\r\n|\n|\r")
_WORD = re.compile(r"\S+")


@filter("indent")
def indent(run: Rendering, value: Any, marker: Any = "", from_line: Any = 0) -> str:
    """The text with a marker before each line, beginning with line `from_line`; the first line is 1."""
    text, mark, first = read(run, value), printed(marker), max(whole(from_line), 1)
    if first > text.count("\n") + 1:
        return text
    run.budget.text(len(text) + (text.count("\n") + 1) * len(mark))
    start = 0
    for _ in range(first - 1):
        start = text.index("\n", start) + 1
        run.budget.step()
    return text[:start] + mark + text[start:].replace("\n", f"\n{mark}")


@filter("nl2br")
def nl2br(run: Rendering, value: Any) -> str:
    """The text with `<br />` before each line end."""
    return substituted(run, read(run, value), _END, lambda end: f"<br />{end[0]}")


@filter("strip_lines")
def strip_lines(run: Rendering, value: Any, prefixes: Any) -> str:
    """The lines that begin with none of the prefixes (a text or a list of texts), with CRLF between them."""
    text = read(run, value)
    prefix_list = items(prefixes) if isinstance(prefixes, (list, dict)) else [prefixes]
    starts = tuple(start for start in listed(run, (printed(each) for each in prefix_list)) if start)
    text_lines = lines(run, text)
    run.budget.step(len(text_lines) * len(starts) // CHECKS_A_STEP)
    return "\r\n".join(line for line in text_lines if not line.startswith(starts))


@filter("split_crlf")
def split_crlf(run: Rendering, value: Any, keep_blanks: Any = False, trim: Any = True) -> Any:
    """The lines of a text, trimmed, by position. Blank lines are left out, and so are their positions."""
    return positions(lines(run, read(run, value)), truthy(keep_blanks), truthy(trim))


def positions(parts: list[str], keep_blanks: bool, trim: bool) -> Any:
    """Returns the parts of a text by position, without the blank ones unless `keep_blanks` is set."""
    if trim:
        parts = [part.strip() for part in parts]
    return keyed((place, part) for place, part in enumerate(parts) if keep_blanks or part.strip())


@filter("quote")
def quote(run: Rendering, value: Any, wrap_to: Any = 76) -> str:
    """The text as mails quote it: `> ` before each line; lines longer than `wrap_to` characters are wrapped between
    words."""
    out, width = TextBuffer(run), whole(wrap_to)
    end = ""
    for line in lines(run, read_slowly(run, value)):
        for part in _wrapped(run, line, width):
            out.add(f"{end}> {part}" if part else f"{end}>")
            end = "\n"
    return out.text()


def _wrapped(run: Rendering, line: str, width: int) -> list[str]:
    if width <= 0 or len(line) <= width:
        return [line]
    broken: list[list[str]] = []
    room = 0
    for word in listed(run, (match[0] for match in _WORD.finditer(line))):
        if broken and len(word) < room:
            broken[-1].append(word)
            room -= 1 + len(word)
        else:
            broken.append([word])
            room = width - len(word)
    return [" ".join(words) for words in broken] or [""]
