"""Patterns in which `*` stands for anything; they match whole texts, in any letter case."""

from typing import Any

from server.template.run import Rendering
from server.template.shared.text_values import read
from server.template.values import CHARS_A_STEP, items
from server.wildcards import fits


def patterns_of(run: Rendering, value: Any) -> list[str]:
    """Returns the texts of a pattern, or of a list of patterns, in lower case."""
    texts = items(value) if isinstance(value, (list, dict)) else [value]
    run.budget.entries(len(texts))
    return [read(run, each).lower() for each in texts]


def fits_any(run: Rendering, text: str, patterns: list[str]) -> bool:
    """Whether a text matches one of the patterns of patterns_of()."""
    text = text.lower()
    for pattern in patterns:
        run.budget.step(1 + (len(text) + len(pattern)) // CHARS_A_STEP)
        if fits(text, pattern):
            return True
    return False
