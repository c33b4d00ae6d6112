"""Rows of Markdown tables, and texts of the code as users read them."""

import importlib
import re
from collections.abc import Callable, Iterator
from typing import Any

CONSTANT = re.compile(r"\bMAX_[A-Z_]+\b")
CODE = re.compile(r"(`[^`]*`)")


def head(*titles: str) -> Iterator[str]:
    """The first two lines of a table."""
    yield row(*titles)
    yield "|" + "---|" * len(titles)


def row(*cells: str) -> str:
    """One line. Outside of code `<id>` would be taken for HTML."""
    return "| " + " | ".join(_escaped(" ".join(cell.split()).replace("|", "\\|")) for cell in cells) + " |"


def _escaped(cell: str) -> str:
    parts = CODE.split(cell)
    return "".join(part if place % 2 else part.replace("<", "\\<") for place, part in enumerate(parts))


def code(*names: str) -> str:
    """Names as code, with commas between."""
    return ", ".join(f"`{name}`" for name in names)


def described(note: str, function: Callable[..., Any]) -> str:
    """The first paragraph of a function's docstring for users: no names of Python's, numbers of limits."""
    text = note.replace("Ours: without", "Without")
    text = re.sub(r"\bRaises \w+(?: and \w+)?\.", "", text)
    text = re.sub(r"\bRaises \w+ ", "Fails ", text)
    text = re.sub(r", BudgetSpent for", " and for", text).replace(", BudgetSpent.", ".")
    module = importlib.import_module(function.__module__)
    return CONSTANT.sub(lambda found: shown(getattr(module, found[0])), text).strip()


def shown(number: float) -> str:
    """A number as people write it: 1,000 and not 1000.0."""
    return f"{int(number) if number == int(number) else number:,}"
