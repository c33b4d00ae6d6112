"""Functions that read a notation: JSON, KATA, patterns, addresses."""

from typing import Any

from server.errors import TemplateFailed
from server.template import patterns
from server.template.registry import function
from server.template.run import Rendering
from server.template.shared.host import ask
from server.template.shared.json_text import decoded
from server.template.shared.texts import read, read_slowly, read_text
from server.template.values import is_numeric, printed, whole

STEPS_A_LINE = 8  # of KATA


@function("json_decode")
def json_decode(run: Rendering, text: Any) -> Any:
    """The value of a JSON text; null for what is none, and for one nested too deeply."""
    try:
        return decoded(run, text)
    except ValueError:
        return None


@function("kata_parse")
def kata_parse(run: Rendering, text: Any) -> Any:
    """The tree of a KATA text, keys with their annotations; false for what is none, [] for no text."""
    if not isinstance(text, str):
        return []
    text = read_slowly(run, text)
    run.budget.made(text.count("\n") * STEPS_A_LINE)
    return ask(run, "kata_parse", text)


@function("regexp_match_all")
def regexp_match_all(run: Rendering, pattern: Any, text: Any, group: Any = 0) -> list[Any]:
    """What each group of a pattern matched, a list for each; of one group when its number or name is given.
    Raises TemplateFailed for an unusable pattern and an unknown name."""
    found = patterns.compiled(printed(pattern))
    place = _group(found, group)
    wanted = range(found.groups + 1) if not place else [place] if place <= found.groups else []
    groups: list[list[str]] = [[] for _ in wanted]
    for match in patterns.matches(run.budget, found, read(run, text)):
        run.budget.made(len(groups))
        for kept, number in zip(groups, wanted, strict=True):
            kept.append(match.group(number) or "")
    return groups if not place else groups[0] if groups else []


def _group(pattern: Any, group: Any) -> int:
    """The number of a group. Raises TemplateFailed for an unknown name."""
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
