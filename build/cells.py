"""Rows of Markdown tables, and texts of the code for users."""

import importlib
import re
from collections.abc import Callable, Iterator
from typing import Any

CONSTANT = re.compile(r"\bMAX_[A-Z_]+\b")
CODE = re.compile(r"(`[^`]*`)")


def head(*titles: str) -> Iterator[str]:
    """Yields the first two lines of a table."""
    yield row(*titles)
    yield "|" + "---|" * len(titles)


def row(*cells: str) -> str:
    """Returns a line of a table. Escapes `<` outside of code, where `<id>` would be HTML."""
    return "| " + " | ".join(_escaped(" ".join(cell.split()).replace("|", "\\|")) for cell in cells) + " |"


def _escaped(cell: str) -> str:
    parts = CODE.split(cell)
    return "".join(part if place % 2 else part.replace("<", "\\<") for place, part in enumerate(parts))


def code(*names: str) -> str:
    """Returns names as code, separated by commas."""
    return ", ".join(f"`{name}`" for name in names)


def described(note: str, function: Callable[..., Any]) -> str:
    """Returns the description of a function for users: without names of Python, and with the numbers of limits."""
    text = note.replace("Ours: without", "Without")
    text = re.sub(r"\bRaises \w+(?: and \w+)?\.", "", text)
    text = re.sub(r"\bRaises \w+ ", "Fails ", text)
    text = re.sub(r", BudgetSpent for", " and for", text).replace(", BudgetSpent.", ".")
    module = importlib.import_module(function.__module__)
    return CONSTANT.sub(lambda found: shown(getattr(module, found[0])), text).strip()


def shown(number: float) -> str:
    """Formats a number for people: 1,000 and not 1000.0."""
    return f"{int(number) if number == int(number) else number:,}"
