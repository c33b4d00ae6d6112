"""Tables of Markdown: those of mistune, kept from taking long."""

import re
from typing import Any

import mistune
from mistune.core import BlockState
from mistune.plugins.table import NP_TABLE_PATTERN, parse_nptable

from server.errors import TooLarge
from server.markup.clean import MAX_HTML_BYTES

MAX_TABLE_CELLS = MAX_HTML_BYTES // len("  <td></td>\n")  # of all tables: with more, even empty ones are too much HTML
_BAR = re.compile(r"(?<!\\)(?:\\\\)*\|")  # between two cells


def limit_tables(markdown: mistune.Markdown) -> None:
    """To be called after mistune's own plugin."""
    markdown.block.register("nptable", NP_TABLE_PATTERN, _without_outer_bars)
    markdown.before_render_hooks += [_require_few, _plain_bars]


def _without_outer_bars(block: mistune.BlockParser, match: re.Match[str], state: BlockState) -> int | None:
    """As mistune, which reads all rows before it finds one with too many cells, and then again from the next line on.
    Lines that have as many bars as each other, before one that has others, begin no table: all would end there."""
    source, end, is_table = state.env.get("bars", ("", 0, True))
    if source is not state.src or match.start() >= end:
        end, is_table = _run(match, state)
        state.env["bars"] = (state.src, end, is_table)
    return parse_nptable(block, match, state) if is_table else None


def _run(match: re.Match[str], state: BlockState) -> tuple[int, bool]:
    """Where the lines with as many bars as this one end, and whether there a table may end."""
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
    """Raises TooLarge before anything is rendered: one character makes a cell, and each takes its time."""
    number = len(_cells(state))
    if number > MAX_TABLE_CELLS:
        raise TooLarge(
            f"tables of {number} cells are too large; at most {MAX_TABLE_CELLS} are rendered", limit=MAX_TABLE_CELLS
        )


def _plain_bars(_: mistune.Markdown, state: BlockState) -> None:
    """In a cell `\\|` is a bar, also in code, where a backslash has no meaning otherwise."""
    for cell in _cells(state):
        cell["text"] = cell["text"].replace("\\|", "|")
