"""Tables as CSV text."""

import re
from typing import Any

from server.cells import guarded
from server.errors import TemplateFailed
from server.template.registry import filter
from server.template.run import Rendering
from server.template.shared.text_values import TextBuffer, read_text
from server.template.values import items, printed

CHARS_A_STEP = 64
_QUOTED = frozenset(' ,"\\\n\r\t')


@filter("csv")
def csv_(run: Rendering, value: Any) -> str:
    """The rows of a list as lines of comma-separated values. Rows that are not lists are left out. A value that a
    spreadsheet would read as a formula gets a leading quote, unless it is a number."""
    out = TextBuffer(run)
    for row in items(value):
        run.budget.step()
        if not isinstance(row, (list, dict)):
            continue
        for place, cell in enumerate(items(row)):
            run.budget.step()
            out.add("," if place else "")
            out.add(_cell(guarded(printed(cell))))
        out.add("\n")
    return out.text()


def _cell(text: str) -> str:
    return text if _QUOTED.isdisjoint(text) else '"' + text.replace('"', '""') + '"'


@filter("parse_csv")
def parse_csv(run: Rendering, value: Any, separator: Any = ",", enclosure: Any = '"', escape: Any = "\\") -> list[Any]:
    """The rows of a CSV text, each a list of texts; blank lines are left out. escape: a character after which the
    enclosure does not end the value. Raises TemplateFailed for marks that are not a single character."""
    text = read_text(run, value)
    if text is None:
        return []
    marks = (("separator", separator), ("enclosure", enclosure), ("escape", escape))
    cell = _pattern(*(_mark(printed(mark), name) for name, mark in marks))
    quote = printed(enclosure)
    rows: list[list[str]] = [[]]
    place = 0
    while place < len(text):
        match = cell.match(text, place)
        assert match is not None  # every position matches a cell, at least an empty one
        run.budget.entries(1 + len(match[0]) // CHARS_A_STEP)
        place = match.end()
        inside = match["inside"]
        rows[-1].append(match["plain"] if inside is None else inside.replace(quote * 2, quote) + match["behind"])
        if match["end"] in ("\n", "\r", "\r\n"):
            rows.append([])
        elif place == len(text) and match["end"]:
            rows[-1].append("")
    return [row for row in rows if row not in ([], [""])]


def _mark(text: str, name: str) -> str:
    if len(text) != 1 or text in "\r\n":
        raise TemplateFailed(f"the {name} of a CSV text is one character, not '{text[:20]}'")
    return re.escape(text)


def _pattern(separator: str, quote: str, escape: str) -> re.Pattern[str]:
    """Returns the pattern of a cell and its end; the marks are escaped. Repetitions are possessive, so it runs in
    linear time."""
    blanks = "" if separator == r"\ " else " *+"
    return re.compile(
        rf"(?:{blanks}{quote}(?P<inside>(?:[^{quote}{escape}]|{escape}.|{quote}{quote}|{escape})*+)(?:{quote}|\Z)"
        rf"(?P<behind>[^{separator}\r\n]*+)|(?P<plain>[^{separator}\r\n]*+))(?P<end>{separator}|\r\n|\n|\r|\Z)",
        re.DOTALL,
    )
