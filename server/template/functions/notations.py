"""Functions that read a notation: JSON, KATA, regular expressions, mail addresses."""

from typing import Any

from server.errors import TemplateFailed
from server.template import script_patterns
from server.template.registry import function
from server.template.run import Rendering
from server.template.shared.script_json import decoded
from server.template.shared.template_host import ask
from server.template.shared.text_values import read, read_slowly, read_text
from server.template.values import is_numeric, printed, whole

STEPS_A_LINE = 8  # steps per line of KATA


@function("json_decode")
def json_decode(run: Rendering, text: Any) -> Any:
    """The value of a JSON text; null if it is invalid or nested too deeply."""
    try:
        return decoded(run, text)
    except ValueError:
        return None


@function("kata_parse")
def kata_parse(run: Rendering, text: Any) -> Any:
    """The tree of a KATA text, with annotations of keys; false for invalid KATA, [] if the value is not text."""
    if not isinstance(text, str):
        return []
    text = read_slowly(run, text)
    run.budget.entries(text.count("\n") * STEPS_A_LINE)
    return ask(run, "kata_parse", text)


@function("regexp_match_all")
def regexp_match_all(run: Rendering, pattern: Any, text: Any, group: Any = 0) -> list[Any]:
    """The matches of each group of a pattern, a list for each group; only those of one group if its number or name is
    passed. Raises TemplateFailed for an invalid pattern or an unknown name."""
    compiled = script_patterns.compiled(printed(pattern))
    place = _group(compiled, group)
    numbers = range(compiled.groups + 1) if not place else [place] if place <= compiled.groups else []
    groups: list[list[str]] = [[] for _ in numbers]
    for match in script_patterns.matches(run.budget, compiled, read(run, text)):
        run.budget.entries(len(groups))
        for texts, number in zip(groups, numbers, strict=True):
            texts.append(match.group(number) or "")
    return groups if not place else groups[0] if groups else []


def _group(pattern: Any, group: Any) -> int:
    """Returns the number of a group. Raises TemplateFailed for an unknown name."""
    if not isinstance(group, str) or is_numeric(group):
        return max(0, whole(group))
    if group not in pattern.groupindex:
        raise TemplateFailed(f"the pattern has no group '{group[:50]}'")
    return int(pattern.groupindex[group])


@function("validate_email")
def validate_email(run: Rendering, text: Any) -> bool:
    """Whether this is exactly one mail address."""
    address = read_text(run, text)
    return address is not None and bool(ask(run, "validate_email", address))
