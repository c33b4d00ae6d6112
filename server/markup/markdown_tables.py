"""Limits the time that mistune takes for tables in Markdown."""

import re
from typing import Any

import mistune
from mistune.core import BlockState
from mistune.plugins.table import NP_TABLE_PATTERN, parse_nptable

from server.errors import TooLarge
from server.markup.clean import MAX_HTML_BYTES

# In all tables; more cells exceed the limit of HTML even if they are empty.
MAX_TABLE_CELLS = MAX_HTML_BYTES // len("  <td></td>\n")
_BAR = re.compile(r"(?<!\\)(?:\\\\)*\|")  # between two cells


def limit_tables(markdown: mistune.Markdown) -> None:
    """Installs the limits; call it after mistune's table plugin."""
    markdown.block.register("nptable", NP_TABLE_PATTERN, _without_outer_bars)
    markdown.before_render_hooks += [_require_few, _plain_bars]


def _without_outer_bars(block: mistune.BlockParser, match: re.Match[str], state: BlockState) -> int | None:
    """Parses a table without outer bars, as mistune does. mistune reads all rows until one has too many cells, and
    starts again from the next line. Lines with equal numbers of bars before a line with another number cannot begin a
    table: each attempt would end there."""
    source, end, is_table = state.env.get("bars", ("", 0, True))
    if source is not state.src or match.start() >= end:
        end, is_table = _run(match, state)
        state.env["bars"] = (state.src, end, is_table)
    return parse_nptable(block, match, state) if is_table else None


def _run(match: re.Match[str], state: BlockState) -> tuple[int, bool]:
    """Returns the end of the lines with as many bars as this one, and whether a table may end there."""
    bars, end = len(_BAR.findall(match[0])), match.end()
    while end < state.cursor_max:
        line = state.get_line(end)
        if "|" not in line:
            break
        if len(_BAR.findall(line)) != bars:
            return end, False
        end += len(line)
    return end, True


def _cells(state: BlockState) -> list[dict[str, Any]]:
    rows = [
        row
        for table in state.tokens
        if table["type"] == "table"
        for row in (table["children"][0], *table["children"][1]["children"])
    ]
    return [cell for row in rows for cell in row["children"]]


def _require_few(_: mistune.Markdown, state: BlockState) -> None:
    """Raises TooLarge before anything is rendered: one character can create a cell, and each takes time."""
    number = len(_cells(state))
    if number > MAX_TABLE_CELLS:
        raise TooLarge(
            f"tables of {number} cells are too large; at most {MAX_TABLE_CELLS} are rendered", limit=MAX_TABLE_CELLS
        )


def _plain_bars(_: mistune.Markdown, state: BlockState) -> None:
    """In a cell `\\|` is a bar, also in code, where a backslash has no meaning otherwise."""
    for cell in _cells(state):
        cell["text"] = cell["text"].replace("\\|", "|")
