"""Runs tables of templates. A case is (template, output) or (template, output, placeholders); an invalid template has
Fails in place of its output."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from server import template
from server.automation.template_functions import functions_for
from server.errors import BudgetSpent, ScriptError
from server.template import SCRIPT, Budget, Surroundings
from server.template.registry import Callee
from server.template.template_tokens import Delimiters

NOW = 1_700_000_000  # 14 November 2023, 22:13:20 UTC


@dataclass(frozen=True)
class Fails:
    """says: a part of the message. line: of the template, from 1."""

    says: str = ""
    line: int = 1


Case = tuple[str, str | Fails] | tuple[str, str | Fails, Mapping[str, Any]]


def every(*tables: Iterable[Case]) -> Callable[[Any], Any]:
    """Parametrizes a test with each `case` of these tables."""
    cases = [case for table in tables for case in table]
    return pytest.mark.parametrize("case", cases, ids=[case[0][:60] for case in cases])


def check(case: Case, delimiters: Delimiters = SCRIPT, **others: Any) -> None:
    """Renders the template of a case and compares. others: as for `render`."""
    source, wanted, *given = case
    values = given[0] if given else {}
    if isinstance(wanted, Fails):
        failed = failure(source, values, delimiters, **others)
        assert wanted.says in failed.message
        assert failed.details["line"] == wanted.line
        assert failed.message.endswith(f"(line {wanted.line})")
    else:
        assert render(source, values, delimiters, **others) == wanted


def render(
    source: str,
    values: Mapping[str, Any] | None = None,
    delimiters: Delimiters = SCRIPT,
    budget: Budget | None = None,
    host: Mapping[str, Callable[..., Any]] | None = None,
    zone: str = "UTC",
) -> str:
    """The output of a template at NOW. host: functions of a service; without it there are none."""
    around = Surroundings(zone=zone, now=NOW, host=functions_for(_nobody) if host is None else host)
    return template.compile(source, delimiters).render(values or {}, budget, around)


def failure(
    source: str, values: Mapping[str, Any] | None = None, delimiters: Delimiters = SCRIPT, **others: Any
) -> ScriptError:
    """The error of an invalid template."""
    with pytest.raises(ScriptError) as caught:
        render(source, values, delimiters, **others)
    return caught.value


def is_answered(source: str, values: Mapping[str, Any], **others: Any) -> bool:
    """Whether a template of one line renders, or fails with an error that names its line."""
    try:
        render(source, values, **others)
    except ScriptError as error:
        return error.details.get("line") == 1
    return True


def calls(callee: Callee, call: str) -> list[str]:
    """Templates that call something with `v` and then `odd` in place of every argument. call: has `{}` for each."""
    most = max(callee.least, 3) if callee.most is None else callee.most
    counts = range(callee.least, most + 1)
    return [f"{{{{ {call.format(', '.join((['v'] + ['odd'] * count)[:count]))} is empty }}}}" for count in counts]


def _nobody() -> Any:
    raise BudgetSpent("no service is there to be asked")
