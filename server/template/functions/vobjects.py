"""Reads vCard and iCalendar: lines of properties between BEGIN and END."""

import re
from collections.abc import Iterator
from typing import Any

from server.errors import TemplateFailed
from server.template.registry import function
from server.template.run import Rendering
from server.template.shared.text_values import read_slowly, substituted

LINE_BYTES = 512  # memory of a property
STEPS_A_LINE = 4
MAX_DEPTH = 32  # nested components
_FOLD = re.compile(r"\r?\n[ \t]")
_VALUE = r'((?:"[^"]*"|[^";:])*+)'
_PARAMETER = re.compile(rf";([A-Za-z0-9-]+)(?:={_VALUE})?")
_PROPERTY = re.compile(rf"([A-Za-z0-9.-]++)((?:;[A-Za-z0-9-]++(?:={_VALUE})?)*+):(.*)\Z", re.DOTALL)
_ESCAPE = re.compile(r"\\(.)")


@function("vobject_parse")
def vobject_parse(run: Rendering, text: Any) -> Any:
    """The components of a vCard or iCalendar text: {component: [{props: {NAME: [{params, value}]}, children:
    {component: [...]}}]}; `children` only if there are any. Other lines are ignored; [] if the value is not text.
    Raises TemplateFailed for deep nesting. Follows RFC 5545, RFC 6350."""
    if not isinstance(text, str):
        return []
    top: dict[str, Any] = {}
    stack: list[tuple[str, dict[str, Any]]] = []
    for name, parameters, value in _lines(run, read_slowly(run, text)):
        if name == "BEGIN":
            if len(stack) >= MAX_DEPTH:
                raise TemplateFailed(f"at most {MAX_DEPTH} components inside each other")
            component: dict[str, Any] = {"props": {}}
            around = stack[-1][1].setdefault("children", {}) if stack else top
            around.setdefault(value.upper(), []).append(component)
            stack.append((value.upper(), component))
        elif name == "END":
            if stack and stack[-1][0] == value.upper():
                stack.pop()
        elif stack:
            stack[-1][1]["props"].setdefault(name, []).append({"params": parameters or [], "value": value})
    return top


def _lines(run: Rendering, text: str) -> Iterator[tuple[str, dict[str, str], str]]:
    """Yields name, parameters and value of each property."""
    run.budget.entries(text.count("\n"), LINE_BYTES)
    for line in substituted(run, text, _FOLD, lambda _: "").split("\n"):
        run.budget.step(STEPS_A_LINE)
        match = _PROPERTY.match(line.rstrip("\r"))
        if match is None:
            continue
        parameters: dict[str, str] = {}
        for each in _PARAMETER.finditer(match[2]):
            run.budget.step()
            name, value = each[1].upper(), (each[2] or "").replace('"', "")
            parameters[name] = f"{parameters[name]},{value}" if name in parameters else value
        yield match[1].upper(), parameters, _ESCAPE.sub(_unescaped, match[4].strip())


def _unescaped(match: re.Match[str]) -> str:
    return "\n" if match[1] in "nN" else match[1]
