"""The template language of scripts: an interpreter of our own, since what people write may come from anybody.

Values are maps, lists, text, numbers, booleans and null and nothing else; no template reaches Python's objects. All
that repeats or grows is charged to a budget.

    lexer.py       text to pieces and tokens     parser.py      tags
    expressions.py expressions                   operators.py   what operators do
    values.py      truth, printing, comparing    run.py         one rendering
    filters/ functions/ tests.py                 by name, in registry.py
    budget.py      limits                        patterns.py    regular expressions, by RE2"""

import functools
from collections.abc import Mapping
from typing import Any

from server.errors import BudgetSpent, TemplateFailed
from server.template import filters, functions, tests
from server.template.budget import MAX_TEMPLATE_CHARS, Budget
from server.template.lexer import PACKAGE, SCRIPT, Delimiters, error, located
from server.template.parser import parsed
from server.template.run import Run, Surroundings

__all__ = ["PACKAGE", "SCRIPT", "Budget", "Surroundings", "Template", "compile", "filters", "functions", "tests"]

MAX_KEPT = 1024  # compiled templates
MAX_KEPT_CHARS = 16 * 1024  # of one of them: compiled, a template takes a hundred times its size


class Template:
    """A compiled template. It holds nothing of any rendering, so threads may share it."""

    def __init__(self, source: str, delimiters: Delimiters = SCRIPT) -> None:
        if len(source) > MAX_TEMPLATE_CHARS:
            raise error(f"a template has at most {MAX_TEMPLATE_CHARS:,} characters, this one {len(source):,}", 1)
        self._act = parsed(source, delimiters)

    def render(
        self, values: Mapping[str, Any], budget: Budget | None = None, around: Surroundings | None = None
    ) -> str:
        """The text. values: the placeholders. Raises TemplateFailed and BudgetSpent, both with a `line`."""
        run = Run(values, budget or Budget(), around or Surroundings())
        try:
            self._act(run)
        except RecursionError:
            raise located(BudgetSpent("too much inside each other"), run.line) from None
        except (TemplateFailed, BudgetSpent) as failed:
            raise located(failed, run.line) from failed
        return "".join(run.out)


def compile(source: str, delimiters: Delimiters = SCRIPT) -> Template:  # noqa: A001 - as in `re`
    """The template of a text; the same one for the same short text. Raises TemplateFailed with a `line`."""
    return _kept(source, delimiters) if len(source) <= MAX_KEPT_CHARS else Template(source, delimiters)


@functools.lru_cache(maxsize=MAX_KEPT)
def _kept(source: str, delimiters: Delimiters) -> Template:
    return Template(source, delimiters)
