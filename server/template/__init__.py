"""The template language of scripts. It has its own interpreter because templates may be written by people who are not
trusted.

Values are maps, lists, text, numbers, booleans and null; a template cannot reach Python objects. Everything that
repeats or grows is charged to a budget. Not the sandbox of Jinja2, which bounds neither time nor memory.

    template_tokens.py            text to pieces and tokens
    tag_parser.py                 tags
    expression_parser.py          expressions
    operators.py                  what operators do
    values.py                     truth, printing, comparison
    run.py                        one rendering
    filters/ functions/ tests.py  by name, in registry.py
    budget.py                     limits
    script_patterns.py            regular expressions, by RE2"""

import functools
from collections.abc import Mapping
from typing import Any

from server.errors import BudgetSpent, ScriptError, TemplateFailed
from server.memory import give_back
from server.template import filters, functions, tests
from server.template.budget import MAX_TEMPLATE_CHARS, Budget
from server.template.run import Rendering, Surroundings
from server.template.tag_parser import parsed
from server.template.template_tokens import PACKAGE, SCRIPT, Delimiters, error, located

__all__ = ["PACKAGE", "SCRIPT", "Budget", "Surroundings", "Template", "compile", "filters", "functions", "tests"]

GIVE_BACK_BYTES = 32 * 1024 * 1024  # memory used by a rendering, above which it is returned to the system at once
MAX_CACHED = 1024  # compiled templates; compiling a short one takes 70 microseconds, a tenth of a webhook's request
MAX_CACHED_CHARS = 16 * 1024  # length of a cached template; compiled, it takes a hundred times its size


class Template:
    """A compiled template. It holds no state of a rendering, so threads may share it. names: the names that the
    template uses."""

    def __init__(self, source: str, delimiters: Delimiters = SCRIPT) -> None:
        if len(source) > MAX_TEMPLATE_CHARS:
            raise error(f"a template has at most {MAX_TEMPLATE_CHARS:,} characters, this one {len(source):,}", 1)
        self._act, self.names = parsed(source, delimiters)

    def render(
        self, values: Mapping[str, Any], budget: Budget | None = None, around: Surroundings | None = None
    ) -> str:
        """Returns the rendered text. values: the placeholders. budget: the budget of the whole task, which a rendering
        draws on. Raises TemplateFailed and BudgetSpent, both with a `line`."""
        whole = budget or Budget()
        before = whole.memory
        result = self._rendered(values, whole, around or Surroundings())
        if before - whole.memory > GIVE_BACK_BYTES:
            give_back()
        if isinstance(result, str):
            return result
        raise result

    def _rendered(self, values: Mapping[str, Any], whole: Budget, around: Surroundings) -> str | ScriptError:
        """Returns the text, or the error without its traceback, whose frames would hold everything that was created."""
        with whole.part() as budget:
            run = Rendering(values, budget, around)
            try:
                self._act(run)
                return "".join(run.out)
            except RecursionError:
                return located(BudgetSpent("too much inside each other"), run.line)
            except (TemplateFailed, BudgetSpent) as failed:
                error = located(failed, run.line)
                error.__cause__ = error.__context__ = error.__traceback__ = None
                return error


def compile(source: str, delimiters: Delimiters = SCRIPT) -> Template:  # noqa: A001 - as in `re`
    """Returns the template of a text; the same instance for equal short texts. Raises TemplateFailed with a `line`."""
    return _cached(source, delimiters) if len(source) <= MAX_CACHED_CHARS else Template(source, delimiters)


@functools.lru_cache(maxsize=MAX_CACHED)
def _cached(source: str, delimiters: Delimiters) -> Template:
    return Template(source, delimiters)
