"""Checks the scopes of an app, and names the line of each mistake. scopes.parse decides what may be saved; this check
reports more, such as unknown keys."""

from collections.abc import Callable, Iterator

import yaml

from server.errors import HelpdeskError, Invalid, nearest
from server.record_types.shared import scopes

KEYS = ("label", "records", "endpoints")
MAX_MISTAKES = 100  # mistakes of one text
MAX_DOUBTED = 300  # patterns of one text that are held against the endpoints
Mistake = tuple[int, str]  # line from 1, message
Doubt = Callable[[str, frozenset[str]], str]  # pattern and methods: why no request can fit them, "" when one can


def mistakes(text: str, doubt: Doubt = lambda pattern, methods: "") -> list[Mistake]:
    """The mistakes, ordered by line. doubt: returns a doubt about an endpoint."""
    reports: list[Mistake] = []
    try:
        scopes.parse(text)
    except Invalid as error:
        reports.append((_line_of(error, text), error.message.removeprefix("scopes: ")))
    try:
        root = yaml.compose(text, yaml.SafeLoader) if not reports or _is_yaml(reports[0][1]) else None
    except (yaml.YAMLError, RecursionError, ValueError):
        return reports
    if isinstance(root, yaml.MappingNode):
        for mistake in _of_scopes(root, doubt):
            if len(reports) < MAX_MISTAKES:
                reports.append(mistake)
    return sorted(set(reports))


def _of_scopes(root: yaml.MappingNode, doubt: Doubt) -> Iterator[Mistake]:
    line_of_scope: dict[str, int] = {}
    doubted = 0
    for key, value in root.value:
        line, name = key.start_mark.line + 1, str(key.value)[:80]
        if name in line_of_scope:
            yield line, f"scope '{name}' is already on line {line_of_scope[name]}; only this one counts"
        line_of_scope[name] = line
        if not isinstance(value, yaml.MappingNode):
            continue
        lines: dict[str, int] = {}
        for part, below in value.value:
            if part.value in lines:
                yield part.start_mark.line + 1, f"'{part.value}' is already on line {lines[part.value]}"
            lines[str(part.value)] = part.start_mark.line + 1
            if part.value not in KEYS:
                near = nearest(str(part.value)[:80], KEYS)
                yield part.start_mark.line + 1, f"'{str(part.value)[:80]}' is not a key of a scope{near}"
            elif part.value == "endpoints" and isinstance(below, yaml.SequenceNode):
                yield from _of_methods(below)
                yield from _doubts(below, doubt, MAX_DOUBTED - doubted)
                doubted += len(below.value)


def _doubts(endpoints: yaml.SequenceNode, doubt: Doubt, most: int) -> Iterator[Mistake]:
    for item in endpoints.value[: max(most, 0)]:
        pairs = item.value if isinstance(item, yaml.MappingNode) else [(item, None)]
        for pattern, methods in pairs:
            if not isinstance(pattern, yaml.ScalarNode):
                continue
            words = methods.value if isinstance(methods, yaml.SequenceNode) else [methods] if methods else []
            names = {str(word.value).upper() for word in words if isinstance(word, yaml.ScalarNode)}
            valid_methods = frozenset(scopes.METHODS) if "*" in names else frozenset(names) & frozenset(scopes.METHODS)
            reason = doubt(str(pattern.value), valid_methods)
            if reason:
                yield pattern.start_mark.line + 1, reason


def _of_methods(endpoints: yaml.SequenceNode) -> Iterator[Mistake]:
    for item in endpoints.value:
        for _, methods in item.value if isinstance(item, yaml.MappingNode) else ():
            words = methods.value if isinstance(methods, yaml.SequenceNode) else [methods]
            for word in words:
                name = str(word.value)[:40] if isinstance(word, yaml.ScalarNode) else ""
                if name.upper() not in (*scopes.METHODS, "*"):
                    near = nearest(name.upper(), scopes.METHODS)
                    yield word.start_mark.line + 1, f"'{name}' is not a method, so it allows nothing{near}"


def _is_yaml(reason: str) -> bool:
    """Whether a text that scopes.parse refuses for this reason could be read as YAML anyway."""
    return reason.startswith(("scope ", "an endpoint ", "the label ", "'"))


def _line_of(error: HelpdeskError, text: str) -> int:
    """The line that an error of scopes.parse is about, by the scope that it names; the first when it names none."""
    _, has_line, rest = error.message.partition("at line ")
    digits = rest[: len(rest) - len(rest.lstrip("0123456789"))]
    if has_line and digits:
        return int(digits)
    name = error.message.partition("'")[2].partition("'")[0]
    lines = text.split("\n")
    return next((place for place, line in enumerate(lines, 1) if name and line.strip(" \"'").startswith(name)), 1)
