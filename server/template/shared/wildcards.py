"""Patterns with `*` for anything, as people write them: whole, in any letter case."""

from typing import Any

from server.template.run import Rendering
from server.template.shared.texts import read
from server.template.values import CHARS_A_STEP, items
from server.wildcards import fits


def patterns_of(run: Rendering, given: Any) -> list[str]:
    """The texts of a pattern, or of a list of them."""
    listed = items(given) if isinstance(given, (list, dict)) else [given]
    run.budget.made(len(listed))
    return [read(run, each).lower() for each in listed]


def fits_any(run: Rendering, text: str, patterns: list[str]) -> bool:
    """Whether a text fits one of the patterns of patterns_of."""
    text = text.lower()
    for pattern in patterns:
        run.budget.step(1 + (len(text) + len(pattern)) // CHARS_A_STEP)
        if fits(text, pattern):
            return True
    return False
